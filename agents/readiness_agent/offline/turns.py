"""Asks the portal with whom this node measures next, and believes no answer beyond a host, a port and a length.

What is run is this agent's own; the node's configuration says which ports, and a partner is a plain name or address.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union
from urllib.parse import quote

from readiness_agent.config import Config
from readiness_agent.facts import ERROR, CouldNotMeasure
from readiness_agent.transport import Answer, Portal, Unreachable
from readiness_agent.values import bounded, finite

PORTS = 128
"""TCP ports that one trial may use, from the one that the portal names."""
LONGEST_WAIT = 60.0

_HOST = re.compile(r"[A-Za-z0-9:][A-Za-z0-9._:-]{0,252}")
_RANGE = re.compile(r"([0-9]{4,5})-([0-9]{4,5})")


class Offer(NamedTuple):
    """What this node can do."""

    address: str
    cards: int
    gpu_memory: bool
    flow_s: int


class Turn(NamedTuple):
    """One trial. *serves*: this node listens first; *port* is the first of 128; *seconds* are left in all."""

    trial: int
    serves: bool
    partner: str
    address: str
    port: int
    cards: int
    gpu_memory: bool
    flow_s: int
    seconds: float


class Wait(NamedTuple):
    """Ask again after so many seconds."""

    seconds: float


class Done(NamedTuple):
    """Nothing is left to measure, and why."""

    why: str


class Turns:
    """The portal, as a probe in a process of its own asks it."""

    def __init__(self, config: Config, token: str, hostname: str, addresses: str) -> None:
        self._config = config
        self._token = token
        self._addresses = addresses
        self.hostname = hostname
        self._path = f"/api/v1/nodes/{quote(hostname, safe='')}/link-trials"
        self._portal: Optional[Portal] = None

    def next(self, offer: Offer) -> Union[Turn, Wait, Done]:
        """What this node does next; with the portal away it waits.

        Raises:
            CouldNotMeasure: the portal refuses, or names what this node does not do.
        """
        try:
            answer = self._post(self._path, offer._asdict())
        except Unreachable:
            return Wait(5.0)
        told = answer.json() or {}
        if answer.status == 429 or answer.status >= 500:
            return Wait(10.0)
        if answer.status != 200:
            raise CouldNotMeasure(ERROR, f"the portal: {str(told.get('detail') or answer.status)[:300]}")
        if told.get("do") == "measure":
            return checked_turn(told, offer, port_range(self._config))
        if told.get("do") == "wait":
            return Wait(bounded(told.get("seconds"), 1.0, LONGEST_WAIT, 5.0))
        return Done(str(told.get("why") or "nothing is left to measure")[:200])

    def tell(self, trial: int, outcome: Dict[str, Any]) -> None:
        """What came of a trial. With the portal away it ends by its time, and says that this node told nothing."""
        try:
            self._post(f"{self._path}/{trial}", outcome)
        except Unreachable:
            pass

    def _post(self, path: str, body: Dict[str, Any]) -> Answer:
        if self._portal is None:
            self._portal = Portal(self._config, self._token, self._addresses)
        try:
            return self._portal.post(path, {}, json.dumps(body).encode())
        except Unreachable:
            self._portal = None  # a connection that was too slow is not used again
            raise


def port_range(config: Config) -> Tuple[int, int]:
    """The first and the last TCP port that the configuration lets perftest use.

    Raises:
        CouldNotMeasure: it is no range.
    """
    found = _RANGE.fullmatch(config.rdma_ports)
    low, high = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1024 <= low < high < 65536:
        raise CouldNotMeasure(ERROR, f"rdma_ports of agent.json is {config.rdma_ports!r}: write it like 18515-19026")
    return low, high


def is_host(text: Any) -> bool:
    """Whether *text* is a plain host name or address, which no command line takes for an option."""
    return isinstance(text, str) and _HOST.fullmatch(text) is not None


def checked_turn(told: Dict[str, Any], offer: Offer, ports: Tuple[int, int]) -> Turn:
    """The turn in *told*.

    Raises:
        CouldNotMeasure: it names no host, a port beyond *ports*, more cards than were offered, or an endless flow.
    """
    numbers = {name: _whole(told.get(name)) for name in ("trial", "port", "cards", "flow_s")}
    is_plain = (
        is_host(told.get("address")) and is_host(told.get("partner")) and told.get("role") in ("server", "client")
    )
    if not is_plain or not ports[0] <= numbers["port"] <= ports[1] - PORTS + 1:
        raise CouldNotMeasure(ERROR, "the portal named a partner or a port that this node does not use")
    if not 1 <= numbers["cards"] <= offer.cards or not 1 <= numbers["flow_s"] <= offer.flow_s or numbers["trial"] < 1:
        raise CouldNotMeasure(ERROR, "the portal asked for more than this node offered")
    return Turn(
        numbers["trial"], told["role"] == "server", told["partner"], told["address"], numbers["port"],
        numbers["cards"], told.get("gpu_memory") is True and offer.gpu_memory, numbers["flow_s"],
        bounded(told.get("seconds"), 0.0, 7200.0, 0.0),
    )  # fmt: skip


def _whole(value: Any) -> int:
    number = finite(value)
    return int(number) if number is not None and number == int(number) else -1
