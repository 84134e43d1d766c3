"""Short ways to say an item, its facts, and what becomes of them over several reports."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from checks.domain.evaluation import Judgement, judge
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.item_tables import read_item
from checks.domain.items import Item
from checks.domain.measuring import Measured, measure
from checks.domain.memory import ItemMemory
from checks.domain.tables import CatalogueError, Table
from checks.domain.units import Scalar
from checks.domain.verdicts import Layer

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
_TEXTS = {"title": "t", "consequence": "c", "verify": "v", "remedy": "r"}


def item_table(**keys: Any) -> dict[str, Any]:
    """One item as its TOML table: a tick item of a node with one number, unless *keys* say otherwise."""
    return {
        "flow": "compute", "scope": "node", "source": "probe", "cadence": "tick", "owner": "platform",
        "facts": {"live": "count"}, "criteria": [{"fact": "live", "operator": "ge", "threshold": 5}],
        "en": _TEXTS, "zh": _TEXTS, "source_note": {"en": "s", "zh": "s"},
    } | keys  # fmt: skip


def item_of(**keys: Any) -> Item:
    """The item that `item_table` describes; a mistake in it ends the test."""
    item, errors = read(**keys)
    assert not errors, [error.message for error in errors]
    return item


def read(**keys: Any) -> tuple[Item, list[CatalogueError]]:
    """The item, and what its table does wrong."""
    errors: list[CatalogueError] = []
    return read_item(Table(item_table(**keys), "system.toml", "an-item", errors), "an-item", Layer.SYSTEM), errors


def facts_of(item: Item, values: Mapping[str, Scalar], at: datetime = NOON, subject: str = "") -> list[Fact]:
    """Facts in the units that the catalogue states."""
    return [Fact(item.key, subject, name, value, item.facts[name], at) for name, value in values.items()]


def measured(item: Item, **values: Scalar) -> Measured:
    """Step one of a first report."""
    return measure(item, facts_of(item, values), [], ItemMemory(), observed_at=NOON, boot_id="boot-1")


def judged(item: Item, **values: Scalar) -> Judgement:
    """What a first report says."""
    return judge(item, measured(item, **values).value, now=NOON)


def problem(item: Item, kind: ProblemKind = ProblemKind.HUNG) -> Problem:
    return Problem(item.key, "", kind, "no answer in 10 s")


@dataclass
class Subject:
    """One subject over several reports; value and memory go through JSON between them, as in the database."""

    item: Item
    memory: ItemMemory = field(default_factory=lambda: ItemMemory())
    measured: Measured | None = None

    def report(self, second: float, /, boot: Scalar = "boot-1", **values: Scalar) -> Judgement:
        """A report *second* seconds after noon."""
        at = NOON + timedelta(seconds=second)
        facts = facts_of(self.item, values, at)
        found = measure(self.item, facts, [], self.memory, observed_at=at, boot_id=str(boot))
        self.memory = json.loads(json.dumps(found.memory))
        self.measured = Measured(json.loads(json.dumps(found.value)), self.memory)
        return judge(self.item, self.measured.value, now=at)
