"""What pages show of the links between nodes: who is sound, who is to blame, and what a node found with whom."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from checks.domain.freshness import is_stale
from checks.domain.verdicts import RANK, Verdict
from checks.models import Cluster, Node
from checks.selectors.links import ends_of, found_lately, link_states
from checks.selectors.rules import ruleset_for

#: Trials of one node that a page shows.
_MOST_TRIALS = 12
_SHOWN = {True: Verdict.PASS, False: Verdict.FAIL, None: Verdict.UNKNOWN}


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One node or one link, by the names of its ends, as it counts now."""

    ends: tuple[str, ...]
    verdict: Verdict
    value: dict[str, Any]
    reason: str
    detail: str
    measured_at: datetime | None


@dataclass(frozen=True, slots=True)
class TrialRow:
    """What a node found with one partner."""

    partner: str
    verdict: Verdict
    #: Gb/s of the slowest card; None where nothing was measured.
    rate: float | None
    problem: str
    ended_at: datetime


def link_rows(cluster: Cluster, node: Node | None = None, *, now: datetime) -> list[LinkRow]:
    """Every node and link of *cluster* that was measured (of *node* alone, where given), worst first."""
    rows = [(ends_of(row.subject), row) for row in link_states(cluster, node)]
    names = _names({end for ends, _ in rows for end in ends})
    shown = [
        LinkRow(
            ends=tuple(sorted(names.get(end, "") for end in ends)),
            verdict=Verdict.STALE if is_stale(row.valid_until, now) else Verdict(row.raw),
            value=row.value, reason=row.reason, detail=row.detail, measured_at=row.observed_at,
        )
        for ends, row in rows
    ]  # fmt: skip
    return sorted(shown, key=lambda row: (RANK[row.verdict], row.ends))


def trials_of_node(node: Node, *, now: datetime) -> list[TrialRow]:
    """The last trials of *node*, newest first."""
    me, found = str(node.pk), found_lately(node.cluster, ruleset_for(node.cluster), now)
    mine = [one for one in reversed(found) if me in one.pair][:_MOST_TRIALS]
    names = _names({end for one in mine for end in one.pair})
    return [
        TrialRow(
            partner=next(names.get(end, "") for end in one.pair if end != me), verdict=_SHOWN[one.good],
            rate=_number(one.facts.get("host_bandwidth")), problem=one.problem, ended_at=one.ended_at,
        )
        for one in mine
    ]  # fmt: skip


def _names(nodes: Iterable[str]) -> dict[str, str]:
    rows = Node.objects.filter(pk__in=[UUID(node) for node in nodes]).values_list("pk", "hostname")
    return {str(pk): hostname for pk, hostname in rows}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
