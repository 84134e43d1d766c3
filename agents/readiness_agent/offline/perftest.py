"""Runs ``ib_write_bw`` between this node and one partner: each card alone, both ways, from either memory, then all.

Both ends go through the same flows in the same order, each on a port of its own; one listens, the other writes and so
measures. The first flow to which the partner does not come ends the trial.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import HUNG, MISSING, UNREADABLE, CouldNotMeasure
from readiness_agent.offline.turns import Turn
from readiness_agent.parsers.infiniband import parse_rate
from readiness_agent.parsers.pcie import parse_width, payload_rate
from readiness_agent.parsers.perftest import read_perftest
from readiness_agent.probes.qos import INFINIBAND, NCCL_CONF, nccl_of
from readiness_agent.probes.rdma_devices import ROOT, RdmaPort, training_ports
from readiness_agent.source import Source

TOOL = "ib_write_bw"
MESSAGE = 1048576
"""Bytes."""
MARGIN = 1
"""Seconds at either end of a flow that perftest leaves out (``-f``)."""
COME_FIRST, COME_NEXT = 60.0, 20.0
"""Seconds in which a partner must come to the first flow, and to each later one."""
AGAIN_AFTER = 0.3
NOT_THERE = ("Couldn't connect to", "Unable to init the socket connection")
"""What a client says while nobody listens yet."""


class Card(NamedTuple):
    """One card: how commands name it, and what limits it (Gb/s)."""

    name: str
    device: str
    port: str
    infiniband: bool
    rate: float
    pcie: float


class Gear(NamedTuple):
    """What this node measures with; *gid* is the RoCE address to use, *gpus* how many cards are paired with."""

    cards: Tuple[Card, ...]
    gpu_memory: bool
    gid: Optional[int]
    gpus: int


class Flow(NamedTuple):
    """One step of a trial: the cards that take part at once, from which memory, and whether the server writes."""

    cards: Tuple[int, ...]
    from_gpu: bool
    server_writes: bool
    port: int
    together: bool = False


class NoPartner(Exception):
    """The other end did not come to a flow."""


def gear_of(source: Source, names: str) -> Gear:
    """The training cards of this node, or those that *names* lists, and what its perftest can do.

    Raises:
        CouldNotMeasure: there is no card, no perftest, or a card does not tell its limits.
    """
    from readiness_agent.command import find_tool

    find_tool(TOOL)
    ports = training_ports(source)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    chosen = {name: port for name, port in ports.items() if not wanted or port.device in wanted}
    if len(chosen) < len(wanted):
        known = ", ".join(port.device for port in ports.values())
        raise CouldNotMeasure(MISSING, f"rdma_devices of agent.json names one that does not train; there are: {known}")
    cards = tuple(_card(source, name, port) for name, port in chosen.items())
    help_text = source.run((TOOL, "--help"), 10.0)
    gpus = len(source.glob("/proc/driver/nvidia/gpus/*"))
    return Gear(cards, "--use_cuda" in help_text.stdout + help_text.stderr, _gid(source), gpus or len(cards))


def _card(source: Source, name: str, port: RdmaPort) -> Card:
    lanes = f"{ROOT}/{port.device}/device/current_link"
    pcie = payload_rate(source.read(f"{lanes}_speed"), parse_width(source.read(f"{lanes}_width")))
    if pcie is None:
        raise CouldNotMeasure(UNREADABLE, f"{port.key} does not tell the speed of its PCIe link")
    rate = parse_rate(source.read(f"{port.directory}/rate"))
    return Card(name, port.device, port.port, port.link_layer == INFINIBAND, rate, pcie)


def _gid(source: Source) -> Optional[int]:
    try:
        return nccl_of(source.read(NCCL_CONF)).gid_index
    except CouldNotMeasure:
        return None  # perftest chooses one itself


def flows_of(turn: Turn) -> Iterator[Flow]:
    """Every flow of a trial in its order, the same at both ends."""
    port = turn.port
    for from_gpu in (False, True) if turn.gpu_memory else (False,):
        for card in range(turn.cards):
            for server_writes in (False, True):
                yield Flow((card,), from_gpu, server_writes, port)
                port += 1
    for server_writes in (False, True):
        yield Flow(tuple(range(turn.cards)), False, server_writes, port, together=True)
        port += turn.cards


def command(gear: Gear, card: Card, flow: Flow, place: int, turn: Turn, host: str) -> Tuple[str, ...]:
    """One command line; without *host* it listens."""
    argv = [
        TOOL, "-d", card.device, "-i", card.port, "-p", str(flow.port + place), "-s", str(MESSAGE),
        "-D", str(turn.flow_s), "-f", str(MARGIN), "--report_gbits", "-F",
    ]  # fmt: skip
    if gear.gid is not None and not card.infiniband:
        argv += ["-x", str(gear.gid)]
    if flow.from_gpu:
        argv = ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", *argv, f"--use_cuda={flow.cards[place] % gear.gpus}"]
    return tuple(argv + ([host] if host else []))


class Trial:
    """One trial as this end goes through it."""

    def __init__(self, source: Source, gear: Gear, turn: Turn) -> None:
        self._source = source
        self._gear = gear
        self._turn = turn
        self._end = time.monotonic() + turn.seconds
        self._told: Dict[int, Dict[str, Any]] = {}
        self._together: Optional[float] = None
        self._seconds: List[float] = []
        self._problem = ""
        self.texts: List[str] = []
        """What perftest said here, flow by flow."""

    def run(self) -> Dict[str, Any]:
        """What the portal is told: rates of this end's cards, and the first thing that went wrong."""
        come = COME_FIRST
        try:
            for flow in flows_of(self._turn):
                self._go_through(flow, come)
                come = COME_NEXT
        except NoPartner:
            self._note(f"{self._turn.partner} did not come")
        return {
            "cards": [self._told[place] for place in sorted(self._told)], "together": self._together,
            "message_size": MESSAGE if self._seconds else 0, "seconds": min(self._seconds, default=0.0),
            "problem": self._problem[:250],
        }  # fmt: skip

    def _note(self, problem: str) -> None:
        self._problem = self._problem or problem

    def _go_through(self, flow: Flow, come: float) -> None:
        if flow.server_writes is not self._turn.serves:
            self._listen(flow, come)
            return
        rates = _at_once(lambda place: self._write(flow, place, come), len(flow.cards))
        if not flow.together:
            self._keep(flow, rates[0])
        elif all(rate is not None for rate in rates):
            self._together = round(sum(rate for rate in rates if rate is not None), 3)

    def _keep(self, flow: Flow, rate: Optional[float]) -> None:
        if rate is not None and flow.cards[0] in self._told:
            self._told[flow.cards[0]]["gpu" if flow.from_gpu else "host"] = round(rate, 3)

    def _listen(self, flow: Flow, come: float) -> None:
        def wait(place: int) -> None:
            answer = self._run(flow, place, "", come + self._turn.flow_s + 2.0)
            if answer[0]:
                self._note(f"{self._gear.cards[flow.cards[place]].name}: {_complaint(answer[1])}")

        _at_once(wait, len(flow.cards))

    def _write(self, flow: Flow, place: int, come: float) -> Optional[float]:
        """Gb/s of one card, or None with the reason noted; the partner may take *come* seconds to listen."""
        until, name = time.monotonic() + come, self._gear.cards[flow.cards[place]].name
        while True:
            started = time.monotonic()
            code, text = self._run(flow, place, self._turn.address, self._turn.flow_s + COME_NEXT)
            if not (code and any(sentence in text for sentence in NOT_THERE)):
                return self._read(flow, place, name, code, text, time.monotonic() - started)
            if time.monotonic() > until:
                raise NoPartner
            time.sleep(AGAIN_AFTER)

    def _read(self, flow: Flow, place: int, name: str, code: int, text: str, took: float) -> Optional[float]:
        saved = read_perftest(text)
        told = {fact.name: fact.value for fact in saved.facts}
        self.texts.append(f"{name} -> {self._turn.partner}{' from GPU memory' if flow.from_gpu else ''}\n{text}")
        average = told.get("average")
        mtu = told.get("mtu")
        if code or not isinstance(average, (int, float)) or not isinstance(mtu, int):
            self._note(f"{name}: {saved.problems[0] if saved.problems else _complaint(text)}")
            return None
        self._seconds.append(round(max(0.0, min(float(self._turn.flow_s), took) - 2 * MARGIN), 3))
        card = self._gear.cards[flow.cards[place]]
        self._told.setdefault(flow.cards[place], {
            "number": flow.cards[place], "rate": card.rate, "pcie": round(card.pcie, 3),
            "mtu": mtu, "infiniband": card.infiniband,
        })  # fmt: skip
        return float(average)

    def _run(self, flow: Flow, place: int, host: str, limit: float) -> Tuple[int, str]:
        left = self._end - time.monotonic()
        if left <= 0:
            raise NoPartner
        argv = command(self._gear, self._gear.cards[flow.cards[place]], flow, place, self._turn, host)
        try:
            answer = self._source.run(argv, min(limit, left))
        except CouldNotMeasure as error:
            if error.kind == HUNG:
                raise NoPartner from None
            return 1, error.detail
        return answer.exit_code, answer.stdout + ("\n" + answer.stderr if answer.stderr else "")


def _complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else f"{TOOL} said nothing"


def _at_once(call: Callable[[int], Optional[float]], places: int) -> List[Optional[float]]:
    """What *call* returns for each place, all of them running at the same time; the first exception is raised."""
    if places == 1:
        return [call(0)]
    results: List[Optional[float]] = [None] * places
    errors: List[BaseException] = []

    def run(place: int) -> None:
        try:
            results[place] = call(place)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in range(places)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
