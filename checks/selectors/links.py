"""What nodes found about the links between them, judged by the rules in force, and who is at hand to measure more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q

from checks.domain.evaluation import judge
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.freshness import stale_after
from checks.domain.items import Item
from checks.domain.measuring import measure
from checks.domain.memory import ItemMemory
from checks.domain.pairs import Pair, Trial
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar
from checks.domain.verdicts import Scope, Verdict
from checks.models import Cluster, LinkSeat, LinkSide, LinkTrial, Node, ScopeState

ITEM: Final = "rdma-bandwidth"
#: A seat whose node has not asked for so long is empty: its agent has ended, or was killed.
SEAT_FRESH: Final = timedelta(seconds=90)
_NODE, _LINK = "node:", "link:"
_GOOD: Final = {Verdict.PASS: True, Verdict.WARN: True, Verdict.FAIL: False}
_MOST_JUDGED: Final = 50_000

_judged: dict[tuple[int, str], bool | None] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """One trial that is over; its nodes by the text of their ids."""

    id: int
    pair: Pair
    #: When each end was taken, in the order of *pair*.
    claimed: tuple[datetime, datetime]
    ended_at: datetime
    facts: Mapping[str, Scalar]
    problem: str
    good: bool | None

    @property
    def trial(self) -> Trial:
        """The trial as `checks.domain.pairs` takes it."""
        return Trial(self.pair, self.good)


def node_subject(node: str) -> str:
    """The subject under which a node's own row of a link item is kept; no run can be called so."""
    return f"{_NODE}{node}"


def link_subject(pair: Pair) -> str:
    """The subject of the link between two nodes, whichever is named first."""
    return f"{_LINK}{':'.join(sorted(pair))}"


def ends_of(subject: str) -> tuple[str, ...]:
    """The ids of the nodes that a subject of scope *link* speaks of: one, two, or none where it is a run's."""
    kind, colon, rest = subject.partition(":")
    return tuple(rest.split(":")) if f"{kind}{colon}" in (_NODE, _LINK) else ()


def link_states(cluster: Cluster, node: Node | None = None) -> list[ScopeState]:
    """Rows about nodes and links (of *node* alone, where given), not those of runs."""
    rows = ScopeState.objects.filter(cluster=cluster, scope=Scope.LINK, item=ITEM)
    if node is not None:
        return list(rows.filter(Q(subject=node_subject(str(node.pk))) | _with_end(str(node.pk))))
    return list(rows.filter(Q(subject__startswith=_NODE) | Q(subject__startswith=_LINK)))


def _with_end(node: str) -> Q:
    return Q(subject__startswith=f"{_LINK}{node}:") | Q(subject__startswith=_LINK, subject__endswith=f":{node}")


def found_lately(cluster: Cluster, ruleset: Ruleset, now: datetime) -> list[Found]:
    """Trials that ended while such evidence counts, the oldest first."""
    item = ruleset.items[ITEM]
    valid = stale_after(item.cadence, timedelta(seconds=cluster.interval_s), item) or timedelta()
    rows = LinkTrial.objects.filter(cluster=cluster, ended_at__gte=now - valid).order_by("ended_at", "pk")
    columns = (
        "pk", "server", "client", "server_claim__claimed_at", "client_claim__claimed_at", "ended_at", "facts",
        "problem",
    )  # fmt: skip
    return [
        Found(pk, (str(one), str(other)), (here, there), at, facts, problem, _is_good(pk, ruleset, facts, problem, at))
        for pk, one, other, here, there, at, facts, problem in rows.values_list(*columns)
    ]


def of_this_time(found: Sequence[Found], claimed: Mapping[str, datetime]) -> list[Found]:
    """Those that speak of both ends as they are now: of an end measured anew since, nothing older counts.

    *claimed*: when nodes that measure right now were taken.
    """
    since = dict(claimed)
    for one in found:
        for node, at in zip(one.pair, one.claimed, strict=True):
            if one.good is not None and node not in claimed:
                since[node] = max(at, since.get(node, at))
    return [
        one for one in found if all(at >= since.get(node, at) for node, at in zip(one.pair, one.claimed, strict=True))
    ]


def present_seats(cluster: Cluster, now: datetime, *, longer_than: timedelta) -> list[LinkSeat]:
    """Seats of nodes that are still taken for *longer_than*, and measure or asked lately; neighbours stand together."""
    measuring = Exists(LinkSide.objects.filter(node=OuterRef("node"), open=True))
    seats = LinkSeat.objects.filter(
        measuring | Q(asked_at__gte=now - SEAT_FRESH),
        node__cluster=cluster, node__retired_at=None, claim__ended_at=None, claim__until__gt=now + longer_than,
    )  # fmt: skip
    return list(seats.select_related("node", "claim").order_by("node__switch", "node__hostname"))


def bad_links(cluster: Cluster) -> list[Pair]:
    """Links whose row fails, by the ids of their ends."""
    rows = ScopeState.objects.filter(
        cluster=cluster, scope=Scope.LINK, item=ITEM, subject__startswith=_LINK, raw=Verdict.FAIL
    )
    pairs = (ends_of(subject) for subject in rows.order_by("subject").values_list("subject", flat=True))
    return [(pair[0], pair[1]) for pair in pairs]


def facts_and_problems(
    item: Item, told: Mapping[str, Scalar], problem: str, at: datetime
) -> tuple[list[Fact], list[Problem]]:
    """What was found, in the judge's words."""
    facts = [
        Fact(item.key, "", name, value, item.facts[name], at) for name, value in told.items() if name in item.facts
    ]
    return facts, [Problem(item.key, None, ProblemKind.MISSING, problem)] if problem else []


def _is_good(pk: int, ruleset: Ruleset, told: Mapping[str, Scalar], problem: str, at: datetime) -> bool | None:
    """Whether the rules call it good; None where they cannot tell. What is over never changes, so it is kept."""
    key = (pk, ruleset.judged_under)
    if key not in _judged:
        item = ruleset.items[ITEM]
        facts, problems = facts_and_problems(item, told, problem, at)
        value = measure(item, facts, problems, ItemMemory(), observed_at=at, boot_id="").value
        if len(_judged) >= _MOST_JUDGED:
            _judged.clear()
        _judged[key] = _GOOD.get(judge(item, value, now=at).verdict)
    return _judged[key]
