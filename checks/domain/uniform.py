"""Compare nodes with one another, for items that must be the same on all: a question that no node can answer alone.

Nodes are compared within one group, e.g. those of one profile and part number. The odd ones are those outside the
strict majority; without one, all are named, because nobody knows which of them is right. A node whose value is missing
or expired is *unknown*.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from checks.domain.answers import Why
from checks.domain.items import Item
from checks.domain.verdicts import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Member:
    """One subject of one node: the group that it is compared within, and its identity values (none: not known)."""

    node: str
    group: str
    subject: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


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
