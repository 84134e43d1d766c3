"""A row's value held against its criteria, in words: what was measured, what is needed, where the threshold is from."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from checks.domain.catalogue import Catalogue
from checks.domain.comparing import NOTHING, entries
from checks.domain.errors import UnitMismatch
from checks.domain.items import COMPARISONS, Criterion, Item, NeedsLoad, Operator
from checks.domain.memory import Value
from checks.domain.operators import outcome
from checks.domain.outcomes import Sample
from checks.domain.profiles import Profile
from checks.domain.reference import XID_NO_FAULT
from checks.domain.units import Unit
from checks.domain.verdicts import Verdict
from checks.domain.versions import is_version, least_version
from portal.ui import figures, times

# What makes two criteria the same one, before and after thresholds were put in.
_Same = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """One criterion as a page shows it; *missed* is the verdict that missing it gives, empty where it is met."""

    fact: str
    label: str
    value: str
    needs: str
    note: str
    origin: str
    missed: str
    mandatory: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """One item as the catalogue has it, and as it is in force for one kind of node in one cluster."""

    stated: Item
    item: Item
    profile: Profile
    overrides: Mapping[str, Any]
    catalogue: Catalogue

    def label(self, fact: str) -> str:
        """What people call *fact*, in the reader's language."""
        return self.catalogue.label(self.item.key, fact, get_language() or "en")

    def lines(self, value: Mapping[str, Any]) -> list[CriterionLine]:
        """Every criterion in force against *value*, the milder ones last."""
        stated = {_same(criterion): criterion for criterion in self.stated.all_criteria}
        return [
            CriterionLine(
                fact=criterion.fact,
                label=self.label(criterion.fact),
                value=measured(self.item, criterion, value),
                needs=self.needs(criterion, value).removeprefix("= "),
                note="; ".join([*self._notes(criterion), *self.meanings(criterion, value)]),
                origin=self.origin(stated[_same(criterion)]),
                missed=self._missed(criterion, value),
                mandatory=criterion in self.item.criteria,
            )
            for criterion in self.item.all_criteria
        ]

    def headline(self, value: Mapping[str, Any]) -> str:
        """The telling value as large as a page can say it; by its fact's name where there are others."""
        criterion = self._telling(value)
        if criterion is None or not value.get("facts"):
            return ""
        shown = measured(self.item, criterion, value)
        return self.named(criterion, shown) if len(self.item.criteria) > 1 else shown

    def needed(self, value: Mapping[str, Any]) -> str:
        """What the criterion that a table has room for asks: the first one missed, else the first there is."""
        criterion = self._telling(value)
        if criterion is None:
            return ""
        asked = self.needs(criterion, value).removeprefix("= ")
        return asked if value.get("facts") else self.named(criterion, asked)

    def needs(self, criterion: Criterion, value: Mapping[str, Any]) -> str:
        """What the criterion asks for, with sign and unit."""
        other = criterion.threshold_fact
        if other and other not in value.get("facts", {}):
            return f"{_sign(criterion.operator)} {self.label(other)}"
        return _NEEDS[criterion.operator](criterion, self.item.facts.get(criterion.fact, Unit.TEXT).value, value)

    def measured(self, values: Sequence[Mapping[str, Any]]) -> str:
        """What was measured for that criterion over one or several subjects; empty where nothing was."""
        criterion = self._telling(values[0])
        if criterion is None or not values[0].get("facts"):
            return ""
        shown = list(dict.fromkeys(measured(self.item, criterion, value) for value in values))
        if len(shown) == 1:
            return self.named(criterion, shown[0])
        numbers = [value["facts"].get(criterion.fact) for value in values if value.get("facts")]
        if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
            return ", ".join(shown[:3]) + ("…" if len(shown) > 3 else "")
        unit = self.item.facts.get(criterion.fact, Unit.TEXT).value
        return self.named(criterion, f"{figures.number(min(numbers))} – {figures.shown(max(numbers), unit)}")

    def named(self, criterion: Criterion, shown: str) -> str:
        """A bare yes, no or count says nothing without the fact's name, unless the item's title is its name."""
        bare = self.item.facts.get(criterion.fact, Unit.TEXT) in (Unit.BOOL, Unit.COUNT)
        if not bare or self.catalogue.says_itself(self.item.key, criterion.fact):
            return shown
        return _("%(fact)s: %(value)s") % {"fact": self.label(criterion.fact), "value": shown}

    def _telling(self, value: Mapping[str, Any]) -> Criterion | None:
        missed = (one for one in self.item.all_criteria if self._missed(one, value))
        return next(missed, next(iter(self.item.criteria), None))

    def origin(self, stated: Criterion) -> str:
        """Where the threshold in force comes from: this cluster, the profile, or the catalogue."""
        own = self.overrides.get(self.stated.key, {})
        if stated.fact in own or (stated.operator is Operator.SURVIVES and "live" in own):
            held = own.get(stated.fact) or own.get("live")
            reason = held.get("reason", "") if isinstance(held, Mapping) else ""
            return _("cluster override: %(reason)s") % {"reason": reason}
        name = stated.threshold_from
        if name and name in self.overrides.get("thresholds", {}):
            return _("cluster override of %(name)s") % {"name": name}
        if name and name in self.catalogue.reference.thresholds and name not in self.profile.thresholds:
            return _("catalogue")
        if name:
            source = self.profile.sources.get(name, "")
            said = {"profile": self.profile.key, "name": name, "source": source}
            return _("profile %(profile)s: %(name)s (%(source)s)") % said
        if stated.threshold_fact:
            return _("the machine itself: %(fact)s") % {"fact": self.label(stated.threshold_fact)}
        return _("catalogue")

    def _notes(self, criterion: Criterion) -> list[str]:
        notes = []
        if criterion in self.item.warn_criteria:
            notes.append(_("missing only this warns"))
        if criterion.needs_load:
            notes.append(_("counts under load only"))
        return notes

    def meanings(self, criterion: Criterion, value: Mapping[str, Any]) -> list[str]:
        """What each number of a list of driver events means; at the criterion that must hold, once."""
        stated = next((one for one in self.stated.criteria if _same(one) == _same(criterion)), None)
        if stated is None or stated.threshold_from != XID_NO_FAULT or criterion not in self.item.criteria:
            return []
        known, language = self.catalogue.reference.xids, get_language() or "en"
        stranger = _("in no table, so it counts as a fault")
        with suppress(UnitMismatch):
            numbers = entries(value.get("facts", {}).get(criterion.fact, NOTHING))
            return [f"{one}: {known[one].text(language) if one in known else stranger}" for one in numbers]
        return []

    def override_says(self) -> str:
        """Whether this cluster has a threshold of its own for the item."""
        asked = {one.threshold_from for one in self.stated.all_criteria if one.threshold_from}
        names = asked & set(self.overrides.get("thresholds", {})) | set(self.overrides.get(self.stated.key, {}))
        return _("override of %(names)s") % {"names": ", ".join(sorted(names))} if names else _("no override")

    def _missed(self, criterion: Criterion, value: Mapping[str, Any]) -> str:
        if not value or _is_no_sample(criterion, value):
            return ""
        found = outcome(criterion, Sample(self.item, cast("Value", value)))
        if found.verdict is Verdict.PASS:
            return ""
        return "warn" if criterion in self.item.warn_criteria and found.verdict is Verdict.FAIL else found.verdict.value


