"""Read one item of the catalogue from its TOML table."""

from __future__ import annotations

from checks.domain.item_checks import mistakes
from checks.domain.items import Condition, Criterion, Item, NeedsLoad, Operator, Texts, Trait
from checks.domain.tables import Table
from checks.domain.units import Threshold, Unit
from checks.domain.verdicts import Cadence, Flow, Layer, Owner, Scope, Severity, Source

#: For how many ticks a change must hold before it settles; other cadences settle with one measurement.
_DEFAULT_SETTLE = 3


def read_item(table: Table, key: str, layer: Layer) -> Item:
    """One item; what is wrong with it is noted in the table's errors."""
    cadence = table.choice("cadence", Cadence)
    note = table.table("source_note")
    item = Item(
        key=key,
        layer=layer,
        flow=table.choice("flow", Flow),
        scope=table.choice("scope", Scope),
        source=table.choice("source", Source),
        cadence=cadence,
        owner=table.choice("owner", Owner),
        severity=table.choice("severity", Severity, Severity.BLOCKER),
        settle=table.take("settle", int, _DEFAULT_SETTLE if cadence is Cadence.TICK else 1),
        en=_texts(table, note, "en"),
        zh=_texts(table, note, "zh"),
        shadow=table.take("shadow", bool, False),
        disruptive=table.take("disruptive", bool, False),
        valid_for=table.span("valid_for"),
        traits=frozenset(table.members("traits", Trait)),
        identity=tuple(str(name) for name in table.take("identity", list, [])),
        settings=tuple(str(name) for name in table.take("settings", list, [])),
        facts=_facts(table),
        shares=_shares(table),
        criteria=table.each("criteria", read_criterion),
        warn_criteria=table.each("warn_criteria", read_criterion),
        exempt=table.each("exempt", read_condition),
        not_judged=table.each("not_judged", read_condition),
    )
    note.close()
    table.close()
    for where, message in mistakes(item):
        table.note(where, message)
    return item


def read_criterion(table: Table) -> Criterion:
    """One criterion; whether it fits its item is checked with the item."""
    return Criterion(
        fact=table.text("fact"),
        operator=table.choice("operator", Operator),
        threshold=read_threshold(table, "threshold"),
        threshold_from=table.name_or_none("threshold_from"),
        threshold_fact=table.name_or_none("threshold_fact"),
        compare=table.choice_or_none("compare", Operator),
        window=table.span("window"),
        hold=table.span("for"),
        needs_load=table.choice_or_none("needs_load", NeedsLoad),
        kernel_default=read_threshold(table, "kernel_default"),
        by=table.name_or_none("by"),
        amount=table.take("amount", bool, False),
    )


def read_condition(table: Table) -> Condition:
    """One block of ``exempt`` or ``not_judged``."""
    return Condition(
        traits=frozenset(table.members("traits", Trait)),
        fact=table.name_or_none("fact"),
        operator=table.choice_or_none("operator", Operator),
        threshold=read_threshold(table, "threshold"),
    )


def read_threshold(table: Table, key: str) -> Threshold | None:
    """A threshold: one scalar, or a list of them for ``in`` and ``not_in``."""
    table.seen.add(key)
    held = table.held.get(key)
    if isinstance(held, list) and all(isinstance(one, str | int | float) for one in held):
        return tuple(held)
    if held is None or isinstance(held, str | int | float):
        return held
    table.note(key, f"must be a text, a number, true or false, or a list of them, not {held!r}")
    return None


def _texts(table: Table, note: Table, language: str) -> Texts:
    inner = table.table(language)
    texts = Texts(
        title=inner.text("title"),
        consequence=inner.text("consequence"),
        verify=inner.text("verify"),
        remedy=inner.text("remedy"),
        source_note=note.text(language),
    )
    inner.close()
    return texts


def _facts(table: Table) -> dict[str, Unit]:
    inner = table.table("facts")
    return {name: inner.choice(name, Unit) for name in inner.held}


def _shares(table: Table) -> dict[str, str]:
    if "shares" not in table.held:
        return {}
    inner = table.table("shares")
    return {name: inner.text(name) for name in inner.held}
