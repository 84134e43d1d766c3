"""What one criterion says of one sample, and the sample that it looks at.

Three results are kept apart: *met*, *missed*, and *cannot be told*, which is `unknown` with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.domain.items import Item
from checks.domain.memory import Value
from checks.domain.units import Scalar
from checks.domain.verdicts import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """`pass` (met), `fail` (missed), `warn` (met, but may not last), or `unknown` with a reason."""

    verdict: Verdict
    reason: Reason | None = None
    detail: str = ""


MET = Outcome(Verdict.PASS)


def missed(detail: str) -> Outcome:
    """The criterion was measured and does not hold."""
    return Outcome(Verdict.FAIL, Reason.CRITERION, detail)


def unknown(reason: Reason, detail: str) -> Outcome:
    """The criterion cannot be told."""
    return Outcome(Verdict.UNKNOWN, reason, detail)


@dataclass(frozen=True, slots=True)
class Sample:
    """One row's value, with the item that it belongs to."""

    item: Item
    value: Value

    def fact(self, name: str) -> Scalar | Outcome:
        """A fact that was measured, or why it was not."""
        facts = self.value.get("facts", {})
        return facts[name] if name in facts else self.blank(name)

    def shown(self, name: str, value: Scalar) -> str:
        """*value* of the fact *name* as people read it: with its unit, unless that says nothing."""
        unit = self.item.facts.get(name, "")
        return f"{name} {_text(value)}" + ("" if unit in _SILENT else f" {unit}")

    def blank(self, name: str) -> Outcome:
        """Why *name* cannot be read from this value."""
        if mismatch := self.value.get("mismatched", {}).get(name):
            return unknown(Reason.UNIT_MISMATCH, mismatch)
        if problem := self.value.get("problem"):
            return unknown(Reason(problem["reason"]), problem["detail"])
        if self.value.get("item_version") != self.item.version:
            return unknown(Reason.NOT_MEASURED_UNDER_VERSION, f"{name} was not measured under this version of the item")
        return unknown(Reason.NOT_MEASURED, f"{name} was not measured")


_SILENT = ("", "text", "bool", "count")


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
