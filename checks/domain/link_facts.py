"""What the two ends of a trial say, put together into the facts of one link.

Each end tells how fast its own cards wrote to the other's. A rate is held against the least that both ends allow: line
rate times what headers leave of it, and the lanes of the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checks.domain.units import Scalar

#: Bytes a packet carries beside its payload. RoCE v2: preamble 8, Ethernet 14 + 4, gap 12, IPv4 20, UDP 8, BTH 12,
#: ICRC 4. InfiniBand: LRH 8, BTH 12, ICRC 4, VCRC 2. (RFC 791, RFC 768, IEEE 802.3, InfiniBand specification vol. 1)
ROCE_OVERHEAD: Final = 82
INFINIBAND_OVERHEAD: Final = 26
#: No link carries more than its limit; a rate beyond this share of it shows that rate or limit was told wrong.
MOST_SHARE: Final = 1.05


@dataclass(frozen=True, slots=True)
class Card:
    """One card of one end: its limits, and what it wrote to its partner. None: not measured."""

    number: int
    #: Gb/s of the port, and of the card's PCIe lanes after their encoding.
    rate: float
    pcie: float
    #: Bytes of payload in a packet.
    mtu: int
    infiniband: bool
    #: Gb/s from host memory, and from GPU memory.
    host: float | None = None
    gpu: float | None = None

    @property
    def limit(self) -> float:
        """Gb/s that cannot be passed."""
        overhead = INFINIBAND_OVERHEAD if self.infiniband else ROCE_OVERHEAD
        return min(self.rate * self.mtu / (self.mtu + overhead), self.pcie)


@dataclass(frozen=True, slots=True)
class Told:
    """What one end says of a trial; *problem* is why it did not measure all of it, in one sentence."""

    cards: Sequence[Card] = ()
    #: Gb/s of all cards writing at the same time.
    together: float | None = None
    #: Bytes of one message, and seconds of the shortest flow.
    message_size: int = 0
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """The item's facts, and what is missing from them in one sentence."""

    facts: Mapping[str, Scalar] = field(default_factory=dict)
    problem: str = ""


def link_facts(server: Told | None, client: Told | None, *, cards: int, gpu: bool, names: tuple[str, str]) -> LinkFacts:
    """Facts of a trial between *names* (server, client) that was to measure *cards* cards a side.

    *gpu*: whether both ends could write from GPU memory. An end that said nothing is None.
    """
    facts: dict[str, Scalar] = {}
    ends = [(server, client, "host_share", "gpu_share"), (client, server, "host_reverse_share", "gpu_reverse_share")]
    for writer, reader, host, from_gpu in ends:
        if writer is not None and reader is not None:
            facts |= _shares(writer, reader, host, from_gpu)
    said = [one for one in (server, client) if one is not None and one.cards]
    if said:
        facts |= _amounts(said)
    losses = [loss for one in said if (loss := _loss(one, cards)) is not None]
    if losses:
        facts["multi_flow_loss"] = round(max(losses), 1)
    missing = _missing(server, client, cards, gpu, names)
    return LinkFacts(facts, missing or _impossible(server, client, names) or _lacks_gpu(gpu))


def _shares(writer: Told, reader: Told, host: str, from_gpu: str) -> dict[str, Scalar]:
    """The weakest card decides; a card whose other end is not known has no limit to be held against."""
    limits = {card.number: card.limit for card in reader.cards}
    most = {card.number: min(card.limit, limits[card.number]) for card in writer.cards if card.number in limits}
    rates = {
        host: [(card.host, most.get(card.number)) for card in writer.cards],
        from_gpu: [(card.gpu, most.get(card.number)) for card in writer.cards],
    }
    shares = {
        name: [rate / limit for rate, limit in each if rate is not None and limit] for name, each in rates.items()
    }
    return {name: round(min(each), 4) for name, each in shares.items() if each}


def _amounts(said: Sequence[Told]) -> dict[str, Scalar]:
    cards = [card for one in said for card in one.cards]
    rates = [card.host for card in cards if card.host is not None]
    facts: dict[str, Scalar] = {
        "message_size": min(one.message_size for one in said),
        "duration": min(one.seconds for one in said),
        "mtu": min(card.mtu for card in cards),
    }
    return facts | ({"host_bandwidth": min(rates)} if rates else {})


def _loss(one: Told, cards: int) -> float | None:
    """Percent that is missing when all cards write at once, against the sum of what each writes alone."""
    alone = [card.host for card in one.cards if card.host is not None]
    if one.together is None or len(alone) < cards or not sum(alone):
        return None
    return max(0.0, 100.0 * (1.0 - one.together / sum(alone)))


def _missing(server: Told | None, client: Told | None, cards: int, gpu: bool, names: tuple[str, str]) -> str:
    for name, told in zip(names, (server, client), strict=True):
        if told is None:
            return f"{name} did not say what it found"
        if told.problem:
            return f"{name}: {told.problem}"
        measured = {card.number for card in told.cards if card.host is not None and (card.gpu is not None or not gpu)}
        if lacking := sorted(set(range(cards)) - measured):
            return f"{name}: nic{lacking[0]} was not measured"
        if told.together is None:
            return f"{name}: all cards at once were not measured"
    return ""


def _lacks_gpu(gpu: bool) -> str:
    return "" if gpu else "perftest of one of them writes from no GPU memory"


def _impossible(server: Told | None, client: Told | None, names: tuple[str, str]) -> str:
    """Why rates cannot be held against limits: a card that has none, or one that wrote more than any link carries."""
    limits = _limits(server, client)
    for name, told in zip(names, (server, client), strict=True):
        cards = told.cards if told is not None else ()
        for card in cards:
            most = limits.get(card.number, 0.0)
            if most <= 0:
                return f"{name}: nic{card.number} has no rate at one of the ends"
            if max(card.host or 0.0, card.gpu or 0.0) > most * MOST_SHARE:
                return f"{name}: nic{card.number} wrote more than the {most:.1f} Gb/s that its link can carry"
        if told is not None and (told.together or 0.0) > MOST_SHARE * sum(limits[card.number] for card in cards):
            return f"{name}: all cards at once wrote more than their links can carry"
    return ""


def _limits(*ends: Told | None) -> dict[int, float]:
    """Gb/s that both ends of each card allow."""
    limits: dict[int, float] = {}
    for card in (card for told in ends if told is not None for card in told.cards):
        limits[card.number] = min(card.limit, limits.get(card.number, card.limit))
    return limits
