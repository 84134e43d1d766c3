"""Where the ranks of a job meet: whether this node finds the place, reaches it, and has one interface for it."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.listing import listed
from readiness_agent.source import Json, Probe, ProbeContext, Source, not_configured
from readiness_agent.values import whole

ITEM = "rendezvous"
DEFAULT_PORT = 29500
"""PyTorch's."""
CONNECT_DEADLINE = 2.0
ADDRESSES = ("ip", "-o", "-4", "addr", "show", "up", "scope", "global")
NCCL_CONF = "/etc/nccl.conf"
TCP_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENS = "0A"

_ADDRESS = r"(?m)^[0-9]+: (\S+?)(?:@\S+)?\s+inet ([0-9.]+)/[0-9]+"
_CHOSEN = r"(?m)^\s*NCCL_SOCKET_IFNAME\s*=\s*([\w,^=.-]+)\s*$"
_NEVER_USED = ("docker", "lo", "virbr", "cni", "veth", "br-")
"""Beginnings of the names of interfaces that lead to no other node; NCCL itself passes the first two over."""


class Place(NamedTuple):
    """Where ranks meet."""

    host: str
    port: int


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """Three answers, each for itself: the name, the way, and the interfaces; on the master also whether it is free."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        place = place_of(context)
        findings.fact(ITEM, "master", f"{place.host}:{place.port}", "text")
        own = _own_addresses(source)
        interfaces = usable_interfaces([name for name, _ in own], _chosen(source))
        findings.fact(ITEM, "interfaces", listed(interfaces), "text")
        findings.fact(ITEM, "socket_interfaces", len(interfaces), "count")
        address = _address(source, place.host)
        findings.fact(ITEM, "resolves", address is not None, "bool")
        if address is not None:
            _way(findings, source, place, address, [one for _, one in own])
    return findings.result()


def _way(findings: Findings, source: Source, place: Place, address: str, own: List[str]) -> None:
    """A refused connection is a way, too: the master answered, and nobody listens yet."""
    is_master = address in own or address.startswith("127.")
    findings.fact(ITEM, "is_master", is_master, "bool")
    if is_master:
        findings.fact(ITEM, "port_in_use", _is_taken(source, place.port), "bool")
        findings.fact(ITEM, "reaches", True, "bool")
        return
    answer = source.call(f"connect {place.host}:{place.port}", lambda: _connect(address, place.port))
    findings.fact(ITEM, "reaches", answer in ("accepted", "refused"), "bool")
    findings.evidence(f"{place.host} is {address}; a connection to port {place.port} was {answer}", ITEM)


def place_of(context: ProbeContext) -> Place:
    """The configured place.

    Raises:
        CouldNotMeasure: none is configured, or it is no host with a port.
    """
    if context.rendezvous is None:
        raise not_configured(context, "rendezvous")
    host, _, told = context.rendezvous.partition(":")
    port = whole(told) if told else DEFAULT_PORT
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}", host) or port is None or not 0 < port < 65536:
        raise CouldNotMeasure(
            ERROR, f"rendezvous of agent.json must be HOST or HOST:PORT, not {context.rendezvous[:80]}"
        )
    return Place(host, port)


def usable_interfaces(names: List[str], chosen: Optional[str]) -> List[str]:
    """The interfaces that NCCL may take for its sockets, by ``NCCL_SOCKET_IFNAME``.

    That lists beginnings of names; with ``=`` before it whole names, with ``^`` those that are not to be taken.
    """
    known = sorted(set(names))
    if chosen is None:
        return [name for name in known if not name.startswith(_NEVER_USED)]
    is_exclusion, is_whole = chosen.startswith("^"), "=" in chosen[:2]
    words = tuple(word for word in chosen.lstrip("^=").split(",") if word)
    matching = [name for name in known if (name in words if is_whole else name.startswith(words))]
    return [name for name in known if name not in matching and name != "lo"] if is_exclusion else matching


def _own_addresses(source: Source) -> List[Tuple[str, str]]:
    """Interface and address of everything that is up."""
    result = source.run(ADDRESSES)
    if result.exit_code != 0:
        raise CouldNotMeasure(ERROR, f"ip addr ended with {result.exit_code}: {result.stderr.strip()[:120]}")
    return re.findall(_ADDRESS, result.stdout)


def _chosen(source: Source) -> Optional[str]:
    try:
        found = re.findall(_CHOSEN, source.read(NCCL_CONF))
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
        return None
    return found[-1] if found else None


def _address(source: Source, host: str) -> Optional[str]:
    """The address that *host* resolves to here; None where it resolves to none."""
    answer = source.call(f"resolve {host}", lambda: _resolve(host))
    if answer is not None and not isinstance(answer, str):
        raise Unreadable(f"the address of {host} was not saved as one")
    return answer


def _resolve(host: str) -> Json:
    import socket

    try:
        return str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return None


def _connect(address: str, port: int) -> Json:
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.settimeout(CONNECT_DEADLINE)
        try:
            one.connect((address, port))
        except ConnectionRefusedError:
            return "refused"
        except OSError as error:
            return f"not possible ({error.strerror or 'timed out'})"
    return "accepted"


def _is_taken(source: Source, port: int) -> bool:
    """Whether somebody listens on *port*, by the kernel's tables."""
    taken, seen = False, 0
    refused: Dict[str, Any] = {}
    for table in TCP_TABLES:
        try:
            lines = source.read(table).splitlines()[1:]
        except CouldNotMeasure as error:
            refused[table] = error
            continue
        seen += 1
        taken = taken or any(_listens(line.split(), port) for line in lines)
    if not seen:
        raise refused[TCP_TABLES[0]]
    return taken


def _listens(cells: List[str], port: int) -> bool:
    return len(cells) > 3 and cells[3] == LISTENS and cells[1].rpartition(":")[2] == f"{port:04X}"


RENDEZVOUS = Probe("rendezvous", (ITEM,), "tick", measure)
