"""``parse``: facts read from one saved output of a known tool, by the very probes that would have run it."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from readiness_agent.agent import measure_elsewhere
from readiness_agent.errors import usage_error
from readiness_agent.facts import ERROR, NOT_CAPTURED
from readiness_agent.loose import SMI_XML
from readiness_agent.node import now
from readiness_agent.options import answer, make_parser, parse
from readiness_agent.probes import PROBES
from readiness_agent.recording import OK, command_key
from readiness_agent.replaying import RecordedSnapshot, ReplaySource
from readiness_agent.source import JOB_LIMITS, ProbeContext

EXIT_CODES = "0 read, 2 unknown kind, or something in it could not be read"
UNKNOWN = 2

FILES = {
    "limits": JOB_LIMITS,
    "meminfo": "/proc/meminfo",
    "softnet": "/proc/net/softnet_stat",
    "swaps": "/proc/swaps",
    "vmstat": "/proc/vmstat",
}
"""Kinds that are files of the kernel's."""

COMMANDS = {
    "nvidia-smi -q -x": SMI_XML,
    "nvidia-smi error": SMI_XML,
    "numactl --hardware": ("numactl", "--hardware"),
    "chronyc tracking": ("chronyc", "-n", "tracking"),
}
"""Kinds that are outputs of commands."""


def main(argv: Sequence[str]) -> int:
    """Answer in JSON, always: this is for programs."""
    parser = make_parser("parse", "Facts from one saved output of a known tool, as JSON.", EXIT_CODES)
    parser.add_argument("kind", metavar="KIND", help=f"one of: {', '.join(sorted([*FILES, *COMMANDS]))}")
    parser.add_argument("file", metavar="FILE", help="the saved output")
    options = parse(parser, argv)
    options.json = True
    if options.kind not in FILES and options.kind not in COMMANDS:
        known = ", ".join(sorted([*FILES, *COMMANDS]))
        detail = f"{options.kind!r} is no kind that this agent parses; it knows {known}"
        problem = {"item": "", "subject": "*", "kind": ERROR, "detail": detail}
        answer(options, {"kind": options.kind, "facts": [], "problems": [problem]}, "")
        return UNKNOWN
    facts, problems = _parse(options.kind, _text(options.file))
    answer(options, {"kind": options.kind, "facts": facts, "problems": problems}, "")
    return UNKNOWN if problems or not facts else 0


def _parse(kind: str, text: str) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Run the probes on a capture that holds this one output, and listen to those that read it."""
    moment = now()
    snapshot = RecordedSnapshot(moment, [_record(kind, text)])
    measured = measure_elsewhere(PROBES, ProbeContext(), lambda: ReplaySource(snapshot), moment)
    read = [outcome.probe for outcome in measured.outcomes if outcome.records]
    measured = measured.of_probes(read)
    facts = [fact._asdict() for fact in measured.facts()]
    return facts, [problem._asdict() for problem in measured.problems() if problem.kind != NOT_CAPTURED]


def _record(kind: str, text: str) -> Dict[str, Any]:
    if kind in FILES:
        return {"kind": "read", "key": FILES[kind], "outcome": OK, "value": text}
    key = command_key(COMMANDS[kind])
    return {"kind": "run", "key": key, "outcome": OK, "value": [0, text, "", 0.0]}


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise usage_error(f"{path} cannot be read ({error.strerror}): name a file with a saved output") from None
