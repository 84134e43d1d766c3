"""Tables of nccl-tests (``all_reduce_perf`` and its kin), from NCCL 1 to today.

The figure that counts is the bus bandwidth at the largest size that was asked for: the average over all sizes says
nothing. A run without its summary, or with one rank, has no such figure.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.saved import Reading, Saved, decimal, whole
from readiness_agent.parsers.terminal import finished_lines

_MARK = re.compile(r"^(?:\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?|[A-Za-z0-9._-]+: (?=\s*[#0-9]))")
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,6})?"
_TIME = rf"{_NUMBER}|[0-9]\.[0-9]{{1,3}}e\+[0-9]{{2}}"
"""Microseconds; those of a second and more may be written with an exponent."""
_NOT_CHECKED = "N/A"
_CORRUPT = 0.1
"""A relative error that no rounding of a floating-point type explains."""
_ERROR = r"N/A|[0-9]{1,18}|[0-9]\.?[0-9]{0,9}e[+-][0-9]{2}"
_HALF = rf"\s+({_TIME})\s+({_NUMBER})\s+({_NUMBER})\s+({_ERROR})"
_STAMP = r"(?:\s+[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})?"
"""Behind each row, where the run was told to say when."""
_ROW = re.compile(
    rf"\s*([0-9]{{1,18}})\s+[0-9]{{1,18}}\s+[a-z][a-z0-9_]*(?:\s+[a-z]+)?(?:\s+-?[0-9]{{1,4}})?"
    rf"{_HALF}{_HALF}{_STAMP}\s*"
)
_CELL = re.compile(rf"-?{_TIME}|{_ERROR}")
_LEAST_CELLS = 8
"""A line with so many columns, most of them numbers, was a row, whatever happened to it."""
_SIGN_OF_A_ROW = re.compile(r"\s*[0-9]|.*\s(?:float|half|double|b?float[0-9]+|u?int[0-9]+|f8e[45]m[23])\s")
"""Lines of NCCL itself and of launchers, in which numbers stand as well, have neither a size in front nor a type."""
_STEP = re.compile(r"step: ([0-9]{1,15})\((factor|bytes)\)")
_ASKED = re.compile(r"maxBytes ([0-9]{1,18})\b")
_VALIDATION = re.compile(r"validation: ([01])\b")
_RANK = re.compile(r"#?\s*Rank\s+([0-9]{1,7}) .*device\s+[0-9]+ \[[0-9a-fA-FxX:.]+\] (.+)")
_NRANKS = re.compile(r"\bnranks ([0-9]{1,6})\b")
_COLUMNS = re.compile(r"#?\s+(?:size\s+count|bytes\s+N)\s+type\b")
_VERSION = re.compile(r"NCCL version (\S+)")
_BOUNDS = re.compile(r"#?\s*Out of bounds values : ([0-9]{1,18}) (?:OK|FAILED)\s*")
_AVERAGE = re.compile(rf"#?\s*Avg bus bandwidth\s+: ({_NUMBER})(?:\s+(?:OK|FAILED))?\s*")
_FAILURE = re.compile(r"NCCL failure|Test .*failure|not enough slots|unhandled|command not found|error while", re.I)


_WARNING = re.compile(r"NCCL WARN")
"""Why a run did not end; one that did end was not stopped by it."""


class Row(NamedTuple):
    """One size."""

    size: int
    algbw: Optional[float]
    busbw: Optional[float]
    errors: Tuple[str, ...]
    """Of the buffers apart, and in place where that was checked: not every operation can be."""
    busbw_in_place: Optional[float]


def read_nccl_tests(text: str) -> Saved:
    """What one run says. Never raises."""
    reading = Reading()
    lines = [_MARK.sub("", line) for line in finished_lines(text)]
    rows = [row for row in map(_row, lines) if row]
    body = "\n".join([*lines, ""])
    gpus = _head(reading, lines, body)
    average = _only(_AVERAGE, lines)
    if rows:
        reading.fact("rows", len(rows), "count")
    if average is not None:
        reading.fact("average_busbw", decimal(average), "GB/s")
    validated = _validation(body)
    if rows and average is not None:
        _correctness(reading, rows, lines, validated)
    if rows and average is not None and not _is_alone(gpus, rows):
        _figure(reading, rows, whole(_first(_ASKED, body)), body)
    _complain(reading, lines, rows, ended=average is not None, alone=_is_alone(gpus, rows))
    return reading.result()


def _is_alone(gpus: Optional[int], rows: List[Row]) -> bool:
    """Whether there was one rank: its list says so, or its bus bandwidth does, which is 0 while data was moved."""
    largest = max(rows, key=lambda row: row.size) if rows else None
    return gpus == 1 or (largest is not None and largest.busbw == 0 and (largest.algbw or 0) > 0)


def _row(line: str) -> Optional[Row]:
    found = _ROW.fullmatch(line)
    if not found:
        return None
    size, _, algbw, busbw, apart, _, _, in_place, there = found.groups()
    errors = (apart,) if there == _NOT_CHECKED else (apart, there)
    return Row(int(size), decimal(algbw), decimal(busbw), errors, decimal(in_place))


def _was_a_row(line: str) -> bool:
    cells = line.split()
    if len(cells) < _LEAST_CELLS or not _SIGN_OF_A_ROW.match(line) or line.lstrip().startswith("#") or _row(line):
        return False
    return sum(bool(_CELL.fullmatch(cell)) for cell in cells) > len(cells) / 2


def _head(reading: Reading, lines: List[str], body: str) -> Optional[int]:
    """Facts about the run as a whole; the number of ranks, where it is told."""
    ranks = {int(found[1]): found[2].strip() for found in map(_RANK.fullmatch, lines) if found}
    devices = [*ranks.values()]
    all_ranks_told = any(_COLUMNS.match(line) or _row(line) for line in lines)
    if all_ranks_told and sorted(ranks) != [*range(len(ranks))]:
        reading.problem("the list of ranks has gaps: it was cut or damaged")
        return None
    gpus = (len(devices) if all_ranks_told else 0) or whole(_first(_NRANKS, body))
    reading.fact("gpus", gpus, "count")
    if all_ranks_told and len(set(devices)) == 1:
        reading.fact("device", devices[0], "text")
    reading.fact("nccl_version", _first(_VERSION, body), "text")
    reading.fact("validation", _validation(body), "bool")
    return gpus


def _validation(body: str) -> Optional[bool]:
    found = _first(_VALIDATION, body)
    return None if found is None else found == "1"


def _correctness(reading: Reading, rows: List[Row], lines: List[str], validated: Optional[bool]) -> None:
    """Wrong values, unless nothing was checked: then ``0 OK`` is empty talk."""
    errors = [error for row in rows for error in row.errors]
    if validated is False or _NOT_CHECKED in errors:
        return
    outside = whole(_only(_BOUNDS, lines))
    reading.fact("out_of_bounds", outside, "count")
    if outside:
        reading.problem(f"{outside} values are out of bounds: data came back wrong")
    if any("e" in error for error in errors):
        worst = max(float(error) for error in errors)
        reading.fact("relative_error_max", worst, "ratio")
        if worst >= _CORRUPT and not outside:
            reading.problem(f"values are off by {worst:.0%}: data came back wrong")
    else:
        wrong = sum(int(error) for error in errors)
        reading.fact("wrong", wrong, "count")
        if wrong and not outside:
            reading.problem(f"{wrong} values are wrong: data came back wrong")


def _next(size: int, body: str) -> int:
    """The size that follows *size*; itself where the run does not tell by what sizes grow."""
    step = _STEP.search(body)
    if step is None:
        return size
    return size * int(step[1]) if step[2] == "factor" else size + int(step[1])


def _figure(reading: Reading, rows: List[Row], asked: Optional[int], body: str) -> None:
    """The last size that fits into what was asked for is the largest that there is."""
    largest = max(rows, key=lambda row: row.size)
    if asked is not None and largest.size < asked and _next(largest.size, body) <= asked:
        reading.problem(f"the run was asked for {asked} bytes and shows no size above {largest.size}")
        return
    reading.fact("message_size", largest.size, "bytes")
    reading.fact("busbw", largest.busbw, "GB/s")
    reading.fact("busbw_in_place", largest.busbw_in_place, "GB/s")
    reading.fact("algbw", largest.algbw, "GB/s")


def _complain(reading: Reading, lines: List[str], rows: List[Row], *, ended: bool, alone: bool) -> None:
    failures = [line.strip() for line in lines if _FAILURE.search(line) or (_WARNING.search(line) and not ended)]
    if failures:
        reading.problem(failures[0])
    if not rows and not failures:
        reading.problem("there is no table of nccl-tests in this text")
    spoiled = next(filter(_was_a_row, lines), None)
    if spoiled is not None:
        reading.problem(f"a row of the table cannot be read: {' '.join(spoiled.split())[:120]}")
    if rows and not ended:
        reading.problem("there is no summary line: the run did not end, or its output was cut")
    if alone:
        reading.problem("one rank has nobody to talk to: its bus bandwidth is 0 by definition")


def _first(pattern: re.Pattern[str], text: str) -> Optional[str]:
    found = pattern.search(text)
    return found[1] if found else None


def _only(pattern: re.Pattern[str], lines: List[str]) -> Optional[str]:
    matches: Tuple[str, ...] = tuple(found[1] for found in map(pattern.fullmatch, lines) if found)
    return matches[-1] if matches else None
