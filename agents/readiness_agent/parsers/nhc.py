"""Lines of LBNL Node Health Check and of AzNHC, which is built on it.

A check that fails is an ``ERROR`` line; those that pass are told by AzNHC only. AzNHC's figures stand in lines of its
log, such as ``H2D_GPU_0: 55.2 GB/s``. A line may begin with its host: ``gpu001 | ERROR: …``.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.saved import Reading, Saved, decimal

_LINE = re.compile(
    r"(?:(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252})\s*\|\s*)?.{0,120}?"
    r"(?P<level>ERROR|SUCCESS):\s+nhc:\s+Health check (?P<how>failed|passed):\s*"
    r"(?:(?P<check>[A-Za-z_][A-Za-z0-9_]{0,63}):)?\s*(?P<said>.*)"
)
_REASON = re.compile(r"(?:.*[\s=])?NHC:\s+(?P<check>check_[a-z0-9_]{1,58}):\s*(?P<said>.*)")
_HEALTHY = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252})\s*\|\s*Healthy\s*")
_CODE = re.compile(r"\s*FaultCode: (?P<code>[A-Za-z0-9]{1,16})\.?\s*$")
_FIGURE = re.compile(
    r".*?\b(?P<name>(?:H2D|D2H)_GPU_[0-9]{1,2}|P2P_GPU_[0-9]{1,2}_[0-9]{1,2}|nccl_all_red(?:_lb)?|ib_write_lb_[a-z0-9_]{1,32})"
    r"\s*: (?P<rate>[0-9]{1,6}(?:\.[0-9]{1,6})?)\s+(?P<unit>[A-Za-z]{1,6}(?:/s|ps))\s*"
)
_UNITS = {"GB/s": "GB/s", "Gb/s": "Gb/s", "Gbps": "Gb/s"}


class NhcLine(NamedTuple):
    """One check that was told."""

    host: str
    check: str
    failed: bool
    said: str
    code: str


class NhcFigure(NamedTuple):
    """One rate of AzNHC's log, in the unit that stands there."""

    name: str
    rate: float
    unit: str


class NhcLog(NamedTuple):
    """What the text holds; *healthy* are hosts of which only that is told."""

    lines: Tuple[NhcLine, ...]
    figures: Tuple[NhcFigure, ...]
    healthy: Tuple[str, ...]


def nhc_log(text: str) -> NhcLog:
    """Read every line that is known; others are passed over. Never raises."""
    lines: List[NhcLine] = []
    figures: List[NhcFigure] = []
    healthy: List[str] = []
    for line in text.splitlines():
        told, figure, sound = _told(line[:2000]), _FIGURE.fullmatch(line[:2000]), _HEALTHY.fullmatch(line)
        rate = decimal(figure["rate"]) if figure else None
        if told:
            lines.append(told)
        elif figure and rate is not None:
            figures.append(NhcFigure(figure["name"], rate, figure["unit"]))
        elif sound:
            healthy.append(sound["host"])
    return NhcLog(tuple(lines), tuple(figures), tuple(healthy))


def _told(line: str) -> Optional[NhcLine]:
    found = _LINE.fullmatch(line)
    if found:
        said, code = _without_code(found["said"])
        failed = found["level"] == "ERROR" or found["how"] == "failed"  # damaged in one place, it is no success
        cut = not (failed or found["check"])  # a success that names no check is the beginning of a line
        return None if cut else NhcLine(found["host"] or "", found["check"] or "", failed, said, code)
    reason = _REASON.fullmatch(line)  # as it stands in a scheduler's reason for a drained node
    if reason:
        said, code = _without_code(reason["said"])
        return NhcLine("", reason["check"], True, said, code)
    return None


def _without_code(said: str) -> Tuple[str, str]:
    found = _CODE.search(said)
    return (said[: found.start()].rstrip(". ")[:300], found["code"]) if found else (said.strip()[:300], "")


def read_nhc(text: str) -> Saved:
    """Each check with its result, each figure, and a sentence for each failure. Never raises."""
    reading, log = Reading(), nhc_log(text)
    for line in log.lines:
        if line.check:
            reading.fact("result", "failed" if line.failed else "passed", "text", line.check)
        if line.failed:
            reading.problem(f"{line.check}: {line.said}" if line.check else line.said or "a health check failed")
    for figure in log.figures:
        if figure.unit in _UNITS:
            reading.fact("rate", figure.rate, _UNITS[figure.unit], figure.name)
        else:
            reading.problem(f"{figure.name}: {figure.unit} is no unit that this parser knows")
    if not (log.lines or log.figures):
        reading.problem("there is no line of NHC in this text that names a check")
    return reading.result()