def measured(item: Item, criterion: Criterion, value: Mapping[str, Any]) -> str:
    """What was measured for the criterion; a dash where nothing was."""
    unit = item.facts.get(criterion.fact, Unit.TEXT).value
    facts = value.get("facts", {})
    if criterion.operator is Operator.DELTA_OVER and criterion.reading_key in value.get("gains", {}):
        least, most = value["gains"][criterion.reading_key]
        gained = (
            figures.shown(most, unit) if least == most else f"{figures.number(least)} – {figures.shown(most, unit)}"
        )
        return _("gained %(gained)s") % {"gained": gained}
    if criterion.operator is Operator.SURVIVES and facts.get("configured_state") == "unset":
        return _("no file sets it")
    proved = _proved_reading(criterion, value)
    if proved is not None:
        return _("%(value)s under load") % {"value": figures.shown(proved, unit)}
    shown = figures.shown(facts[criterion.fact], unit) if criterion.fact in facts else "—"
    by = facts.get("configured_by") if criterion.operator is Operator.SURVIVES else None
    return f"{shown} ({by})" if by else shown


def _is_no_sample(criterion: Criterion, value: Mapping[str, Any]) -> bool:
    """Whether the criterion looks at loaded samples only, and this one is idle."""
    return criterion.needs_load is NeedsLoad.ONLY and not value.get("load", {}).get("loaded")


