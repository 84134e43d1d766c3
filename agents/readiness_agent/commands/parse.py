"""``parse``: facts read from one saved output of a known tool.

What a live node's probes read is read by those very probes; other outputs have readers of their own.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from readiness_agent.errors import usage_error
from readiness_agent.facts import ERROR, EVERY_SUBJECT, NOT_CAPTURED, CouldNotMeasure
from readiness_agent.loose import SMI_XML
from readiness_agent.node import now
from readiness_agent.options import answer, make_parser, parse
from readiness_agent.parsers.kinds import ALIASES, DETAILS, SAVED
from readiness_agent.parsers.saved import Saved
from readiness_agent.parsers.saved_settings import conf_file
from readiness_agent.parsers.sysctl import DIRECTORIES, SYSCTL_CONF, ConfFile, files_of_grep
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
    "ulimit": JOB_LIMITS,
    "vmstat": "/proc/vmstat",
}
"""Kinds that are files of the kernel's."""

COMMANDS = {
    "nvidia-smi -q -x": SMI_XML,
    "nvidia-smi -q": ("nvidia-smi", "-q"),
    "nvidia-smi error": SMI_XML,
    "numactl --hardware": ("numactl", "--hardware"),
    "chronyc tracking": ("chronyc", "-n", "tracking"),
    "sysctl -a": ("sysctl", "-a"),
}
"""Kinds that are outputs of commands."""

SYSCTL_FILES = "sysctl files"
"""The output of ``grep -r . /etc/sysctl.d``."""

SYSCTL_FILE = "sysctl conf"
"""One file of such a directory."""

KINDS = sorted([*FILES, *COMMANDS, SYSCTL_FILES, SYSCTL_FILE, *SAVED])

Facts = List[Dict[str, Any]]
Problems = List[Dict[str, Any]]


def main(argv: Sequence[str]) -> int:
    """Answer in JSON, always: this is for programs."""
    parser = make_parser("parse", "Facts from one saved output of a known tool, as JSON.", EXIT_CODES)
    parser.add_argument("kind", metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("file", metavar="FILE", help="the saved output")
    options = parse(parser, argv)
    options.json = True
    kind = ALIASES.get(options.kind, options.kind)
    if kind not in KINDS:
        detail = f"{options.kind!r} is no kind that this agent parses; it knows {', '.join(KINDS)}"
        problem = {"item": "", "subject": "*", "kind": ERROR, "detail": detail}
        answer(options, {"kind": options.kind, "facts": [], "problems": [problem]}, "")
        return UNKNOWN
    facts, problems = read_output(kind, _text(options.file))
    answer(options, {"kind": kind, "facts": facts, "problems": problems}, "")
    return UNKNOWN if problems or not facts else 0


def read_output(kind: str, text: str) -> Tuple[Facts, Problems]:
    """What one saved output of *kind* says, in the form of a probe's answer. Never raises."""
    if kind in SAVED:
        return _dressed(SAVED[kind].item, SAVED[kind].read(text))
    facts, problems = _parse(kind, text)
    if kind in DETAILS:
        more_facts, more_problems = _dressed("", DETAILS[kind](text))
        facts, problems = facts + more_facts, problems + more_problems
    if not facts and not problems:
        return _dressed("", Saved((), (f"nothing in this text is what {kind} prints",)))
    return facts, problems


def _dressed(item: str, saved: Saved) -> Tuple[Facts, Problems]:
    """Facts and problems of one reader in the form of a probe's."""
    observed_at = now().boottime
    facts = [{"item": item, **fact._asdict(), "observed_at": observed_at} for fact in saved.facts]
    problems = [
        {"item": item, "subject": EVERY_SUBJECT, "kind": ERROR, "detail": sentence} for sentence in saved.problems
    ]
    return facts, problems


def _parse(kind: str, text: str) -> Tuple[Facts, Problems]:
    """Ask the probes about a capture that holds this one output, and listen to those that read it.

    In this process: a capture cannot hang, and starting a process a probe would take longer than all of them do.
    """
    snapshot = RecordedSnapshot(now(), _records(kind, text))
    facts: Facts = []
    problems: Problems = []
    for probe in PROBES:
        source = ReplaySource(snapshot)
        try:
            found = probe.run(source, ProbeContext(is_known=False))
        except CouldNotMeasure:
            continue  # nothing that this probe reads is in the text
        if source.records:
            facts += [fact._asdict() for fact in found.facts]
            problems += [problem._asdict() for problem in found.problems if problem.kind != NOT_CAPTURED]
    return facts, problems


def _records(kind: str, text: str) -> List[Dict[str, Any]]:
    if kind == SYSCTL_FILES:
        return _sysctl_records(files_of_grep(text))
    if kind == SYSCTL_FILE:
        return _sysctl_records(conf_file(text))
    if kind in FILES:
        return [_answered("read", FILES[kind], text)]
    return [_answered("run", command_key(COMMANDS[kind]), [0, text, "", 0.0])]


def _sysctl_records(files: List[ConfFile]) -> List[Dict[str, Any]]:
    """Files of settings, in directories that hold nothing else."""
    records = [_answered("read", file.path, file.text) for file in files]
    for directory in DIRECTORIES:
        names = [file.path.rpartition("/")[2] for file in files if file.path.rpartition("/")[0] == directory]
        records.append(_answered("listdir", directory, names))
    return [*records, _answered("exists", SYSCTL_CONF, SYSCTL_CONF in [file.path for file in files])]


def _answered(kind: str, key: str, value: Any) -> Dict[str, Any]:
    return {"kind": kind, "key": key, "outcome": OK, "value": value}


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise usage_error(f"{path} cannot be read ({error.strerror}): name a file with a saved output") from None
