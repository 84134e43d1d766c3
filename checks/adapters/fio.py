"""Reports of fio: JSON, and the text for people of fio 2 and 3.

The item asks for one workload; another one is measured as well, but it proves nothing about it, for good or bad.
"""

from __future__ import annotations

import re
from typing import Any

from checks.adapters.reading import NO_ITEM, NodeOnFile, Reading, WrongTool
from readiness_agent.parsers.documents import Unreadable, load_document, text_of
from readiness_agent.parsers.fio import read_fio
from readiness_agent.parsers.saved import whole

_ITEM = "nvme-fio"
_MARKS = re.compile(r"\bfio\b|\bIOPS=|\biops=|verify failed at file|\berr=")
_WORKLOAD = ("randread", 128 * 1024)
_WAITS = frozenset({"stonewall", "wait_for", "wait_for_previous"})
_TEXT = re.compile(r"rw=([a-z]+), bs=(?:\(R\) )?([0-9]{1,9})(B|K|KB|KiB|M|MiB)?\b")
_STAMP = re.compile(r'"timestamp"\s*:\s*([0-9]{9,10})\b')
_SIZE = re.compile(r"([0-9]{1,15})\s*([kmgt]?)i?b?", re.IGNORECASE)
_POWERS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_TAKEN = (
    ("read_bandwidth", "read_bandwidth", "GB/s"), ("read_iops", "read_iops", "IOPS"), ("direct", "direct", "bool"),
    ("read_seconds", "duration", "seconds"),
)  # fmt: skip


def read_fio_report(text: str, node: NodeOnFile) -> Reading:
    """What one run says of the node's array.

    Raises:
        WrongTool: no output of fio.
    """
    saved = read_fio(text)
    if not _MARKS.search(text) or not (saved.facts or any("fio" in one for one in saved.problems)):
        raise WrongTool("This is no output of fio; name the tool that wrote it.")
    reading, jobs = Reading(), _jobs(text)
    told = {fact.name: fact.value for fact in saved.facts}
    stamp = _STAMP.search(text)
    reading.stated(float(stamp[1]) if stamp else None)
    for sentence in saved.problems:
        reading.failed(_ITEM, f"fio: {sentence}")
    for fact in saved.facts:
        if fact.name.startswith("write_") or fact.name in ("error_codes", "notices", "read_p99"):
            reading.remark(fact.name, f"{fact.value} {fact.unit}", NO_ITEM)
    if not any(name in told for name in ("read_bandwidth", "read_iops")):
        if not saved.problems:
            reading.open(_ITEM, "fio read nothing; reads are asked for")
        return reading
    if other := _is_another(text, jobs):
        _another(reading, other, told)
        return reading
    for theirs, ours, unit in _TAKEN:
        reading.fact(_ITEM, ours, told.get(theirs), unit)
    reading.fact(_ITEM, "size", _size(jobs[0]) if jobs else None, "bytes")
    return reading


def _is_another(text: str, jobs: list[dict[str, str]]) -> str:
    """Why the sum of all jobs is not the rate that is asked for; empty where it is."""
    for options in jobs or [{}]:
        workload = _workload(text, options)
        if workload is None:
            return "it does not say what it ran"
        if workload != _WORKLOAD:
            return f"it ran {workload[0]} of {workload[1]} bytes"
    if any(not _WAITS.isdisjoint(options) for options in jobs[1:]):
        return "its jobs ran one after the other, and their rates do not add up"
    return ""


def _another(reading: Reading, other: str, told: dict[str, Any]) -> None:
    reading.open(_ITEM, f"{other}; randread of 128 KiB is asked for")
    for name in ("read_bandwidth", "read_iops"):
        if name in told:
            reading.remark(name, told[name], NO_ITEM)


def _jobs(text: str) -> list[dict[str, str]]:
    """The options of each job, with those that all have in common; none where the report is no JSON."""
    begin = re.search(r"^\{", text, re.MULTILINE)
    try:
        document = load_document(text[begin.start() :]) if begin else None
    except Unreadable:
        return []
    if not isinstance(document, dict):
        return []
    jobs = document.get("jobs")
    listed = [one for one in jobs if isinstance(one, dict)] if isinstance(jobs, list) else []
    return [_texts(document.get("global options")) | _texts(job.get("job options")) for job in listed]


def _texts(options: Any) -> dict[str, str]:
    held = options if isinstance(options, dict) else {}
    return {name: str(value) for name, value in held.items() if isinstance(value, str | int)}


def _workload(text: str, options: dict[str, str]) -> tuple[str, int] | None:
    """Which pattern, in blocks of how many bytes."""
    pattern, block = text_of(options, "rw", "readwrite"), _bytes(text_of(options, "bs", "blocksize") or "")
    if pattern is not None and block is not None:
        return pattern, block
    told = {*_TEXT.findall(text)}
    if len(told) != 1:
        return None
    ((pattern, number, unit),) = told
    block = _bytes(f"{number}{unit.rstrip('iB')}")
    return None if block is None else (pattern, block)


def _size(options: dict[str, str]) -> int | None:
    """Bytes that all jobs read from: ``size`` is that of one job."""
    one, jobs = _bytes(options.get("size", "")), whole(options.get("numjobs", "1"))
    total = one * jobs if one is not None and jobs is not None and 0 < jobs < 100_000 else None
    return total if total is not None and total < 2**60 else None


def _bytes(text: str) -> int | None:
    found = _SIZE.fullmatch(text.strip())
    return int(found[1]) * _POWERS[found[2].lower()] if found else None
