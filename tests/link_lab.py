"""Nodes that are taken to measure the links between them, and a network in which some of it is slow."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import pairwise

from checks.domain.link_facts import Card, Told, link_facts
from checks.domain.windows import WindowKind
from checks.models import Cluster, LinkTrial, Node, NodeClaim, ScopeState, Token, TokenKind
from checks.selectors.links import ITEM, node_subject
from checks.services.claims import claim_node
from checks.services.link_items import derive_link_items
from checks.services.link_trials import FIRST_PORT, Offer, Turn, next_turn, tell_outcome
from checks.services.windows import set_window
from tests.factories import NOON, SHIPPED, Machine, enrolled_machine, make_cluster, put_catalogue_in_force

SECOND = timedelta(seconds=1)
#: 98 % and half of what an NDR port leaves for payload (397.5 Gb/s).
FAST, SLOW = 389.5, 198.0
#: Within the 126 s that a trial of one card may take, and the 90 s after which who has not asked is gone.
ROUND = timedelta(seconds=80)
MOST_ROUNDS = 40
OFFER = Offer(address="10.0.0.1", cards=1, gpu_memory=True, flow_s=7)


def told(rate: float | None, *, problem: str = "", flow_s: float = 5.0) -> Told:
    """What one end with one NDR card says that wrote at *rate*, from either memory."""
    card = Card(0, rate=400.0, pcie=504.1, mtu=4096, infiniband=True, host=rate, gpu=rate)
    return Told((card,), rate, 1048576, flow_s, problem)


@dataclass
class LinkLab:
    """A cluster in its window, its nodes, and a clock."""

    cluster: Cluster
    machines: dict[str, Machine] = field(default_factory=dict)
    now: datetime = NOON

    def token(self, name: str) -> Token:
        """The node's own token."""
        return Token.objects.get(kind=TokenKind.AGENT, node__cluster=self.cluster, node__hostname=name)

    def take(self, names: Iterable[str] | None = None, *, minutes: int = 240) -> None:
        """Have nodes (all of them) take themselves."""
        for name in names or self.machines:
            claim_node(token=self.token(name), hostname=name, items=[ITEM], minutes=minutes, now=self.now)

    def ask(self, name: str, offer: Offer = OFFER) -> Turn:
        """What the node does next."""
        return next_turn(token=self.token(name), hostname=name, offer=offer, now=self.now)

    def tell(self, name: str, trial: LinkTrial, said: Told) -> None:
        """What the node found."""
        tell_outcome(token=self.token(name), hostname=name, trial=trial.pk, told=said, now=self.now)

    def ask_all(self, names: Iterable[str] | None = None) -> dict[str, Turn]:
        """What nodes do next that ask one after the other, as often as it takes until nobody is told anything new."""
        names, turns = list(names or self.machines), dict[str, Turn]()
        for _ in range(len(names) + 2):
            asked = {name: self.ask(name) for name in names}
            if [turn.do for turn in asked.values()] == [turn.do for turn in turns.values()]:
                return asked
            turns = asked
        raise AssertionError(f"it goes on for ever: {turns}")

    def measure(self, is_slow: Callable[[str, str], bool]) -> int:
        """Rounds until every node is told that nothing is left; how many it took."""
        rounds = 0
        while (turns := self.ask_all()) and any(turn.do != "done" for turn in turns.values()):
            self.now += ROUND
            for name, turn in turns.items():
                if turn.trial is not None:
                    self.tell(name, turn.trial, told(SLOW if is_slow(name, turn.partner) else FAST))
            rounds += 1
            assert rounds < MOST_ROUNDS, turns
        return rounds

    def derive(self) -> None:
        """What the schedule does."""
        derive_link_items(now=self.now)

    def row(self, name: str) -> ScopeState:
        """The node's own row."""
        subject = node_subject(str(self.machines[name].node.pk))
        return ScopeState.objects.get(cluster=self.cluster, scope="link", item=ITEM, subject=subject)

    def rows(self) -> dict[str, str]:
        """Every node's verdict."""
        return {name: self.row(name).raw for name in self.machines}


def prove_links(cluster: Cluster, names: Sequence[str], *, at: datetime) -> None:
    """Every node of *names* measured with the next one a minute before *at*, and all of it is good and judged."""
    nodes = {node.hostname: node for node in Node.objects.filter(cluster=cluster, hostname__in=names)}
    claims = {
        name: NodeClaim.objects.create(
            node=node, items=[ITEM], claimed_at=at - ROUND, until=at, ended_at=at, ended_by=NodeClaim.End.RELEASED
        )
        for name, node in nodes.items()
    }
    good = link_facts(told(FAST), told(FAST), cards=1, gpu=True, names=("one", "other"))
    for one, other in pairwise(names):
        LinkTrial.objects.create(
            cluster=cluster, server=nodes[one], client=nodes[other], server_claim=claims[one],
            client_claim=claims[other], cards=1, gpu_memory=True, flow_s=7, port=FIRST_PORT, handed_at=at - ROUND,
            until=at, ended_at=at - 60 * SECOND, facts=good.facts,
        )  # fmt: skip
    derive_link_items(now=at)


def link_lab(size: int = 0, *names: str, profile: str = "8xh200") -> LinkLab:
    """A cluster of so many nodes, or of these, in a window from 11:00 to 23:00, under the shipped catalogue."""
    put_catalogue_in_force(SHIPPED)
    cluster = make_cluster(profile=profile)
    set_window(
        cluster=cluster, kind=WindowKind.MAINTENANCE, opens=time(11), closes=time(23), by=None, reason="", now=NOON
    )
    called = names or tuple(f"gpu{number:03}" for number in range(1, size + 1))
    return LinkLab(cluster, {name: enrolled_machine(cluster, name) for name in called})
