"""Reports of fio: JSON, with whatever fio printed before it, and the text for people of fio 2 and 3."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from readiness_agent.parsers.documents import sound_escapes
from readiness_agent.parsers.saved import Reading, Saved, decimal, whole

DIRECTIONS = ("read", "write")
_BINARY = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
"""KB and MB of fio 2 are binary, like KiB and MiB of fio 3."""
_UNITS_OF_3 = {**_BINARY, "kB": 10**3, "MB": 10**6, "GB": 10**9}
"""Those of fio 3 without an i are decimal; it puts them first where a job has ``kb_base=1000``."""
_FACTORS = {"": 1, "k": 1000, "K": 1000, "m": 10**6, "M": 10**6}
_TO_MICROSECONDS = {"nsec": 0.001, "usec": 1.0, "msec": 1000.0}

_ERROR = re.compile(r"\berr=([0-9]{1,5})/(?:.*error=)?(.*)")
_VERIFY = re.compile(r"(?:verify failed|verify: bad .*?) at file \S+ offset ([0-9]{1,18})")
_JOB_ERROR = re.compile(r"\): err= ?([0-9]{1,5})(?::| \((?:.*error=([^)]*))?)")
_FIGURE = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_TWO = re.compile(
    rf"\s*(read|write) ?: io=\S+, bw={_FIGURE}([KMG]?B)/s, iops={_FIGURE}([KMkm]?), runt= *([0-9]{{1,12}})msec\s*"
)
_THREE = re.compile(
    rf"\s*(read|write): IOPS={_FIGURE}([KMkm]?), BW={_FIGURE}(B|[KMG]iB|[kMG]B)/s "
    r"\([^)]*\)\([^/]+/([0-9]{1,12})msec\).*"
)
_LATENCY = re.compile(rf"\s*clat \((nsec|usec|msec)\): min=.*?, max= *{_FIGURE}([KMkm]?),.*")
_VERSION = re.compile(r"^(fio-[0-9]\S*)$", re.MULTILINE)


class _Part(NamedTuple):
    """One direction of one job in the report for people."""

    direction: str
    bytes_per_second: int
    iops: int
    seconds: float


def read_fio(text: str) -> Saved:
    """What one run says. Never raises."""
    reading = Reading()
    text = text.lstrip("\ufeff")
    before, report = _split(text)
    spoken = [line for line in report.splitlines() if line.startswith("fio: ") or _VERIFY.search(line)]
    errors = _messages(reading, "\n".join([before, *spoken]))
    if report:
        _json_report(reading, report, errors)
    elif not _text_report(reading, before, errors):
        reading.fact("errors", errors or None, "count")
        if not errors:
            reading.problem("there is no report of fio in this text")
    return reading.result()


def _split(text: str) -> Tuple[str, str]:
    """What stands before the JSON, and the JSON; it begins with a brace on a line of its own or at the very start."""
    begin = re.search(r"^\{", text, re.MULTILINE)
    return (text[: begin.start()], text[begin.start() :]) if begin else (text, "")


def _messages(reading: Reading, before: str) -> int:
    """Errors that fio printed outside of its report; other lines of its are notices."""
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    errors = [found for found in map(_ERROR.search, lines) if found and found[1] != "0"]
    verify = [found for found in map(_VERIFY.search, lines) if found]
    notices = [line for line in lines if line.startswith("fio: ") and not _ERROR.search(line)]
    if errors:
        reading.fact("error_codes", " ".join(sorted({found[1] for found in errors})), "text")
        reading.problem(f"{len(errors)} jobs ended with an I/O error: {errors[0][2].strip() or errors[0][0]}")
    if verify:
        reading.fact("verify_failures", len(verify), "count")
        reading.fact("verify_offset", int(verify[0][1]), "bytes")
        reading.problem(f"verify failed: data at offset {verify[0][1]} came back changed")
    if notices:
        reading.fact("notices", " / ".join(notices)[:500], "text")
    return len(errors)


def _json_report(reading: Reading, report: str, errors: int) -> None:
    try:
        document = _last_document(sound_escapes(report))
    except (ValueError, RecursionError) as error:
        reading.fact("errors", errors or None, "count")
        reading.problem(f"the JSON of fio is cut or damaged: {error}")
        return
    version, jobs = _text(document, "fio version"), _list(document, "jobs")
    reading.fact("fio_version", version, "text")
    failed = [job for job in jobs if _number(job.get("error"))]
    reading.fact("errors", errors + len(failed), "count")
    for job in failed:
        reading.problem(f"job {job.get('jobname')} ended with error {job.get('error')}")
    if not jobs:
        reading.problem("the report has no job: nothing was measured")
    for direction in DIRECTIONS:
        _direction(reading, direction, [job[direction] for job in jobs if isinstance(job.get(direction), dict)])
    _direct(reading, document, jobs)


def _last_document(report: str) -> Any:
    """With ``--status-interval`` fio prints a report every so often: the last one is that of the whole run.

    Raises:
        ValueError: one of them is no JSON, or was cut.
    """
    document, end = json.JSONDecoder().raw_decode(report)
    rest = report[end:].lstrip()
    while rest.startswith("{"):
        document, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].lstrip()
    return document


def _direction(reading: Reading, direction: str, parts: List[Dict[str, Any]]) -> None:
    """The sum over all jobs; a direction without a single I/O was not measured."""
    busy = [part for part in parts if _number(part.get("total_ios"))]
    rates = [_bytes_per_second(part) for part in busy]
    iops = [_number(part.get("iops")) for part in busy]
    if not busy or None in rates or None in iops:
        return
    total = sum(rate for rate in rates if rate is not None)
    reading.fact(f"{direction}_bytes_per_second", total, "bytes/s")
    reading.fact(f"{direction}_bandwidth", total / 1e9, "GB/s")
    reading.fact(f"{direction}_iops", sum(one for one in iops if one is not None), "IOPS")
    runtimes = [_number(part.get("runtime")) or 0 for part in busy]
    if min(runtimes):  # in which all of them ran, so that their rates add up
        reading.fact(f"{direction}_seconds", min(runtimes) / 1000, "seconds")
    slowest = [one for one in map(_p99, busy) if one is not None]
    reading.fact(f"{direction}_p99", max(slowest) if slowest else None, "nanoseconds")


def _bytes_per_second(part: Dict[str, Any]) -> Optional[Union[int, float]]:
    exact = _number(part.get("bw_bytes"))
    rough = _number(part.get("bw"))
    return exact if exact is not None else None if rough is None else rough * 1024


def _p99(part: Dict[str, Any]) -> Optional[Union[int, float]]:
    """Completion latency, or total latency where only that was asked for."""
    for name, nanoseconds in (("clat_ns", 1), ("lat_ns", 1), ("clat", 1000)):  # fio 2 counts microseconds
        latency = part.get(name)
        percentiles = latency.get("percentile") if isinstance(latency, dict) else None
        value = _number(percentiles.get("99.000000")) if isinstance(percentiles, dict) else None
        if value is not None:
            return value * nanoseconds
    return None


def _direct(reading: Reading, document: Any, jobs: List[Dict[str, Any]]) -> None:
    """Direct where every job was: one that read the page cache is in the sum, too."""
    common = _options(document, "global options")
    told = [{**common, **_options(job, "job options")}.get("direct") for job in jobs] or [common.get("direct")]
    if any(one is not None for one in told):
        reading.fact("direct", all(str(one) == "1" for one in told), "bool")


def _options(holder: Any, name: str) -> Dict[str, Any]:
    options = holder.get(name) if isinstance(holder, dict) else None
    return options if isinstance(options, dict) else {}


def _text_report(reading: Reading, text: str, errors: int) -> bool:
    """The report for people; whether there is one."""
    parts, slowest = _text_parts(text)
    for direction in DIRECTIONS:
        _text_direction(reading, direction, [part for part in parts if part.direction == direction])
        reading.fact(f"{direction}_clat_max", slowest.get(direction), "microseconds")
    if not parts:
        return False
    version, states = _VERSION.search(text), list(_JOB_ERROR.finditer(text))
    failed = [state for state in states if state[1] != "0"]
    reading.fact("fio_version", version[1] if version else None, "text")
    if states or errors:
        reading.fact("errors", errors + len(failed), "count")
    if failed:
        reading.problem(
            f"{len(failed)} jobs ended with error {failed[0][1]}: {failed[0][2] or 'fio does not say which'}"
        )
    return True


def _text_parts(text: str) -> Tuple[List[_Part], Dict[str, float]]:
    """Each job's lines, and the slowest completion of each direction in microseconds."""
    parts: List[_Part] = []
    slowest: Dict[str, float] = {}
    for line in text.splitlines():
        two, three, latency = _TWO.fullmatch(line), _THREE.fullmatch(line), _LATENCY.fullmatch(line)
        if two:
            parts.append(_part(two[1], (two[2], _BINARY[two[3]]), (two[4], two[5]), two[6]))
        elif three:
            parts.append(_part(three[1], (three[4], _UNITS_OF_3[three[5]]), (three[2], three[3]), three[6]))
        elif latency and parts:
            micro = (decimal(latency[2]) or 0) * _FACTORS[latency[3]] * _TO_MICROSECONDS[latency[1]]
            direction = parts[-1].direction
            slowest[direction] = max(round(micro, 3), slowest.get(direction, 0))
    return parts, slowest


def _part(direction: str, rate: Tuple[str, int], iops: Tuple[str, str], milliseconds: str) -> _Part:
    total = round((decimal(rate[0]) or 0) * rate[1])
    return _Part(
        direction, total, round((decimal(iops[0]) or 0) * _FACTORS[iops[1]]), (whole(milliseconds) or 0) / 1000
    )


def _text_direction(reading: Reading, direction: str, parts: List[_Part]) -> None:
    """The sum over all jobs, as in the JSON."""
    if not parts:
        return
    total = sum(part.bytes_per_second for part in parts)
    reading.fact(f"{direction}_bytes_per_second", total, "bytes/s")
    reading.fact(f"{direction}_bandwidth", total / 1e9, "GB/s")
    reading.fact(f"{direction}_iops", sum(part.iops for part in parts), "IOPS")
    reading.fact(f"{direction}_seconds", max(part.seconds for part in parts), "seconds")


def _number(value: Any) -> Optional[Union[int, float]]:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18
    return value if good else None


def _text(document: Any, name: str) -> Optional[str]:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) else None


def _list(document: Any, name: str) -> List[Dict[str, Any]]:
    value = document.get(name) if isinstance(document, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
