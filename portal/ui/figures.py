"""Numbers, values and thresholds as pages show them: with their unit, thousands apart."""

from typing import Any

from django.utils.translation import gettext as _

from checks.domain.units import UNLIMITED
from portal.ui.words import OPERATORS, SILENT_UNITS, UNITS

NARROW_SPACE = "\u202f"


def number(value: float) -> str:
    """*value* with at most three decimals and commas between thousands."""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def shown(value: Any, unit: str = "") -> str:
    """One measured value or threshold with its unit."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list | tuple):
        return ", ".join(shown(each, unit) for each in value)
    if not isinstance(value, int | float):
        return _("unlimited") if value == UNLIMITED else str(value)
    mark = "" if unit in SILENT_UNITS else UNITS.get(unit, unit)
    return f"{number(value)}{NARROW_SPACE}{mark}" if mark else number(value)


def sign(operator: str) -> str:
    """The sign of a comparison, e.g. ``≥``."""
    return OPERATORS.get(operator, operator)
