"""A cluster's own thresholds, laid over those of the catalogue and the profile.

The stored form is ``{"<item>": {"<fact>": {"threshold": …, "reason": …, "source": …}}}``, and
``{"thresholds": {"<name>": …}}`` for a threshold that the profile states for several items. ``settings`` are items of
the cluster's own (see `setting_items`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checks.domain.errors import InvalidOverride
from checks.domain.item_checks import threshold_mistakes
from checks.domain.items import Criterion, Item, Operator
from checks.domain.setting_items import SETTINGS, SettingRule, read_settings
from checks.domain.units import Threshold

_NAMED = "thresholds"
_NO_ITEMS = frozenset({_NAMED, SETTINGS})


@dataclass(frozen=True, slots=True)
class Overrides:
    """Thresholds, and settings that are items here: reasons and sources are texts and decide no verdict."""

    named: Mapping[str, Threshold] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Threshold]] = field(default_factory=dict)
    settings: tuple[SettingRule, ...] = ()

    @classmethod
    def read(cls, document: Mapping[str, object], items: Mapping[str, Item]) -> Overrides:
        """The overrides in *document*.

        Raises:
            InvalidOverride: it names an item, a fact or a kind of threshold that the catalogue does not have, or asks
                for a setting that no agent could read.
        """
        named = {name: _named(name, held, items) for name, held in _table(document.get(_NAMED, {}), _NAMED).items()}
        facts = {key: _of_item(key, held, items) for key, held in document.items() if key not in _NO_ITEMS}
        return cls(named, facts, read_settings(document.get(SETTINGS, {})))

    def threshold(self, item: Item, criterion: Criterion) -> Threshold | None:
        """The threshold that replaces the criterion's own, if there is one.

        ``survives`` asks that the live value comes back after a reboot, so it follows an override of ``live`` unless
        its own fact has one.
        """
        if criterion.operator is Operator.UNIFORM:
            return None
        facts = self.facts.get(item.key, {})
        if criterion.operator is Operator.SURVIVES and criterion.fact not in facts:
            return facts.get("live")
        return facts.get(criterion.fact)

    def semantics(self) -> dict[str, object]:
        """What decides verdicts."""
        settings = {SETTINGS: {rule.name: rule.as_json() for rule in self.settings}} if self.settings else {}
        return {_NAMED: dict(self.named), "facts": {key: dict(held) for key, held in self.facts.items()}} | settings


def _named(name: str, held: object, items: Mapping[str, Item]) -> Threshold:
    """A threshold by its name in the profile; it must fit every criterion that takes it from there."""
    users = [(item, one) for item in items.values() for one in item.all_criteria if one.threshold_from == name]
    if not users:
        raise InvalidOverride(f"No criterion takes its threshold from {name!r}; look the name up in the catalogue.")
    threshold = _threshold(held, name)
    for item, criterion in users:
        _check(threshold, item, criterion)
    return threshold


def _of_item(key: str, held: object, items: Mapping[str, Item]) -> dict[str, Threshold]:
    if key not in items:
        raise InvalidOverride(f"There is no item {key!r} to override; look its key up in the catalogue.")
    item, thresholds = items[key], {}
    for fact, stated in _table(held, key).items():
        thresholds[fact] = threshold = _threshold(stated, f"{key}.{fact}")
        _check(threshold, item, _only_criterion(item, fact))
    return thresholds


def _only_criterion(item: Item, fact: str) -> Criterion:
    """The criterion on *fact*: with several (at least 0.01, at most 100) one threshold cannot replace them all."""
    criteria = [one for one in item.criteria if one.fact == fact and one.operator is not Operator.UNIFORM]
    if len(criteria) != 1:
        counted = f"{len(criteria)} criteria on {fact!r}" if criteria else f"no criterion on {fact!r}"
        raise InvalidOverride(f"{item.key} has {counted}; an override needs exactly one.")
    return criteria[0]


def _check(threshold: Threshold, item: Item, criterion: Criterion) -> None:
    comparison = criterion.compare or criterion.operator
    for mistake in threshold_mistakes(threshold, comparison, item.facts[criterion.fact]):
        raise InvalidOverride(f"The override of {item.key}.{criterion.fact} {mistake}.")


def _threshold(held: object, where: str) -> Threshold:
    stated = held.get("threshold") if isinstance(held, Mapping) else held
    if isinstance(stated, list) and all(isinstance(one, str | int | float) for one in stated):
        return tuple(stated)
    if isinstance(stated, str | int | float):
        return stated
    raise InvalidOverride(f'The override of {where} needs a threshold: {{"threshold": …, "reason": …, "source": …}}.')


def _table(held: object, where: str) -> Mapping[str, object]:
    if isinstance(held, Mapping):
        return held
    raise InvalidOverride(f"The overrides of {where} must be a table of thresholds by name.")
