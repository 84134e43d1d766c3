"""Scenarios and estimates as JSON, and back: as programs send them and as they are kept."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.money import Estimate, Input, LineItem, Part, Range
from checks.domain.cost.prices import Price, PriceKind
from checks.domain.cost.scenario import Layout, RestartTimes, Route, Scenario

Read = Callable[[str, object], Any]

#: Characters of a number or a name, and the digits before or after its point.
_LONGEST: Final = 64


def scenario_json(scenario: Scenario) -> dict[str, Any]:
    """Every input of a scenario; money and GB as text, so that no digit is lost."""
    held = {field: getattr(scenario, field) for field in Scenario.__dataclass_fields__}
    plain = {field: str(value) if isinstance(value, Decimal) else value for field, value in held.items()}
    return plain | {
        "restart": dataclasses.asdict(scenario.restart),
        "rates": list(scenario.rates),
        "extra_steps": list(scenario.extra_steps),
    }


def read_scenario(sent: Mapping[str, object]) -> Scenario:
    """The scenario in *sent*; numbers may be text, as a form has them, and what is absent has its default.

    Raises:
        ImpossibleInput: an unknown input, one that is no number, ``gpus`` or ``days`` missing, or what
            ``Scenario.require_possible`` refuses.
    """
    for field in ("gpus", "days"):
        if field not in sent:
            raise ImpossibleInput(field, "missing", f"{field} is missing; give a number above 0.")
    found = Scenario(**{field: _read(_FIELDS, field, value) for field, value in sent.items()})
    found.require_possible()
    return found


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate with its lines and copies of the price rows; amounts are text, unrounded."""
    prices = {price.name: price for price in estimate.prices}
    return {
        "formula_version": estimate.formula_version,
        "currency": "USD",
        "total": _range_json(estimate.total),
        "lines": [_line_json(line) for line in estimate.lines],
        "prices": {name: price.as_json() for name, price in prices.items()},
        "unpriced": [part.value for part in estimate.unpriced],
    }


def read_estimate(document: Mapping[str, Any]) -> Estimate:
    """The estimate that ``estimate_json`` wrote down."""
    prices = {name: _price(held) for name, held in document["prices"].items()}
    return Estimate(
        tuple(_line(held, prices) for held in document["lines"]),
        unpriced=tuple(map(Part, document["unpriced"])),
        formula_version=document["formula_version"],
    )


def _line_json(line: LineItem) -> dict[str, Any]:
    return {
        "key": line.key, "part": line.part.value, "amount": _range_json(line.amount), "formula": line.formula,
        "inputs": [dataclasses.asdict(one) for one in line.inputs], "prices": [price.name for price in line.prices],
    }  # fmt: skip


def _line(held: Mapping[str, Any], prices: Mapping[str, Price]) -> LineItem:
    amount = Range(*(Decimal(held["amount"][case]) for case in ("low", "expected", "high")))
    inputs = tuple(Input(**one) for one in held["inputs"])
    rows = tuple(prices[name] for name in held["prices"])
    return LineItem(held["key"], Part(held["part"]), amount, held["formula"], inputs, rows)


def _range_json(amount: Range) -> dict[str, str]:
    return {"low": str(amount.low), "expected": str(amount.expected), "high": str(amount.high)}


def _price(held: Mapping[str, str]) -> Price:
    texts = {key: held.get(key, "") for key in ("provider", "destination", "sku", "note")}
    return Price(
        kind=PriceKind(held["kind"]), region=held["region"], amount=Decimal(held["amount"]), source=held["source"],
        as_of=date.fromisoformat(held["as_of"]), verified=held["verified"] == "yes",
        from_gb=Decimal(held.get("from_gb", "0")), to_gb=Decimal(held["to_gb"]) if "to_gb" in held else None, **texts,
    )  # fmt: skip


def _read(fields: Mapping[str, Read], field: str, value: object) -> Any:
    if field not in fields:
        raise ImpossibleInput(field, "unknown", f"{field[:_LONGEST]!r} is no input; see the API documentation.")
    return fields[field](field, value)


def _decimal(field: str, value: object) -> Decimal:
    """The number, unless writing it out would take more than a line: ``1e-999999999`` is text of a gigabyte."""
    text = str(value).strip()
    try:
        found = Decimal(text) if not isinstance(value, bool) and len(text) <= _LONGEST else None
    except InvalidOperation:
        found = None
    exponent = found.as_tuple().exponent if found is not None else None
    if found is None or not isinstance(exponent, int) or abs(exponent) > _LONGEST:
        raise ImpossibleInput(field, "number", f"{field} is {text[:_LONGEST]!r}; give a number.")
    return found


def _float(field: str, value: object) -> float:
    found = float(_decimal(field, value))
    if not math.isfinite(found):
        raise ImpossibleInput(field, "number", f"{field} is too large; give a smaller number.")
    return found


def _whole(field: str, value: object) -> int:
    found = _decimal(field, value)
    if abs(found) > 10**18 or found != int(found):
        raise ImpossibleInput(field, "whole", f"{field} is {found}; give a whole number.")
    return int(found)


def _text(field: str, value: object) -> str:
    if isinstance(value, str) and len(value) <= _LONGEST and value.isprintable():
        return value.strip()
    raise ImpossibleInput(field, "text", f"{field} is not a name of at most 64 characters; choose one of the list.")


def _member(kind: type[Route] | type[Layout]) -> Read:
    def read(field: str, value: object) -> Route | Layout:
        try:
            return kind(str(value))
        except ValueError:
            raise ImpossibleInput(
                field, "choice", f"{field} is {str(value)[:_LONGEST]!r}; choose one of {', '.join(kind)}."
            ) from None

    return read


def _or_none(read: Read) -> Read:
    return lambda field, value: None if value is None or value == "" else read(field, value)


def _three(read: Read) -> Read:
    def read_all(field: str, value: object) -> tuple[Any, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 3:
            raise ImpossibleInput(field, "rising", f"{field} must be three numbers that rise: few, expected, many.")
        return tuple(read(field, one) for one in value)

    return read_all


def _restart(field: str, value: object) -> RestartTimes:
    if not isinstance(value, Mapping):
        raise ImpossibleInput(field, "text", f"{field} must be a table of seconds, such as acquire_s and init_s.")
    known = dict.fromkeys(RestartTimes.__dataclass_fields__, _float)
    return RestartTimes(**{part: _read(known, part, seconds) for part, seconds in value.items()})


_FIELDS: Final[Mapping[str, Read]] = {
    **dict.fromkeys(("gpus", "gpus_per_node", "keep_last", "keep_every", "warm_nodes"), _whole),
    **dict.fromkeys(("gpu_price", "spot_price", "checkpoint_gb"), _or_none(_decimal)),
    **dict.fromkeys(("sku", "region", "destination"), _text),
    **dict.fromkeys(
        (
            "days", "spot_share", "spot_monthly_percent", "parameters", "write_gb_s", "read_gb_s", "step_s",
            "window_h_a_day", "idle_h", "warm_acquire_s", "rehearsal_h",
        ),
        _float,
    ),
    "interval_s": _or_none(_float),
    "month_to_date_gb": _decimal,
    "checkpoints_moved": _or_none(_whole),
    "layout": _member(Layout),
    "route": _member(Route),
    "restart": _restart,
    "rates": _three(_float),
    "extra_steps": _three(_whole),
}  # fmt: skip
