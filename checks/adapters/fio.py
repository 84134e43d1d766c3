"""Reports of fio: JSON, and the text for people of fio 2 and 3.

The item asks for one workload; another one is measured as well, but it proves nothing about it, for good or bad.
"""

from __future__ import annotations

import re
from typing import Any

from checks.adapters.reading import NO_ITEM, NodeOnFile, Reading, WrongTool
from readiness_agent.parsers.documents import Unreadable, load_document, objects_in, text_of
from readiness_agent.parsers.fio import read_fio
from readiness_agent.parsers.saved import whole

_ITEM = "nvme-fio"
_MARKS = re.compile(r"\bfio\b|\bIOPS=|\biops=|verify failed at file|\berr=")
_WORKLOAD = ("randread", 128 * 1024)
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
    reading, options = Reading(), _options(text)
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
    if (workload := _workload(text, options)) != _WORKLOAD:
        _another(reading, workload, told)
        return reading
    for theirs, ours, unit in _TAKEN:
        reading.fact(_ITEM, ours, told.get(theirs), unit)
    reading.fact(_ITEM, "size", _size(options), "bytes")
    return reading


def _another(reading: Reading, workload: tuple[str, int] | None, told: dict[str, Any]) -> None:
    ran = "it does not say what it ran" if workload is None else f"it ran {workload[0]} of {workload[1]} bytes"
    reading.open(_ITEM, f"{ran}; randread of 128 KiB is asked for")
    for name in ("read_bandwidth", "read_iops"):
        if name in told:
            reading.remark(name, told[name], NO_ITEM)


def _options(text: str) -> dict[str, str]:
    """The options that all jobs have in common, then those of the first job; empty where the report is no JSON."""
    begin = re.search(r"^\{", text, re.MULTILINE)
    try:
        document = load_document(text[begin.start() :]) if begin else None
    except Unreadable:
        return {}
    jobs = document.get("jobs") if isinstance(document, dict) else None
    parts = [document.get("global options") if isinstance(document, dict) else None]
    parts += [one.get("job options") for one in jobs[:1] if isinstance(one, dict)] if isinstance(jobs, list) else []
    return {
        name: str(value)
        for part in parts
        for values in objects_in(part, 0)
        for name, value in values.items()
        if isinstance(value, str | int)
    }


def _workload(text: str, options: dict[str, str]) -> tuple[str, int] | None:
    """Which pattern, in blocks of how many bytes."""
    pattern, block = text_of(options, "rw", "readwrite"), _bytes(text_of(options, "bs", "blocksize") or "")
    if pattern is not None and block is not None:
        return pattern, block
    found = _TEXT.search(text)
    block = _bytes(f"{found[2]}{(found[3] or '').rstrip('iB')}") if found else None
    return (found[1], block) if found and block is not None else None


def _size(options: dict[str, str]) -> int | None:
    """Bytes that all jobs read from: ``size`` is that of one job."""
    one, jobs = _bytes(options.get("size", "")), whole(options.get("numjobs", "1"))
    total = one * jobs if one is not None and jobs is not None and 0 < jobs < 100_000 else None
    return total if total is not None and total < 2**60 else None


def _bytes(text: str) -> int | None:
    found = _SIZE.fullmatch(text.strip())
    return int(found[1]) * _POWERS[found[2].lower()] if found else None
