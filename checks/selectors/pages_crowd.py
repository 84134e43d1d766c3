"""Clusters with more nodes than one can look at one by one: the summaries say which nodes have something to say.

4,096 nodes have 670,000 rows, and reading them all takes seconds. Their summaries are 4,096 rows; only of nodes that
are not as they should be the single rows are read, and of those only what deviates.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, F, Func, Q, Value

from checks.domain.verdicts import RANK, ROLL_UP_ORDER, Verdict
from checks.models import Cluster
from checks.selectors.pages_cluster import nodes_at
from checks.selectors.pages_matrix import MatrixRow
from checks.selectors.pages_verdicts import WAITS, cluster_ranks

_DEVIATING = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN)
# A failure or a warning in any layer; what is unknown and blocks is counted apart, what a start will ask is no news.
_SPEAKS = "$.* ? (@.fail > 0 || @.warn > 0)"


@dataclass(frozen=True, slots=True)
class Speaker:
    """A node with something to say, by its summary: rows that stop health, those of them that fail, and its age."""

    id: UUID
    hostname: str
    place: str
    bad: int
    failed: int
    tick_until: datetime | None
    daily_until: datetime | None

    def ended(self, now: datetime) -> tuple[str, ...]:
        """Cadences of which the node has evidence that is too old."""
        ends = (("tick", self.tick_until), ("daily", self.daily_until))
        return tuple(cadence for cadence, until in ends if until is not None and until < now)


def speakers_of(cluster: Cluster, *, place: str = "", now: datetime) -> tuple[Speaker, ...]:
    """The nodes that stop health, fail or warn anywhere, are not believed or went silent; the worst in front.

    One statement. What is merely unknown and stops no health answer is no reason to be among them.
    """
    speaks = Func(F("readiness__layers"), Value(_SPEAKS), function="jsonb_path_exists", output_field=BooleanField())
    ended = Q(readiness__tick_until__lt=now) | Q(readiness__daily_until__lt=now)
    nodes = nodes_at(cluster, place).filter(Q(readiness__health_bad__gt=0) | ended | ~Q(trouble="") | Q(speaks))
    fields = ("readiness__health_bad", "readiness__health_failed", "readiness__tick_until", "readiness__daily_until")
    found = [Speaker(*row) for row in nodes.values_list("id", "hostname", "place", *fields)]
    return tuple(sorted(found, key=lambda node: (-node.failed, -node.bad, not node.ended(now), node.hostname)))


def silent_at(speakers: Collection[Speaker], *, now: datetime) -> dict[str, dict[str, int]]:
    """For each cadence how many nodes of which place have evidence of it that is too old."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for node in speakers:
        for cadence in node.ended(now):
            found[cadence][node.place] += 1
    return {cadence: dict(places) for cadence, places in found.items()}


def deviations(cluster: Cluster, speakers: Collection[Speaker], *, now: datetime) -> tuple[MatrixRow, ...]:
    """Items that do not hold on *speakers*, counted by place, each node with its worst subject. One statement.

    What is stale is left out: a silent node is one line of its own, not one of each item.
    """
    rows = cluster_ranks([cluster], now=now).filter(shadow=False, raw__in=[each.value for each in _DEVIATING])
    news = rows.exclude(WAITS).exclude(rank=RANK[Verdict.STALE])
    inner, values = news.values("item", "node_id", "rank").query.sql_with_params()
    statement = f"""
        SELECT item, worst, place, count(*) FROM (
            SELECT s.item, p.place, s.node_id, min(s.rank) AS worst
            FROM unnest(%s::uuid[], %s::text[]) AS p(id, place) JOIN ({inner}) s ON s.node_id = p.id
            GROUP BY 1, 2, 3
        ) AS w GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    """  # noqa: S608  (the inner statement carries its values)
    with connection.cursor() as cursor:
        cursor.execute(statement, ([node.id for node in speakers], [node.place for node in speakers], *values))
        return _rows(cursor.fetchall())


def _rows(counted: Collection[tuple[str, int, str, int]]) -> tuple[MatrixRow, ...]:
    found: dict[str, dict[Verdict, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for item, rank, place, nodes in counted:
        found[item][ROLL_UP_ORDER[rank]][place] = nodes
    nothing: Mapping[str, int] = {}
    return tuple(MatrixRow(item, by_verdict, nothing) for item, by_verdict in found.items())
