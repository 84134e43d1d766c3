"""AMD's GPUs: what ``amd-smi`` tells of them."""

from __future__ import annotations

import json
from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.facts import ERROR, HUNG, CouldNotMeasure
from readiness_agent.parsers.amd_smi import AmdAnswers, parse_amd_smi
from readiness_agent.parsers.nvidia_smi_xml import SmiLog
from readiness_agent.source import Source

STATIC, METRIC, PROCESS, BAD_PAGES = (
    ("amd-smi", kind, "--json") for kind in ("static", "metric", "process", "bad-pages")
)
DEADLINE = 5.0
MORE_DEADLINE = 2.0
"""Seconds for the first answer, and for each of the others: together they stay below the probe's deadline."""

_SHOWN = ("temperature", "pcie", "ecc", "usage", "throttle")


class AmdReport(NamedTuple):
    """What the tool told, and its part that is worth keeping."""

    log: SmiLog
    evidence: str


def ask_amd_smi(source: Source) -> AmdReport:
    """All that ``amd-smi`` tells about the node's GPUs.

    Raises:
        CouldNotMeasure: it is not installed, hangs, fails, or lists no GPU.
    """
    result = source.run(STATIC, DEADLINE)
    if result.exit_code != 0 and not result.stdout.strip():
        last = result.stderr.strip().rpartition("\n")[2][:160]
        raise CouldNotMeasure(ERROR, f"amd-smi static ended with {result.exit_code}: {last}")
    metric, process, bad_pages = (_more(source, argv) for argv in (METRIC, PROCESS, BAD_PAGES))
    log = parse_amd_smi(AmdAnswers(result.stdout, metric, process, bad_pages))
    return AmdReport(log, _evidence(metric, bad_pages))


def _more(source: Source, argv: Tuple[str, ...]) -> Optional[str]:
    """One more answer; without it the rest still counts. One that hangs is not waited for a second time."""
    try:
        return source.run(argv, MORE_DEADLINE).stdout
    except CouldNotMeasure as error:
        if error.kind == HUNG:
            raise
        return None


def _evidence(metric: Optional[str], bad_pages: Optional[str]) -> str:
    """One line a GPU of what facts are read from; the names of processes stay on the node."""
    lines: List[str] = []
    try:
        raw = json.loads(metric or "[]")
        entries = raw.get("gpu_data", []) if isinstance(raw, dict) else raw
        lines = [json.dumps({name: one.get(name) for name in ("gpu", *_SHOWN)}) for one in entries]
    except (ValueError, TypeError, AttributeError, RecursionError):
        lines = [(metric or "")[:2000]]
    return "\n".join([*lines, (bad_pages or "")[:500]])
