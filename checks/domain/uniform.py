"""Compare nodes with one another, for items that must be the same on all: a question that no node can answer alone.

Nodes are compared within one group, e.g. those of one profile and part number. The odd ones are those outside the
strict majority; without one, all are named, because nobody knows which of them is right. A node whose value is missing
or expired is *unknown*.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from checks.domain.answers import Why
from checks.domain.canonical import Tag, digest
from checks.domain.items import Item, Operator
from checks.domain.units import Scalar
from checks.domain.verdicts import NODE_HELD, Cadence, Reason, Verdict

#: The fingerprint of a node of which nothing was measured that is compared.
NOTHING_TO_COMPARE: Final = "none"
#: Subjects of one item are compared with those of the same part alone; *not known* is a part of its own.
PART: Final = "part_number"
_CADENCES: Final = frozenset({Cadence.TICK, Cadence.DAILY})


@dataclass(frozen=True, slots=True)
class Member:
    """One subject of one node: the group that it is compared within, and its identity values (none: not known)."""

    node: str
    group: str
    subject: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


def uniform_facts(item: Item) -> tuple[str, ...]:
    """Names of the facts of *item* that must be the same on all nodes."""
    return tuple(criterion.fact for criterion in item.criteria if criterion.operator is Operator.UNIFORM)


def is_compared(item: Item) -> bool:
    """Whether nodes that differ in *item* stop *health*."""
    return bool(item.blocks_gates and item.scope in NODE_HELD and item.cadence in _CADENCES and uniform_facts(item))


def fingerprint(measured: Iterable[tuple[Item, Mapping[str, Scalar]]]) -> str:
    """What one node brings to a comparison, as one text: its subjects' *measured* facts of the items compared.

    Nodes of one profile and one fingerprint do not differ in any of them. Empty where that is not certain: a fact is
    missing, or two subjects of one item and part differ already. What only seems to differ (another item was measured)
    is another fingerprint, and is looked at closely.
    """
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    for item, facts in measured:
        names = uniform_facts(item)
        if any(name not in facts for name in names):
            return ""
        values = tuple(str(facts[name]) for name in names)
        if seen.setdefault((item.key, str(facts.get(PART, ""))), values) != values:
            return ""
    if not seen:
        return NOTHING_TO_COMPARE
    return _digest(tuple((*key, *values) for key, values in sorted(seen.items())))


@lru_cache(maxsize=1024)
def _digest(said: tuple[tuple[str, ...], ...]) -> str:
    """Nodes that are alike say the same, so it is hashed once."""
    return digest(Tag.UNIFORM, said)


def odd_ones(item: Item, members: Iterable[Member]) -> tuple[Why, ...]:
    """A reason for each member that differs (*fail*) or is not known (*unknown*), group by group."""
    groups: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        groups[member.group].append(member)
    return tuple(why for _, group in sorted(groups.items()) for why in _odd(item, group))


def _odd(item: Item, group: list[Member]) -> Iterable[Why]:
    counts = Counter(_seen(member) for member in group if member.values)
    usual = next((seen for seen, count in counts.items() if 2 * count > counts.total()), None)
    for member in group:
        if not member.values:
            yield _why(item, member, Reason.NOT_MEASURED, Verdict.UNKNOWN, usual)
        elif _seen(member) != usual:
            yield _why(item, member, Reason.NOT_UNIFORM, Verdict.FAIL, usual)


def _seen(member: Member) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(member.values.items()))


def _why(item: Item, member: Member, code: Reason, verdict: Verdict, usual: str | None) -> Why:
    return Why(
        code=code,
        verdict=verdict,
        node=member.node,
        layer=item.layer,
        item=item.key,
        subject=member.subject,
        value=_seen(member) or None,
        threshold=usual,
        remedy=item.en.remedy,
        owner=item.owner,
    )
