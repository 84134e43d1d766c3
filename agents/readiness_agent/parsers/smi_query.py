"""``nvidia-smi --query-gpu=… --format=csv``: one row a GPU, with units in the head, in the cells, or nowhere."""

from __future__ import annotations

import csv
import re
from typing import Dict, List, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.nvidia_smi_cells import LOST_WORDS, bus_id
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from readiness_agent.parsers.saved import Reading, Saved, Value, decimal, whole

_HEAD = re.compile(r"([a-z0-9_.]+)(?: \[([A-Za-z%]+)\])?")
_CELL = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,6})?)(?: ?([A-Za-z%/]+))?")
_UNKNOWN = re.compile(
    r"\[?(?:N/A|Not Supported|Not Available|Unknown Error|Insufficient Permissions)\]?", re.IGNORECASE
)
_UNITS = {"%": "percent", "MiB": "MiB", "MHz": "MHz", "W": "watts", "us": "microseconds", "C": "celsius"}
_TEXTS = ("name", "uuid", "serial", "pci.bus_id", "driver_version", "pstate", "vbios_version")
_TEMPERATURE = "temperature."
_APP = re.compile(r"([0-9A-Fa-f:.]{7,16}), ([0-9]{1,10})\n")
_MAY_BE_CUT = "N/A"
"""Stands for the last cell of a text without an end: of a number nobody can tell how it went on."""


def read_smi_query(text: str) -> Saved:
    """Cells by the names of their columns. Never raises."""
    reading = Reading()
    lost = parse_smi_errors(text).lost_handles
    table = "".join(line for line in text.splitlines(keepends=True) if not parse_smi_errors(line).lost_handles)
    rows = [[cell.strip() for cell in row] for row in _rows(table)]
    heads = [_HEAD.fullmatch(cell) for cell in rows[0]] if rows else []
    columns = [(head[1], head[2] or "") for head in heads if head]
    if len(columns) < 2 or len(columns) != len(heads):
        reading.problem("there is no head of nvidia-smi --query-gpu in this text")
        return reading.result()
    whole_rows = [dict(zip([name for name, _ in columns], row)) for row in rows[1:] if len(row) == len(columns)]  # noqa: B905
    if len(rows) == 1:
        reading.problem("there is no row below the head: no GPU was asked, or the output was cut")
        return reading.result()
    reading.fact("rows", len(whole_rows), "count")
    if len(whole_rows) < len(rows) - 1:
        reading.problem(f"{len(rows) - 1 - len(whole_rows)} rows do not fit the head: the output was cut")
    elif whole_rows and not text.endswith("\n"):
        whole_rows[-1][columns[-1][0]] = _MAY_BE_CUT
    for address in lost:
        reading.problem(f"the GPU at {address or 'an address that is not told'} could not be opened")
    _presence(reading, whole_rows, len(lost))
    units = dict(columns)
    for place, row in enumerate(whole_rows):
        _row(reading, row, units, f"gpu{row.get('index', place)}")
    return reading.result()


def parse_compute_apps(text: str) -> Dict[str, List[int]]:
    """``--query-compute-apps=gpu_bus_id,pid --format=csv,noheader``: pids by PCI address, spelled as the kernel does.

    Raises:
        Unreadable: a row is not whole.
    """
    users: Dict[str, List[int]] = {}
    for line in text.splitlines(keepends=True):
        found = _APP.fullmatch(line)
        address = bus_id(found[1]) if found else None
        if not found or address is None:
            raise Unreadable(f"{line.strip()[:60]!r} names no GPU with the process that uses it")
        users.setdefault(address, []).append(int(found[2]))
    return users


def _rows(text: str) -> List[List[str]]:
    try:
        return [row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
    except csv.Error:
        return []


def _presence(reading: Reading, rows: List[Dict[str, str]], unopened: int) -> None:
    """GPUs are counted by what identifies them, never by their rows; of an unopened one there is only a sentence."""
    lost = [row for row in rows if any(LOST_WORDS.search(cell) for cell in row.values())]
    reading.fact("gpus_lost", len(lost) + unopened, "count")
    addresses = [address for address in (bus_id(row.get("pci.bus_id")) for row in rows) if address]
    if addresses:
        reading.fact("distinct_bus_ids", len(set(addresses)), "count")
    twice = sorted({address for address in addresses if addresses.count(address) > 1})
    if twice:
        reading.problem(f"two rows share one PCI address: {', '.join(twice)}")
    elif addresses and len(addresses) == len(rows):
        reading.fact("gpus_visible", len(rows), "count")


def _row(reading: Reading, row: Dict[str, str], units: Dict[str, str], subject: str) -> None:
    for name, cell in row.items():
        if name in ("index", "timestamp", "count"):
            continue
        if LOST_WORDS.search(cell):
            reading.problem(f"{subject}: {name} is {cell}")
        elif not _UNKNOWN.fullmatch(cell):
            value, unit = _value(name, cell, units[name])
            reading.fact(name, value, unit, subject)


def _value(name: str, cell: str, unit: str) -> Tuple[Optional[Value], str]:
    """A number where the cell is one and nothing else; a text for names and masks."""
    found = _CELL.fullmatch(cell)
    if name in _TEXTS or cell.startswith("0x") or (not found and re.fullmatch(r"[A-Za-z][A-Za-z ]*", cell)):
        return cell[:128] or None, "text"
    if not found:
        return None, "text"
    unit = found[2] or unit or ("C" if name.startswith(_TEMPERATURE) else "")
    number: Optional[Value] = whole(found[1]) if "." not in found[1] else decimal(found[1])
    return number, _UNITS.get(unit, unit or "count")