def _proved_reading(criterion: Criterion, value: Mapping[str, Any]) -> Any:
    """What was measured under load, where the sample itself counts for nothing; None where nothing was."""
    if not _is_no_sample(criterion, value) or criterion.operator not in COMPARISONS:
        return None
    readings = value.get("load", {}).get("evidence", {}).get("worst", {}).get(criterion.reading_key)
    return readings[0][0] if readings else None


def _same(criterion: Criterion) -> _Same:
    return criterion.fact, criterion.operator, criterion.compare, criterion.window, criterion.hold, criterion.needs_load


def _compared(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    other = criterion.threshold_fact
    threshold = value["facts"][other] if other else criterion.threshold
    return f"{_sign(criterion.operator)} {figures.shown(threshold, unit)}"


def _gained(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    limit = figures.shown(criterion.threshold, unit)
    if criterion.window:
        span = times.duration(criterion.window.total_seconds())
        return _("gains at most %(limit)s in %(span)s") % {"limit": limit, "span": span}
    return _("gains at most %(limit)s between reports") % {"limit": limit}


def _held(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    sign = _sign(criterion.compare or Operator.GT)
    span = times.duration(criterion.hold.total_seconds() if criterion.hold else 0)
    level = figures.shown(criterion.threshold, unit)
    return _("never %(sign)s %(level)s for %(span)s on end") % {"sign": sign, "level": level, "span": span}


def _survives(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    level = f"{_sign(criterion.compare or Operator.GE)} {figures.shown(criterion.threshold, unit)}"
    return _("%(level)s after a reboot too") % {"level": level}


def _uniform(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    return _("the same on all nodes")


def _balanced(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    return _("spread at most %(limit)s") % {"limit": figures.shown(criterion.threshold, "ratio")}


def _new_enough(criterion: Criterion, unit: str, value: Mapping[str, Any]) -> str:
    wanted_by = str(value.get("facts", {}).get(criterion.by, ""))
    least = least_version(criterion.threshold or (), wanted_by) if is_version(wanted_by) else None
    return f"≥ {least}" if least else _("new enough for what is loaded")


def _sign(operator: Operator) -> str:
    words = {
        Operator.IN: _("one of"), Operator.NOT_IN: _("none of"), Operator.BITMASK: _("no bit of"),
        Operator.ONLY: _("only"), Operator.WITHOUT: _("none of"),
    }  # fmt: skip
    return words.get(operator) or figures.sign(operator.value)


_NEEDS: dict[Operator, Callable[[Criterion, str, Mapping[str, Any]], str]] = {
    **dict.fromkeys(COMPARISONS, _compared),
    Operator.DELTA_OVER: _gained,
    Operator.SUSTAINED: _held,
    Operator.SURVIVES: _survives,
    Operator.UNIFORM: _uniform,
    Operator.BALANCED: _balanced,
    Operator.NEW_ENOUGH: _new_enough,
}
