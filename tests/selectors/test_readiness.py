"""The gate's SQL names sound nodes without reading each; this holds it to what the domain decides of every one."""

from itertools import product
from typing import Any

import pytest

from checks.domain.readiness import NodeSummary, Question, decide
from checks.domain.verdicts import Cadence, Decision, Purpose, Reason
from checks.models import Cluster, Node, NodeReadiness
from checks.selectors.gate_context import GateCluster
from checks.selectors.gate_rows import read_rows, rules_of
from tests.lab import NOON, SECOND, lab

pytestmark = pytest.mark.django_db

ENDS = (None, NOON - SECOND, NOON, NOON + SECOND)
# Everything that can speak against a node, in every combination: 2,048 nodes.
STATES: list[dict[str, Any]] = [
    dict(
        zip(("tick", "ticks", "daily", "dailies", "rules", "trouble", "bad", "physical", "system"), values, strict=True)
    )
    for values in product(ENDS, (0, 40), ENDS, (0, 8), (True, False), ("", "boot_conflict"), (0, 1), (0, 1), (0, 1))
]


def context_of(cluster: Cluster) -> GateCluster:
    return GateCluster(cluster.pk, cluster.slug, cluster.profile, cluster.interval_s, cluster.judged_under)


def store(cluster: Cluster) -> None:
    """A node in each state, named by its number."""
    rules = cluster.judged_under[cluster.profile]
    nodes = Node.objects.bulk_create(
        Node(cluster=cluster, hostname=f"n{number}", enrolled_at=NOON, trouble=state["trouble"])
        for number, state in enumerate(STATES)
    )
    NodeReadiness.objects.bulk_create(
        NodeReadiness(
            node=node, cluster=cluster, tick_until=state["tick"], tick_expected=state["ticks"],
            daily_until=state["daily"], daily_expected=state["dailies"],
            judged_under=rules if state["rules"] else "old",
            health_bad=state["bad"], health_failed=state["bad"], health_pass_physical=state["physical"],
            health_pass_system=state["system"],
        )
        for node, state in zip(nodes, STATES, strict=True)
    )  # fmt: skip


def domain_says(state: dict[str, Any]) -> Decision:
    """What the domain decides of one node in that state."""
    until = {Cadence.TICK: state["tick"], Cadence.DAILY: state["daily"]}
    expected = {Cadence.TICK: state["ticks"], Cadence.DAILY: state["dailies"]}
    summary = NodeSummary(
        node="n", judged_under="now" if state["rules"] else "old", rules="now",
        expected=frozenset(cadence for cadence, count in expected.items() if count),
        until={cadence: end for cadence, end in until.items() if end}, bad=state["bad"], failed=state["bad"],
        pass_physical=state["physical"], pass_system=state["system"],
        trouble=Reason(state["trouble"]) if state["trouble"] else None,
    )  # fmt: skip
    return decide(Question(Purpose.HEALTH, "lab"), [summary], [], now=NOON).decision


def test_the_nodes_that_sql_calls_sound_are_exactly_those_that_the_domain_calls_ready() -> None:
    cluster = lab()
    store(cluster)
    context = context_of(cluster)

    rows = read_rows(context, None, purpose=Purpose.HEALTH, rules=rules_of(context), now=NOON)

    ready = {f"n{number}" for number, state in enumerate(STATES) if domain_says(state) is Decision.READY}
    assert 0 < len(ready) < len(STATES)
    assert set(rows.clean or ()) == ready
    assert {row.hostname for row in rows.others or ()} == {f"n{number}" for number in range(len(STATES))} - ready


def test_a_start_is_never_answered_from_the_rules_of_health() -> None:
    cluster = lab()
    store(cluster)
    context = context_of(cluster)

    rows = read_rows(context, None, purpose=Purpose.START, rules=rules_of(context), now=NOON)

    assert rows.clean is None
