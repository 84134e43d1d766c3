"""Items that a whole cluster holds, judged from what its nodes reported: by the schedule, never while one reports."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.freshness import stale_after, valid_until
from checks.domain.items import Item
from checks.domain.shared_items import FROM_NODES, Derived, lossless_classes
from checks.domain.verdicts import Cadence, Scope, Verdict
from checks.models import OVER, Cluster, RunNode, ScopeState, Stage
from checks.selectors.node_words import Heard, words_of_nodes
from checks.selectors.rules import ruleset_for
from checks.services.evidence import keep_text
from checks.services.judging import judge_derived
from checks.services.scope_rows import as_state, lock_scope_row, write_back

LOSSLESS: Final = "net-switch-qos"
RENDEZVOUS: Final = "rendezvous"
_TOPOLOGY: Final = "net-topology-map"
#: Until a run goes on, its nodes must find each other, a draft's too: it can be signed. Then its ranks hold the port.
_GATHERING: Final = (Stage.DRAFT, Stage.CHECKING, Stage.REHEARSING, Stage.SIGNOFF, Stage.CLEARED)


def derive_shared_items(*, now: datetime) -> int:
    """Judge what the nodes of every open cluster say together; returns how many rows. Twice is harmless."""
    return sum(_derive_cluster(cluster, now) for cluster in Cluster.objects.filter(closed_at=None))


def _derive_cluster(cluster: Cluster, now: datetime) -> int:
    ruleset, done = ruleset_for(cluster), 0
    for key in sorted({*FROM_NODES, LOSSLESS} & ruleset.applicable):
        heard = _listen(cluster, ruleset.items[key], now)
        if any(one.observed_at is not None for one in heard):
            _judge(cluster, ruleset.items[key], heard, now)
            done += 1
    return done


def _listen(cluster: Cluster, item: Item, now: datetime) -> list[Heard]:
    """What was said while it still counts; nothing where nobody is asked."""
    limit = stale_after(item.cadence, timedelta(seconds=cluster.interval_s), item)
    nodes = _gathering(cluster) if item.key == RENDEZVOUS else _planned(cluster) or None
    if nodes == []:
        return []
    ticks = item.cadence is Cadence.TICK
    return words_of_nodes(cluster, item.key, since=now - (limit or timedelta()), ticks=ticks, now=now, nodes=nodes)


def _planned(cluster: Cluster) -> list[UUID]:
    """Nodes of runs that are not over: what the others have is nothing to these; without a run all are asked."""
    wanted = RunNode.objects.filter(run__cluster=cluster).exclude(run__stage__in=OVER)
    return list(wanted.values_list("node", flat=True).distinct())


def _gathering(cluster: Cluster) -> list[UUID]:
    """Nodes of runs that are being made ready, without those on which another run goes on."""
    mine = RunNode.objects.filter(run__cluster=cluster)
    busy = mine.filter(run__stage=Stage.RUNNING).values("node")
    wanted = mine.filter(run__stage__in=_GATHERING).exclude(node__in=busy)
    return list(wanted.values_list("node", flat=True).distinct())


@transaction.atomic
def _judge(cluster: Cluster, item: Item, heard: Sequence[Heard], now: datetime) -> None:
    derived = _derived(cluster, item, heard, now)
    times = [one.observed_at for one in heard if one.observed_at is not None]
    row = lock_scope_row(cluster, item, "", now=now)
    gap = timedelta(seconds=cluster.min_settle_gap_s)
    facts = [Fact(item.key, "", name, said, item.facts[name], max(times)) for name, said in derived.facts.items()]
    after = judge_derived(
        as_state(row), item, facts, list(_problems(item, derived)), observed_at=max(times), min_gap=gap, now=now
    )
    after.observed_at = min(times)
    after.valid_until = valid_until(min(times), item.cadence, timedelta(seconds=cluster.interval_s), item)
    after.evidence = keep_text("nodes", derived.said, now=now)
    write_back(row, after)


def _derived(cluster: Cluster, item: Item, heard: Sequence[Heard], now: datetime) -> Derived:
    words = [one.word for one in heard]
    if item.key == LOSSLESS:
        return lossless_classes(words, switches_stated=_switches_are_stated(cluster, now))
    return FROM_NODES[item.key](words)


def _switches_are_stated(cluster: Cluster, now: datetime) -> bool:
    """Whether somebody's statement about the network, switch settings included, is in force."""
    rows = ScopeState.objects.filter(cluster=cluster, scope=Scope.CLUSTER, item=_TOPOLOGY, subject="")
    return rows.filter(raw=Verdict.PASS, valid_until__gt=now).exists()


def _problems(item: Item, derived: Derived) -> Iterable[Problem]:
    if derived.problem:
        yield Problem(item.key, None, ProblemKind.MISSING, derived.problem)
