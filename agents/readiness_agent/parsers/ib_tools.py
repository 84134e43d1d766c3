"""Tools of InfiniBand and RoCE: ibstat, rdma link, lshca, ibdev2netdev, and searches through sysfs."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from readiness_agent.facts import CouldNotMeasure
from readiness_agent.parsers.infiniband import SATURATED, parse_rate, parse_state
from readiness_agent.parsers.saved import Reading, Saved, decimal, whole
from readiness_agent.parsers.terminal import finished_lines

_SYSFS = re.compile(r"/sys/class/infiniband/([A-Za-z0-9_]+)/(?:ports/([0-9]{1,3})/)?([A-Za-z0-9_/]+):(.*)")
_DEVICE = re.compile(r"CA:? '([A-Za-z0-9_]+)'")
_PORT = re.compile(r"Port ([0-9]{1,3}):")
_RDMA_LINK = re.compile(
    r"(?:[0-9]+(?:/[0-9]+)?: |link )+(\w+)/([0-9]{1,3}):? (?:.* )?state (\w+) physical_state (\w+)"
    r"(?: netdev (\S+))?(?: .*)?\s*"
)
"""An InfiniBand port has its subnet between its name and its state; before iproute2 5 a line began with numbers."""
_RDMA_LIKE = re.compile(r"(?:[0-9]+(?:/[0-9]+)?: )?link \S.*|[0-9]+/[0-9]+: .*")
_NETDEV = re.compile(
    r"(?:[0-9a-f:.]+ )?(\w+) (?:\(.*\) .*)?port ([0-9]{1,3})(?: \((\w+)\s*\))? "
    r"(?:==|<===)>(?: (\S+))? \((Up|Down)\)\s*",
    re.IGNORECASE,
)
_NETDEV_LIKE = re.compile(r".*\bport [0-9]{1,3}\b.*")
_LSHCA_WIDTH = re.compile(r"x([0-9]{1,2})(?: G([0-9]))?")
_EIGHT_BITS = ("link_downed", "link_error_recovery")
"""Counters of PortCounters in the InfiniBand specification that end at 255."""
_ACTIVE, _UP = "active", "linkup"


def read_ib_sysfs(text: str) -> Saved:
    """The output of ``grep -r . /sys/class/infiniband``. Never raises."""
    reading = Reading()
    ports: Dict[str, Dict[str, str]] = {}
    for line in finished_lines(text):
        found = _SYSFS.fullmatch(line)
        if found and found[2]:
            ports.setdefault(f"{found[1]}/{found[2]}", {})[found[3]] = found[4]
    for name, files in ports.items():
        _sysfs_port(reading, name, files)
    _count(reading, [_word(files.get("state", "")) or "" for files in ports.values()], "sysfs")
    return reading.result()


def _sysfs_port(reading: Reading, name: str, files: Dict[str, str]) -> None:
    physical = _word(files.get("phys_state", ""))
    reading.fact("state", _word(files.get("state", "")), "text", name)
    reading.fact("physical_state", physical, "text", name)
    reading.fact("link_layer", files.get("link_layer"), "text", name)
    if (physical or "").lower() == _UP:
        reading.fact("rate", _rate(files.get("rate", "")), "Gb/s", name)
    for file, text in files.items():
        if file.startswith(("counters/", "hw_counters/")):
            reading.fact(file.rpartition("/")[2], whole(text), "count", name)
    for counter in _EIGHT_BITS:
        if whole(files.get(f"counters/{counter}")) == SATURATED:
            reading.fact(f"{counter}_saturated", True, "bool", name)
            reading.problem(f"{name}: {counter} stands at {SATURATED}, where 8 bits end: it was at least that often")


def _word(text: str) -> Optional[str]:
    try:
        return parse_state(text.strip() + "\n")
    except CouldNotMeasure:
        return None


def _rate(text: str) -> Optional[float]:
    try:
        return parse_rate(text.strip() + "\n")
    except CouldNotMeasure:
        return None


def _count(reading: Reading, states: List[str], tool: str) -> None:
    if not states:
        reading.problem(f"there is no port of {tool} in this text")
        return
    reading.fact("ports", len(states), "count")
    reading.fact("ports_active", sum(1 for state in states if state.lower() == _ACTIVE), "count")


def read_ibstat(text: str) -> Saved:
    """Ports of ``ibstat``; what it printed before it failed is kept. Never raises."""
    reading = Reading()
    device, port = "", ""
    devices: Dict[str, Dict[str, str]] = {}
    ports: Dict[str, Tuple[str, Dict[str, str]]] = {}
    for line in finished_lines(text):
        head, number = _DEVICE.fullmatch(line.strip()), _PORT.fullmatch(line.strip())
        name, colon, value = line.strip().partition(":")
        if head:
            device, port = head[1], ""
            devices[device] = {}
        elif number and device:
            port = f"{device}/{number[1]}"
            ports[port] = (device, {})
        elif line.startswith(("ibpanic", "ibwarn")):
            reading.problem(line.strip()[:200])
        elif colon and device:
            (ports[port][1] if port else devices[device])[name] = value.strip()
    for name, (owner, values) in ports.items():
        _ibstat_port(reading, name, values, devices[owner])
    for name, told in devices.items():
        promised, shown = whole(told.get("Number of ports")), sum(owner == name for owner, _ in ports.values())
        if promised is not None and promised != shown:
            reading.problem(f"{name} has {promised} ports and {shown} of them are shown: the output was cut")
    _count(reading, [values.get("State", "") for _, values in ports.values()], "ibstat")
    return reading.result()


def _ibstat_port(reading: Reading, name: str, port: Dict[str, str], device: Dict[str, str]) -> None:
    reading.fact("state", port.get("State"), "text", name)
    reading.fact("physical_state", port.get("Physical state"), "text", name)
    if port.get("Physical state", "").lower() == _UP:  # of a port that is down the rate means nothing
        reading.fact("rate", decimal(port.get("Rate", "").partition(" ")[0]), "Gb/s", name)  # behind it may be (FDR10)
    reading.fact("link_layer", port.get("Link layer"), "text", name)
    reading.fact("model", _told(device.get("CA type")), "text", name)
    reading.fact("firmware", _told(device.get("Firmware version")), "text", name)


def _told(text: Optional[str]) -> Optional[str]:
    return text if text and any(letter.isdigit() for letter in text) else None


def read_rdma_link(text: str) -> Saved:
    """``rdma link show``: states and interfaces; it tells neither speed nor MTU. Never raises."""
    reading = Reading()
    found = [one for one in map(_RDMA_LINK.fullmatch, finished_lines(text)) if one]
    for one in found:
        name = f"{one[1]}/{one[2]}"
        reading.fact("state", one[3], "text", name)
        reading.fact("physical_state", one[4], "text", name)
        reading.fact("netdev", one[5], "text", name)
    unread = [line for line in finished_lines(text) if _RDMA_LIKE.fullmatch(line) and not _RDMA_LINK.fullmatch(line)]
    if unread and found:
        reading.problem(f"a link is not told in full: {unread[0][:120]}")
    _count(reading, [one[3] for one in found], "rdma link")
    return reading.result()


def read_ibdev2netdev(text: str) -> Saved:
    """``ibdev2netdev``, with or without ``-v``. Never raises."""
    reading = Reading()
    found = [one for one in map(_NETDEV.fullmatch, finished_lines(text)) if one]
    if not found:
        reading.problem("there is no device of ibdev2netdev in this text")
        return reading.result()
    unread = [line for line in finished_lines(text) if _NETDEV_LIKE.fullmatch(line) and not _NETDEV.fullmatch(line)]
    if unread:
        reading.problem(f"a port is not told in full: {unread[0][:120]}")
    reading.fact("ports", len(found), "count")
    reading.fact("ports_up", sum(1 for one in found if one[5] == "Up"), "count")
    for one in found:
        name = f"{one[1]}/{one[2]}"
        reading.fact("netdev", one[4], "text", name)
        reading.fact("up", one[5] == "Up", "bool", name)
        reading.fact("state", one[3], "text", name)
    return reading.result()


def read_lshca(text: str) -> Saved:
    """The table of ``lshca``; its marks (``*``, ``>!<``) are no part of the values. Never raises."""
    reading = Reading()
    rows = [[cell.strip() for cell in line.split("|")] for line in finished_lines(text) if line.count("|") > 2]
    heads = rows[0] if rows else []
    if "RDMA" not in heads or "LnkStaWidth" not in heads:
        reading.problem("there is no table of lshca in this text")
        return reading.result()
    for cells in rows[1:]:
        if len(cells) == len(heads):
            _lshca_row(reading, dict(zip(heads, cells)))  # noqa: B905 (lengths are equal)
        else:
            reading.problem("a row of the table is cut")
    return reading.result()


def _lshca_row(reading: Reading, row: Dict[str, str]) -> None:
    name = row["RDMA"]
    reading.fact("pci_address", row.get("PCI_addr"), "text", name)
    reading.fact("netdev", row.get("Net") or None, "text", name)
    reading.fact("numa_node", whole(row.get("Numa")), "count", name)
    reading.fact("state", row.get("LnkStat"), "text", name)
    reading.fact("link_layer", row.get("Link"), "text", name)
    if row.get("LnkStat") != "down":
        reading.fact("rate", whole(row.get("Rate", "").rstrip("*")), "Gb/s", name)
    for end, column in (("", "LnkStaWidth"), ("_max", "LnkCapWidth")):
        found = _LSHCA_WIDTH.match(row.get(column, ""))
        reading.fact(f"width{end}", int(found[1]) if found else None, "lanes", name)
        reading.fact(f"generation{end}", int(found[2]) if found and found[2] else None, "count", name)
    reading.fact("model", row.get("HCA_Type"), "text", name)
