"""What the gate's second statement brings, typed, and as the domain wants it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec

from checks.domain.answers import Why
from checks.domain.evaluation import judge
from checks.domain.freshness import valid_until
from checks.domain.items import COMPARISONS, Item
from checks.domain.profiles import Ruleset
from checks.domain.readiness import BadRow, Clean, NodeSummary
from checks.domain.uniform import PART, Member, odd_ones, uniform_facts
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import Cadence, Owner, Purpose, Reason, Verdict
from checks.selectors.gate_context import GateCluster
from checks.selectors.gate_sql import ALL_NODES, NAMED_NODES
from checks.selectors.prepared import fetch_row
from checks.selectors.rules import rules_in_force

#: Rules by hardware profile.
Rules: TypeAlias = Mapping[str, Ruleset]

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
    start_until: datetime | None
    measuring_until: datetime | None


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
    seen_at: datetime | None
    valid_until: datetime | None
    since: datetime


class Compared(msgspec.Struct, frozen=True):
    """Subjects (``host subject``) with the same facts of one item, where others of their profile and part differ."""

    item: str
    profile: str
    facts: dict[str, Any]
    members: list[str]


class GateRows(msgspec.Struct, frozen=True):
    """Everything that one question needs of the database; None where there is nothing.

    Nothing speaks against the *clean* nodes before ``clean_until``; *missing* are names that nobody enrolled. The
    clock alone changes none of this before ``same_until`` has passed; *snapshot* names the state that was read.
    """

    snapshot: str
    same_until: datetime | None
    clean: tuple[str, ...] | None
    clean_until: datetime | None
    others: list[NodeRow] | None
    bad: list[BadState] | None
    compared: list[Compared] | None
    missing: list[str] | None


_DECODER: Final = msgspec.json.Decoder(GateRows)


def rules_of(cluster: GateCluster) -> Rules:
    """The rules in force for each hardware profile of the cluster; from this process's memory once it has seen them."""
    return {
        profile: rules_in_force(name, cluster_id=cluster.id, profile=profile)
        for profile, name in cluster.judged_under.items()
    }


def read_rows(
    cluster: GateCluster, nodes: Sequence[str] | None, *, purpose: Purpose, rules: Rules, now: datetime
) -> GateRows:
    """One statement: the asked nodes (None: all that are not retired) and what closes the question."""
    parameters = {
        "cluster": cluster.id,
        "profile": cluster.profile,
        "rules": msgspec.json.encode(cluster.judged_under).decode(),
        "nodes": list(nodes or ()),
        "level": _LEVELS[purpose],
        "uniform": sorted(frozenset().union(*(one.compared for one in rules.values()))),
        "now": now,
    }
    row = fetch_row(ALL_NODES if nodes is None else NAMED_NODES, parameters)
    assert row is not None  # noqa: S101  (an aggregate has one row)
    return _DECODER.decode(row[0])


def clean_of(rows: GateRows, *, odd: Iterable[Why]) -> Clean:
    """The nodes against which nothing speaks, those that differ from their like left out."""
    differ, clean = {why.node for why in odd}, rows.clean or ()
    return Clean(tuple(name for name in clean if name not in differ) if differ else clean, rows.clean_until)


def summaries_of(
    rows: GateRows, names: Mapping[str, str], *, odd: Iterable[Why], purpose: Purpose
) -> Iterator[NodeSummary]:
    """Every node that the domain has to look at; *names* are the rules in force by profile."""
    for row in rows.others or ():
        yield _summary_of(row, names, purpose=purpose)
    differ = {why.node for why in odd}
    for name in rows.clean or () if differ else ():
        if name in differ:
            yield _but_for_its_like(name)


def bad_rows_of(rows: GateRows, rules: Rules, *, interval: timedelta, now: datetime) -> Iterator[BadRow]:
    """The rows that close the question, with what was measured and what it should have been."""
    nodes = {row.hostname: row for row in rows.others or ()}
    for state in rows.bad or ():
        node = nodes[state.hostname]
        if node.profile in rules:
            yield _bad_row_of(state, node, rules[node.profile].items.get(state.item), interval=interval, now=now)


def odd_of(compared: Iterable[Compared], rules: Rules) -> Iterator[Why]:
    """Who differs from the majority of its profile and part, item by item.

    A node of a profile without rules in force is left out: it is *unknown* as it is.
    """
    members: dict[tuple[str, str], list[Member]] = {}
    for one in (one for one in compared if one.profile in rules):
        item = rules[one.profile].items[one.item]
        values = {name: str(one.facts[name]) for name in uniform_facts(item) if name in one.facts}
        group = f"{one.profile} {one.facts.get(PART, '')}"
        found = members.setdefault((one.profile, one.item), [])
        for node, _, subject in (text.partition(" ") for text in one.members):
            found.append(Member(node, group, subject, values))
    for (profile, key), found in members.items():
        yield from odd_ones(rules[profile].items[key], found)


def odd_among(cluster: GateCluster, nodes: Sequence[str], *, now: datetime) -> tuple[Why, ...]:
    """Who of *nodes* differs from its like; one statement."""
    rules = rules_of(cluster)
    rows = read_rows(cluster, nodes, purpose=Purpose.START, rules=rules, now=now)
    return tuple(odd_of(rows.compared or (), rules))


def _summary_of(row: NodeRow, names: Mapping[str, str], *, purpose: Purpose) -> NodeSummary:
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
        measuring_until=row.measuring_until,
    )


def _but_for_its_like(name: str) -> NodeSummary:
    """A node that is clean by itself, and differs from the others: the comparison is all that speaks against it."""
    return NodeSummary(
        node=name, judged_under="", rules="", expected=frozenset(), until={}, bad=0, failed=0, pass_physical=1,
        pass_system=1,
    )  # fmt: skip


def _bad_row_of(state: BadState, node: NodeRow, item: Item | None, *, interval: timedelta, now: datetime) -> BadRow:
    value, threshold = _shown(state, item, now=now)
    return BadRow(
        node=state.hostname,
        layer=state.layer,
        item=state.item,
        subject=state.subject,
        verdict=Verdict(state.raw),
        reason=Reason(state.reason or Reason.NOT_MEASURED),
        cadence=Cadence(state.cadence),
        observed_at=state.seen_at,
        until=_good_until(state, node, item, interval=interval),
        value=value,
        threshold=threshold,
        remedy=item.en.remedy if item else "",
        owner=item.owner if item else Owner.PLATFORM,
        identifies=bool(item and item.identity),
    )


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
