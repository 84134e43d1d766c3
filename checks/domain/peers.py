"""A subject beside its peers: its share of the middle value among the loaded subjects of its node, in one report.

A slow GPU shows only next to others in the same load, and only a report knows all of them at one moment. So the share
is worked out in step one and kept with the row's facts; what share is enough stands in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from checks.domain.facts import Fact
from checks.domain.items import Item
from checks.domain.loading import LOADED_PERCENT
from checks.domain.units import Scalar

_DIGITS = 4


def with_shares(item: Item, said: Mapping[str, dict[str, Scalar]]) -> Mapping[str, dict[str, Scalar]]:
    """The facts of each subject, and its shares where it is loaded; an idle subject has none, and is in no middle."""
    if not item.shares:
        return said
    loaded = {subject: facts for subject, facts in said.items() if _is_loaded(facts)}
    found = {subject: dict(facts) for subject, facts in said.items()}
    for share, name in item.shares.items():
        values = {subject: number for subject, facts in loaded.items() if (number := _number(facts.get(name)))}
        middle = median(values.values()) if values else 0.0
        for subject, number in values.items():
            found[subject][share] = round(number / middle, _DIGITS)
    return found


def shares_of(item: Item, facts: Iterable[Fact]) -> list[Fact]:
    """The same as further facts, for a report whose facts are not sorted out by subject yet."""
    if not item.shares:
        return []
    by_subject: dict[str, dict[str, Scalar]] = {}
    latest: dict[str, Fact] = {}
    for fact in sorted(facts, key=lambda one: one.observed_at):
        if fact.unit == item.facts.get(fact.name):
            by_subject.setdefault(fact.subject, {})[fact.name] = fact.value
            latest[fact.subject] = fact
    return [
        Fact(item.key, subject, share, held[share], item.facts[share], latest[subject].observed_at)
        for subject, held in with_shares(item, by_subject).items()
        for share in item.shares
        if share in held
    ]


def _is_loaded(facts: Mapping[str, Scalar]) -> bool:
    utilization = _number(facts.get("utilization"))
    return utilization is not None and utilization >= LOADED_PERCENT


def _number(value: Scalar | None) -> float | None:
    """A number above zero: the middle of nothing else could be divided by."""
    if isinstance(value, bool | str) or value is None or value <= 0:
        return None
    return value
