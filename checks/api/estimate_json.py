"""Frozen estimates and their bills as JSON; every amount is text, in US dollars."""

from typing import Any, Final

from checks.api.openapi import shape
from checks.domain.cost.actual import Compared
from checks.domain.cost.money import cents
from checks.models import Estimate
from checks.selectors.costs import comparison_of

_STRING: Final = {"type": "string"}
_RANGE: Final = shape({"low": _STRING, "expected": _STRING, "high": _STRING})
_HEAD: Final = {
    "number": {"type": "integer"}, "scenario": _STRING, "run": _STRING, "cluster": _STRING,
    "at": {"type": "string", "format": "date-time"}, "currency": _STRING, "total": _RANGE,
    "formula_version": {"type": "integer"},
}  # fmt: skip
_OPEN: Final = {"type": "object"}
ESTIMATE: Final = shape(_HEAD, estimate=_OPEN, scenario_inputs=_OPEN, comparison={"type": ["object", "null"]})
ESTIMATES: Final = shape({"estimates": {"type": "array", "items": shape(_HEAD)}})


def estimate_row_json(row: Estimate) -> dict[str, Any]:
    """What a frozen estimate is of, and its total."""
    return {
        "number": row.pk, "scenario": row.scenario.name, "run": row.run.slug if row.run else "",
        "cluster": row.cluster.slug, "at": row.at, "currency": "USD", "formula_version": row.formula_version,
        "total": {"low": str(row.low), "expected": str(row.expected), "high": str(row.high)},
    }  # fmt: skip


def comparison_json(row: Estimate) -> dict[str, Any]:
    """The newest bill against the estimate; null where none was read in."""
    found = comparison_of(row)
    if found is None:
        return {"comparison": None}
    causes = [_compared(one) for one in found.causes]
    return {"comparison": {"whole": _compared(found.whole), "causes": causes}}


def _compared(one: Compared) -> dict[str, Any]:
    over = one.over_percent
    return {
        "cause": one.cause.value if one.cause else None,
        "estimated": str(cents(one.estimated.expected)),
        "billed": str(cents(one.billed)),
        "over_percent": None if over is None else str(round(over, 1)),
        "level": one.level.value,
    }
