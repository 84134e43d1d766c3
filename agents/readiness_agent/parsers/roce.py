"""RoCE settings: addresses (``ibv_devinfo -v``, ``show_gids``) and lossless classes (``mlnx_qos``)."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.saved import Reading, Saved, whole
from readiness_agent.parsers.terminal import finished_lines

USUAL_DSCP = 26
"""The mark that RoCE traffic mostly carries; the class it falls into must be the lossless one."""

_GID = re.compile(r"\s*GID\[\s*([0-9]{1,4})\]:\s+([0-9a-fA-F:.]+)(?:, (.+))?\s*")
_CARD = re.compile(r"hca_id:\s+(\w+)\s*")
_PORT = re.compile(r"\s*port:\s+([0-9]{1,3})\s*")
_OF_A_PORT = re.compile(
    r"\s*(state|phys_state|active_mtu|link_layer|active_width|active_speed):\s+(\S.*?)(?: \([0-9]+\))?\s*"
)
_SPEED = re.compile(r"([0-9]{1,4}(?:\.[0-9])?) Gbps")
_SHOWN = re.compile(
    r"(\w+)\s+([0-9]{1,3})\s+([0-9]{1,4})\s+([0-9a-fA-F:]{39})\s+(?:([0-9.]{7,15})\s+)?v([12])(?:\s+(\S+))?\s*"
)
_FOUND = re.compile(r"n_gids_found=([0-9]{1,5})")
_TRUST = re.compile(r"Priority trust state: (\w+)")
_MAPPED = re.compile(r"\s*prio:([0-7]) dscp:([0-9,]+)\s*")
_BUFFERS = re.compile(r"Receive buffer size \(bytes\): ([0-9,]+?),?(?:total.*)?")
_ENABLED = re.compile(r"\s*enabled((?:\s+[01]){8})\s*")


class Gid(NamedTuple):
    """One address of a port."""

    place: int
    address: str
    type: Optional[str]
    link_local: bool


class Qos(NamedTuple):
    """The lossless settings of one card."""

    trust: str
    lossless: Tuple[int, ...]
    """Priorities with flow control."""
    priorities: Dict[int, int]
    """DSCP to priority."""
    buffers: str

    @property
    def said(self) -> str:
        """All of it in one line: cards that are set alike say the same."""
        mask = sum(1 << priority for priority in self.lossless)
        return f"trust {self.trust}, pfc 0x{mask:02x}, dscp {_ranges(self.priorities) or 'none'}{self.buffers}"

    def is_lossless(self, dscp: int) -> bool:
        """Whether packets with that mark fall into a priority with flow control; without trust in marks none does."""
        return self.trust == "dscp" and self.priorities.get(dscp) in self.lossless


def parse_mlnx_qos(text: str) -> Qos:
    """The answer of ``mlnx_qos -i`` about one card.

    Raises:
        Unreadable: its trust or its priorities with flow control are not shown.
    """
    lines = finished_lines(text)
    trust = _TRUST.search("\n".join(lines))
    enabled = next((found[1].split() for found in map(_ENABLED.fullmatch, lines) if found), None)
    if trust is None or enabled is None:
        raise Unreadable("mlnx_qos shows neither trust nor priority flow control")
    buffers = next((found[1].strip() for found in map(_BUFFERS.fullmatch, lines) if found), "")
    return Qos(
        trust[1],
        tuple(priority for priority, bit in enumerate(enabled) if bit == "1"),
        _priorities([found for found in map(_MAPPED.fullmatch, lines) if found]),
        f", buffers {buffers}" if buffers else "",
    )


def read_devinfo_gids(text: str) -> Saved:
    """Ports and addresses in ``ibv_devinfo``, with or without ``-v``. Never raises."""
    reading = Reading()
    ports = [port for port in _ports_of_devinfo(finished_lines(text)) if port.gids or "state" in port.told]
    if not ports:
        reading.problem("there is no port or address of ibv_devinfo in this text")
    for port in ports:
        _devinfo_port(reading, port)
    return reading.result()


class _DevinfoPort(NamedTuple):
    """One port; without a name in an excerpt that begins below the line of its card."""

    name: str
    told: Dict[str, str]
    gids: List[Gid]


def _ports_of_devinfo(lines: List[str]) -> List[_DevinfoPort]:
    card, ports = "", [_DevinfoPort("", {}, [])]
    for line in lines:
        head, port, told, gid = (one.fullmatch(line) for one in (_CARD, _PORT, _OF_A_PORT, _GID))
        if head:
            card = head[1]
        elif port:
            ports.append(_DevinfoPort(f"{card}/{port[1]}" if card else "", {}, []))
        elif told:
            ports[-1].told[told[1]] = told[2]
        elif gid:
            ports[-1].gids.append(Gid(int(gid[1]), gid[2], gid[3], _is_link_local(gid[2])))
    return ports


def _devinfo_port(reading: Reading, port: _DevinfoPort) -> None:
    state, mtu = port.told.get("state"), whole(port.told.get("active_mtu"))
    speed = _SPEED.match(port.told.get("active_speed", ""))
    reading.fact("state", state, "text", port.name)
    reading.fact("physical_state", port.told.get("phys_state"), "text", port.name)
    reading.fact("link_layer", port.told.get("link_layer"), "text", port.name)
    reading.fact("active_mtu", mtu, "bytes", port.name)
    reading.fact("active_width", port.told.get("active_width"), "text", port.name)
    reading.fact("lane_speed", float(speed[1]) if speed else None, "Gb/s", port.name)
    if port.gids:
        reading.fact("gids", len(port.gids), "count", port.name)
        reading.fact("best_gid_index", _best(port.gids), "count", port.name)
    for gid in port.gids:
        subject = f"{port.name} gid{gid.place}".strip()
        reading.fact("gid", gid.address, "text", subject)
        reading.fact("type", gid.type, "text", subject)
        reading.fact("link_local", gid.link_local, "bool", subject)


def _is_link_local(address: str) -> bool:
    return address.lower().startswith("fe80")


def _best(gids: List[Gid]) -> Optional[int]:
    """The first address of RoCE v2 that other nodes can reach: not one that is valid on its own link only."""
    return next((gid.place for gid in gids if gid.type == "RoCE v2" and not gid.link_local), None)


def read_show_gids(text: str) -> Saved:
    """The table of ``show_gids``. Never raises."""
    reading = Reading()
    rows = [one for one in map(_SHOWN.fullmatch, finished_lines(text)) if one]
    if not rows:
        reading.problem("there is no table of show_gids in this text")
        return reading.result()
    ports: Dict[str, List[re.Match[str]]] = {}
    for row in rows:
        ports.setdefault(f"{row[1]}/{row[2]}", []).append(row)
    for port, own in ports.items():
        _port(reading, port, own)
    promised = _FOUND.search(text)
    if promised and int(promised[1]) != len(rows):
        reading.problem(f"show_gids found {promised[1]} addresses, and {len(rows)} are shown")
    return reading.result()


def _port(reading: Reading, port: str, rows: List[re.Match[str]]) -> None:
    gids = [Gid(int(row[3]), row[4], f"RoCE v{row[6]}", _is_link_local(row[4])) for row in rows]
    reading.fact("gids", len(gids), "count", port)
    reading.fact("best_gid_index", _best(gids), "count", port)
    reading.fact("netdev", rows[0][7], "text", port)
    for gid, row in zip(gids, rows):  # noqa: B905 (made of each other)
        subject = f"{port} gid{gid.place}"
        reading.fact("ipv4", row[5], "text", subject)
        reading.fact("type", gid.type, "text", subject)
        reading.fact("link_local", gid.link_local, "bool", subject)


def read_mlnx_qos(text: str) -> Saved:
    """Trust, DSCP map and priority flow control of ``mlnx_qos -i``; indentation may be lost. Never raises."""
    reading = Reading()
    lines = finished_lines(text)
    trust = _TRUST.search("\n".join(lines))
    enabled = next((found[1].split() for found in map(_ENABLED.fullmatch, lines) if found), None)
    mapped = [found for found in map(_MAPPED.fullmatch, lines) if found]
    if trust is None and enabled is None and not mapped:
        reading.problem("there are no settings of mlnx_qos in this text")
        return reading.result()
    reading.fact("trust", trust[1] if trust else None, "text")
    if enabled is None:
        reading.problem("mlnx_qos does not show for which priorities flow control is enabled")
    else:
        on = [priority for priority, bit in enumerate(enabled) if bit == "1"]
        reading.fact("pfc_priorities", " ".join(map(str, on)) or "none", "text")
        reading.fact("pfc_mask", f"0x{sum(1 << priority for priority in on):02x}", "text")
    _dscp(reading, mapped)
    return reading.result()


def _dscp(reading: Reading, mapped: List[re.Match[str]]) -> None:
    priorities = _priorities(mapped)
    reading.fact("dscp_priorities", _ranges(priorities) or None, "text")
    reading.fact(f"dscp_{USUAL_DSCP}_priority", priorities.get(USUAL_DSCP), "count")


def _priorities(mapped: List[re.Match[str]]) -> Dict[int, int]:
    priorities: Dict[int, int] = {}
    for found in mapped:
        priorities.update({int(one): int(found[1]) for one in found[2].split(",") if one and len(one) < 3})
    return priorities


def _ranges(priorities: Dict[int, int]) -> str:
    ranges: List[str] = []
    for dscp in sorted(priorities):
        if dscp - 1 in priorities and priorities[dscp - 1] == priorities[dscp]:
            ranges[-1] = f"{ranges[-1].partition('-')[0].partition(':')[0]}-{dscp}:{priorities[dscp]}"
        else:
            ranges.append(f"{dscp}:{priorities[dscp]}")
    return " ".join(ranges)
