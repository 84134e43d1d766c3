"""What the gate's second statement brings, typed, and as the domain wants it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec
from django.db import connection

from checks.domain.answers import Why
from checks.domain.evaluation import judge
from checks.domain.freshness import valid_until
from checks.domain.items import COMPARISONS, Item, Operator
from checks.domain.profiles import Ruleset
from checks.domain.readiness import BadRow, NodeSummary
from checks.domain.uniform import Member, odd_ones
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import NODE_HELD, Cadence, Owner, Purpose, Reason, Verdict
from checks.models import Cluster
from checks.selectors.gate_sql import ALL_NODES, NAMED_NODES
from checks.selectors.rules import rules_in_force

#: Rules by hardware profile.
Rules: TypeAlias = Mapping[str, Ruleset]

_HEALTH_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})
_LEVELS: Final = {Purpose.HEALTH: 2, Purpose.START: 1, Purpose.RESTART: 1}


class NodeRow(msgspec.Struct, array_like=True, frozen=True):
    """One asked node's summary, in the order of ``gate_sql``."""

    hostname: str
    profile: str
    trouble: str
    origin: str
    judged_under: str
    tick_expected: int
    daily_expected: int
    tick_until: datetime | None
    daily_until: datetime | None
    health_bad: int
    health_failed: int
    start_bad: int
    pass_physical: int
    pass_system: int


class BadState(msgspec.Struct, frozen=True):
    """One row that closes the question."""

    hostname: str
    item: str
    subject: str
    layer: str
    cadence: str
    raw: str
    reason: str
    detail: str
    value: dict[str, Any]
    observed_at: datetime | None
    valid_until: datetime | None
    since: datetime


class Compared(msgspec.Struct, frozen=True):
    """Subjects (node, subject) with the same values of one item, in a group that knows other values too."""

    item: str
    profile: str
    part: str | None
    facts: dict[str, Any] | None
    members: list[tuple[str, str]]


class GateRows(msgspec.Struct, frozen=True):
    """Everything that one question needs of the database; None where there is nothing."""

    nodes: list[NodeRow] | None
    bad: list[BadState] | None
    compared: list[Compared] | None


_DECODER: Final = msgspec.json.Decoder(GateRows)


def rules_of(cluster: Cluster) -> Rules:
    """The rules in force for each hardware profile of the cluster; from this process's memory once it has seen them."""
    return {
        profile: rules_in_force(name, cluster_id=cluster.pk, profile=profile)
        for profile, name in cluster.judged_under.items()
    }


def read_rows(
    cluster: Cluster, nodes: Sequence[str] | None, *, purpose: Purpose, rules: Rules, now: datetime
) -> GateRows:
    """One statement: the asked nodes (None: all that are not retired) and what closes the question."""
    parameters: dict[str, Any] = {
        "cluster": cluster.pk,
        "profile": cluster.profile,
        "nodes": None if nodes is None else list(nodes),
        "level": _LEVELS[purpose],
        "uniform": msgspec.json.encode(_uniform_facts(rules)).decode(),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(ALL_NODES if nodes is None else NAMED_NODES, parameters)
        (text,) = cursor.fetchone()
    return _DECODER.decode(text)


def summary_of(row: NodeRow, names: Mapping[str, str], *, purpose: Purpose) -> NodeSummary:
    """The node for the domain; *names* are the rules in force by profile."""
    expected = {Cadence.TICK: row.tick_expected, Cadence.DAILY: row.daily_expected}
    until = {Cadence.TICK: row.tick_until, Cadence.DAILY: row.daily_until}
    return NodeSummary(
        node=row.hostname,
        judged_under=row.judged_under,
        rules=names.get(row.profile, ""),
        expected=frozenset(cadence for cadence, count in expected.items() if count),
        until={cadence: end for cadence, end in until.items() if end is not None},
        bad=row.health_bad if purpose is Purpose.HEALTH else row.start_bad,
        failed=row.health_failed,
        pass_physical=row.pass_physical,
        pass_system=row.pass_system,
        trouble=_trouble(row.trouble),
        replayed=row.origin != "live",
    )


def bad_row_of(state: BadState, node: NodeRow, item: Item | None, *, interval: timedelta, now: datetime) -> BadRow:
    """The row for the domain, with what it measured and what it should have been."""
    value, threshold = _shown(state, item, now=now)
    return BadRow(
        node=state.hostname,
        layer=state.layer,
        item=state.item,
        subject=state.subject,
        verdict=Verdict(state.raw),
        reason=Reason(state.reason or Reason.NOT_MEASURED),
        cadence=Cadence(state.cadence),
        observed_at=state.observed_at,
        until=_good_until(state, node, item, interval=interval),
        value=value,
        threshold=threshold,
        remedy=item.en.remedy if item else "",
        owner=item.owner if item else Owner.PLATFORM,
    )


def odd_of(compared: Iterable[Compared], rules: Rules) -> Iterator[Why]:
    """Who differs from the majority of its profile and part, item by item."""
    members: dict[tuple[str, str], list[Member]] = {}
    for one in compared:
        values = {name: str(value) for name, value in (one.facts or {}).items()}
        group = f"{one.profile} {one.part or ''}"
        found = members.setdefault((one.profile, one.item), [])
        found.extend(Member(node, group, subject, values) for node, subject in one.members)
    for (profile, key), found in members.items():
        yield from odd_ones(rules[profile].items[key], found)


def _uniform_facts(rules: Rules) -> list[dict[str, object]]:
    """Items that stop *health* when nodes differ in them, with the facts that are compared."""
    facts: dict[str, set[str]] = {}
    for ruleset in rules.values():
        for item in ruleset.items.values():
            if item.blocks_gates and item.scope in NODE_HELD and item.cadence in _HEALTH_CADENCES:
                names = {one.fact for one in item.criteria if one.operator is Operator.UNIFORM}
                facts.setdefault(item.key, set()).update(names)
    return [{"item": key, "facts": sorted(names)} for key, names in sorted(facts.items()) if names]


def _good_until(state: BadState, node: NodeRow, item: Item | None, *, interval: timedelta) -> datetime | None:
    """The end of the row's evidence: the later of its own and its cadence's; a re-check renews its own row alone."""
    if state.observed_at is None:
        return None
    own = state.valid_until or valid_until(state.observed_at, Cadence(state.cadence), interval, item)
    stamp = {"tick": node.tick_until, "daily": node.daily_until}.get(state.cadence)
    return max((end for end in (own, stamp) if end is not None), default=None)


def _shown(state: BadState, item: Item | None, *, now: datetime) -> tuple[Scalar | None, Threshold | None]:
    """The value that missed and its threshold; the judge's own words where no single value says it."""
    missed = judge(item, state.value, now=now).missed if item and state.raw == Verdict.FAIL else ()  # type: ignore[arg-type]
    if not item or not missed:
        return state.detail or None, None
    criterion = item.all_criteria[missed[0]]
    facts: Mapping[str, Scalar] = state.value.get("facts", {})
    if criterion.operator not in COMPARISONS or criterion.fact not in facts:
        return state.detail or None, criterion.threshold
    other = facts.get(criterion.threshold_fact) if criterion.threshold_fact else None
    return facts[criterion.fact], criterion.threshold if other is None else other


def _trouble(text: str) -> Reason | None:
    """Why the node's evidence is not believed; what this code does not know is no reason to believe it."""
    if not text:
        return None
    try:
        return Reason(text)
    except ValueError:
        return Reason.HARDWARE_CHANGED
