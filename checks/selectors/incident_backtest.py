"""Days of values of one fact of one item, good ones against ones from before an incident; what a change would do."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from checks.domain.evaluation import judge
from checks.domain.incidents.backtest import BEFORE, KEPT, BackTest, Tally, asks_for_more
from checks.domain.incidents.kinds import SEEING
from checks.domain.items import Criterion
from checks.domain.memory import Value
from checks.domain.verdicts import Verdict
from checks.models import Cluster, NodeItemState, ThresholdProposal
from checks.selectors.pages_verdicts import live_nodes, node_states
from checks.selectors.rules import build_ruleset, profile_of

# From the day that begins at most two days before an incident to the day of its start a value should have warned; after
# that day, and until the incident ended, the node was known to be bad: such a day counts as nothing. Only incidents
# count that the item saw, or should have; where one names a part, only that part.
_TALLIES: Final = """
    WITH seen AS (
        SELECT t.node_id, t.part, date_trunc('day', i.started_at - %(before)s, 'UTC') AS first,
            date_trunc('day', i.started_at, 'UTC') AS started, COALESCE(i.stable_at, %(now)s) AS ended
        FROM checks_incidentitemlink l
        JOIN checks_incident i ON i.id = l.incident_id AND i.cluster_id = %(cluster)s AND i.standing <> 'merged'
        JOIN checks_incidentnode t ON t.incident_id = i.id AND t.node_id IS NOT NULL
        WHERE l.item = %(item)s AND l.relation = ANY(%(seeing)s)
    ), days AS (
        SELECT CASE WHEN %(least)s THEN v.least ELSE v.greatest END AS value,
            EXISTS (SELECT FROM seen s WHERE s.node_id = v.node_id AND (v.subject = '' OR s.part IN ('', v.subject))
                    AND v.at > s.started AND v.at <= s.ended) AS during,
            EXISTS (SELECT FROM seen s WHERE s.node_id = v.node_id AND (v.subject = '' OR s.part IN ('', v.subject))
                    AND v.at >= s.first AND v.at <= s.started) AS before
        FROM checks_valuerollup v JOIN checks_node n ON n.id = v.node_id AND n.cluster_id = %(cluster)s
        WHERE v.item = %(item)s AND v.name = %(fact)s AND v.grain = 'day' AND v.at >= %(since)s
    )
    SELECT value, count(*) FILTER (WHERE NOT before), count(*) FILTER (WHERE before)
    FROM days WHERE NOT during GROUP BY value ORDER BY value
"""


@dataclass(frozen=True, slots=True)
class Effect:
    """What another threshold would do now, row by row: (verdict now, verdict then) -> rows that change."""

    changes: Mapping[tuple[str, str], int]
    rows: int

    @property
    def would_fail(self) -> int:
        """Rows that would begin to fail."""
        return sum(count for (_, after), count in self.changes.items() if after == Verdict.FAIL)

    @property
    def would_pass(self) -> int:
        """Rows that would fail no longer."""
        return sum(count for (before, _), count in self.changes.items() if before == Verdict.FAIL)


@dataclass(frozen=True, slots=True)
class Shadow:
    """How far the shadow of a proposal has come: rows of the item, and those measured since it was made."""

    measured: int
    rows: int

    @property
    def is_long_enough(self) -> bool:
        """Whether at least half of the rows were measured under it."""
        return self.rows > 0 and 2 * self.measured >= self.rows


def back_test(cluster: Cluster, item: str, criterion: Criterion, *, now: datetime) -> BackTest:
    """The worst value of every subject on every day that is kept; one statement."""
    given: dict[str, Any] = {
        "cluster": cluster.pk, "item": item, "fact": criterion.fact, "before": BEFORE, "since": now - KEPT, "now": now,
        "least": asks_for_more(criterion.operator), "seeing": sorted(SEEING),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_TALLIES, given)
        rows = cursor.fetchall()
    return BackTest(criterion.operator, tuple(Tally(*row) for row in rows))


def overrides_with(cluster: Cluster, proposal: ThresholdProposal) -> dict[str, Any]:
    """The cluster's thresholds with the proposed one in its place."""
    number = int(proposal.threshold) if proposal.threshold.is_integer() else proposal.threshold
    stated = {"threshold": number, "reason": proposal.reason, "source": f"proposal {proposal.pk or 'to come'}"}
    return dict(cluster.overrides) | {
        proposal.item: dict(cluster.overrides.get(proposal.item, {})) | {proposal.fact: stated}
    }


def effect_of(cluster: Cluster, proposal: ThresholdProposal, *, now: datetime) -> Effect:
    """What the proposed threshold would change now: the very judging that follows once it is accepted.

    Raises:
        InvalidOverride: it fits nothing in the catalogue.
    """
    overrides = overrides_with(cluster, proposal)
    changes: Counter[tuple[str, str]] = Counter()
    rows = _rows(cluster, proposal.item)
    for row in rows:
        rules = build_ruleset(profile_of(cluster, row.node), overrides, cluster.training_env)
        value = Value(row.value)  # type: ignore[misc]
        after = judge(rules.items[row.item], value, now=now).verdict if rules.applies(row.item) else Verdict.NA
        if after != row.raw:
            changes[row.raw, after.value] += 1
    return Effect(dict(changes), len(rows))


def shadow_of(proposal: ThresholdProposal, *, now: datetime) -> Shadow:
    """How much was measured since the threshold was proposed."""
    rows = node_states(live_nodes(proposal.cluster), now=now).filter(item=proposal.item).exclude(raw=Verdict.NA)
    times = list(rows.values_list("measured_at", flat=True))
    return Shadow(sum(at is not None and at > proposal.proposed_at for at in times), len(times))


def open_proposals(cluster: Cluster, item: str = "") -> list[ThresholdProposal]:
    """Proposals that could still come into force: the newest of each fact, while nobody accepted it."""
    found = ThresholdProposal.objects.filter(cluster=cluster, **({"item": item} if item else {}))
    newest = found.order_by("item", "fact", "-id").distinct("item", "fact")
    return [one for one in newest.select_related("proposed_by", "cluster", "approval") if not hasattr(one, "approval")]


def _rows(cluster: Cluster, item: str) -> list[NodeItemState]:
    rows = NodeItemState.objects.filter(node__in=live_nodes(cluster), item=item)
    return list(rows.select_related("node").only("item", "subject", "raw", "value", "node__profile"))
