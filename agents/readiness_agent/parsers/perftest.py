"""Tables of perftest (``ib_write_bw`` and its kin) and the sentences in their place.

Its MB/sec are 2^20 bytes a second. A peak of 0.00 was not measured. A table without its closing line was cut: a
single row of it is told as a row, and not as the result. Its JSON (``--out_json``) has been written without quotes
round its words, and names no unit: its figures are told as they stand, and as no rate.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.saved import Reading, Saved, decimal, whole

_HEAD = re.compile(
    r"\s*#bytes\s+#iterations\s+BW peak\[(MB|MiB|Gb)/sec\]\s+BW average\[(?:MB|MiB|Gb)/sec\]\s+MsgRate\[Mpps\]"
    r"(\s+CPU_Util\[%\])?\s*"
)
_ROW = re.compile(
    r"\s*([0-9]{1,12})\s+([0-9]{1,12})\s+([0-9]{1,9}\.[0-9]+)\s+([0-9]{1,9}\.[0-9]+)\s+([0-9]{1,9}\.[0-9]+)"
    r"(\s+[0-9]{1,3}\.[0-9]+)?\s*"
)
_LATENCY_HEAD = re.compile(r"\s*#bytes\s+#iterations\s+t_min\[usec\]\s+t_max\[usec\]\s+t_typical\[usec\].*", re.DOTALL)
_LATENCY_ROW = re.compile(r"\s*([0-9]{1,12})\s+[0-9]{1,12}((?:\s+[0-9]{1,9}\.[0-9]+){7})\s*")
_LATENCIES = ("min", "max", "typical", "average", "deviation", "p99", "p999")
"""Columns behind size and iterations, in microseconds."""
_TWO_WAYS = re.compile(r"\bBidirectional BW Test\b")
_CLOSING = re.compile(r"\s*-{20,}\s*")
_DEVICE = re.compile(r"Device\s+: (\S+)")
_MTU = re.compile(r"Mtu\s+: ([0-9]{3,5})\[B\]")
_LINK = re.compile(r"Link type\s+: (\S+)")
_STATUS = re.compile(r"Failed status ([0-9]{1,3}): .*?scnt=([0-9]{1,9}), ccnt=([0-9]{1,9})")
_PORT = re.compile(r"Port number ([0-9]{1,3}) state is (\w+)")
_EVENT = re.compile(r"Event: (RDMA_CM_EVENT_\w+); error: (-?[0-9]{1,6})")
_COULD_NOT = re.compile(r"Couldn't .*|Unable to .*|Failed to .*|Completion with error.*")

_MEMBER = re.compile(r"\"?\b([A-Za-z_]{1,32})\"?\s*:\s*\"?([A-Za-z0-9_.-]{1,64})\"?\s*[,\n}]")

WORK_COMPLETION = {
    1: "local length error",
    4: "local protection error",
    5: "work request flushed",
    8: "local access error",
    9: "remote invalid request",
    10: "remote access error",
    11: "remote operation error",
    12: "transport retry counter exceeded",
    13: "receiver-not-ready retry counter exceeded",
}
"""Words of ``ibv_wc_status``."""

_MEBIBYTES_TO_GIGABITS = 8 * 1024 * 1024 / 1e9


class Row(NamedTuple):
    """One message size."""

    size: int
    peak: Optional[float]
    average: Optional[float]
    message_rate: Optional[float]


class Table(NamedTuple):
    """The rows of one run."""

    binary: bool
    """Whether its figures are MiB/s, not Gb/s."""
    has_load: bool
    """Whether each row ends with the load of the processor: a row without it was cut."""
    rows: Tuple[Row, ...]
    closed: bool


def read_perftest(text: str) -> Saved:
    """What one client says. Never raises."""
    reading = Reading()
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        _json(reading, text)
        return reading.result()
    tables = [table for table in _tables(text) if table.rows]
    _settings(reading, text)
    for place, table in enumerate(tables, 1):
        _table(reading, table, f"run{place}" if len(tables) > 1 else "", both_ways=bool(_TWO_WAYS.search(text)))
    latencies = _latencies(reading, text)
    failed = _failures(reading, text)
    if not tables and not latencies and not failed:
        sentence = _COULD_NOT.search(text)
        reading.problem(sentence[0].strip() if sentence else "there is no table of perftest in this text")
    return reading.result()


def _json(reading: Reading, text: str) -> None:
    """``test_info`` and ``results``, quoted or not; cut where its brackets do not close."""
    told = {found[1]: found[2] for found in _MEMBER.finditer(text)}
    size, average, peak = whole(told.get("MsgSize")), decimal(told.get("BW_average")), decimal(told.get("BW_peak"))
    if text.count("{") != text.count("}") or size is None or average is None:
        reading.problem("this JSON of perftest has no result of a bandwidth test, or it was cut")
        return
    reading.fact("device", told.get("Device"), "text")
    reading.fact("mtu", whole(told.get("Mtu")), "bytes")
    reading.fact("link_type", told.get("Link_type"), "text")
    reading.fact("message_size", size, "bytes")
    reading.fact("average_as_written", average, "number")
    reading.fact("peak_as_written", peak or None, "number")
    reading.problem("the JSON of perftest does not say whether its figures are MB/s or Gb/s: send its text")


def _tables(text: str) -> List[Table]:
    """A head after rows begins another run; two heads in a row are those of client and server."""
    tables: List[Table] = []
    for line in text.splitlines(keepends=True):
        head, row = _HEAD.fullmatch(line), _ROW.fullmatch(line) if line.endswith("\n") else None
        if head and (not tables or tables[-1].rows):
            tables.append(Table(head[1] != "Gb", bool(head[2]), (), False))
        elif tables and row and not tables[-1].closed and bool(row[6]) == tables[-1].has_load:
            tables[-1] = tables[-1]._replace(rows=(*tables[-1].rows, _row(row)))
        elif tables and tables[-1].rows and _CLOSING.fullmatch(line):
            tables[-1] = tables[-1]._replace(closed=True)
    return tables


def _row(found: re.Match[str]) -> Row:
    peak = decimal(found[3])
    return Row(int(found[1]), peak or None, decimal(found[4]), decimal(found[5]))


def _settings(reading: Reading, text: str) -> None:
    device, mtu, link = _DEVICE.search(text), _MTU.search(text), _LINK.search(text)
    reading.fact("device", device[1] if device else None, "text")
    reading.fact("mtu", int(mtu[1]) if mtu else None, "bytes")
    reading.fact("link_type", link[1] if link else None, "text")


def _latencies(reading: Reading, text: str) -> bool:
    """The row of the smallest message of ``ib_write_lat`` and its kin; whether there is one."""
    lines = text.splitlines(keepends=True)
    heads = [place for place, line in enumerate(lines) if _LATENCY_HEAD.fullmatch(line)]
    below = [line for line in lines[heads[-1] + 1 :] if line.endswith("\n")] if heads else []
    rows = [found for found in map(_LATENCY_ROW.fullmatch, below) if found]
    if not rows:
        return False
    smallest = min(rows, key=lambda row: int(row[1]))
    reading.fact("latency_message_size", int(smallest[1]), "bytes")
    for name, figure in zip(_LATENCIES, smallest[2].split()):  # noqa: B905 (seven of each)
        reading.fact(f"latency_{name}", decimal(figure), "microseconds")
    return True


def _table(reading: Reading, table: Table, subject: str, *, both_ways: bool) -> None:
    reading.fact("rows", len(table.rows), "count", subject)
    if not table.closed:
        reading.problem("the table has no closing line: the run did not end, or its output was cut")
        if len(table.rows) > 1:
            return
    prefix = "" if table.closed else "row_"  # one row is what it is, whether or not others were to follow
    prefix += "both_ways_" if both_ways else ""  # the sum of two directions is no rate of a link
    largest = max(table.rows, key=lambda row: row.size)
    reading.fact(f"{prefix}message_size", largest.size, "bytes", subject)
    reading.fact(f"{prefix}average", _gigabits(table, largest.average), "Gb/s", subject)
    reading.fact(f"{prefix}peak", _gigabits(table, largest.peak), "Gb/s", subject)
    if table.binary:
        reading.fact(f"{prefix}average_mib", largest.average, "MiB/s", subject)
        reading.fact(f"{prefix}peak_mib", largest.peak, "MiB/s", subject)
    reading.fact(f"{prefix}message_rate", largest.message_rate, "Mpps", subject)


def _gigabits(table: Table, figure: Optional[float]) -> Optional[float]:
    return figure * _MEBIBYTES_TO_GIGABITS if figure is not None and table.binary else figure


def _failures(reading: Reading, text: str) -> bool:
    """Sentences that end a run; whether there is one."""
    status, port, event = _STATUS.search(text), _PORT.search(text), _EVENT.search(text)
    if status:
        reading.fact("completion_status", int(status[1]), "count")
        reading.fact("sent", whole(status[2]), "count")
        reading.fact("completed", whole(status[3]), "count")
        words = WORK_COMPLETION.get(int(status[1]), "see ibv_wc_status")
        reading.problem(f"work completion status {status[1]} ({words})")
    if port:
        reading.fact("port", int(port[1]), "count")
        reading.fact("port_state", port[2], "text")
        reading.problem(f"port {port[1]} is {port[2]}")
    if event:
        reading.fact("cm_event", event[1], "text")
        reading.fact("cm_error", int(event[2]), "count")
        reading.problem(f"{event[1]}, error {event[2]}")
    return bool(status or port or event)
