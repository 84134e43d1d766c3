"""Units of facts, the kind of value each carries, and how a value becomes a number.

A fact arrives in exactly the unit that the catalogue states for it: nothing is converted, because a unit that
was not expected means that probe and catalogue disagree about what was measured.
"""

from __future__ import annotations

import math
import sys
from enum import Enum, StrEnum, auto

from checks.domain.errors import UnitMismatch

Scalar = str | int | float | bool
Threshold = Scalar | tuple[Scalar, ...]

#: How Linux prints a limit that is not there; stands for infinity wherever a number is expected.
UNLIMITED = "unlimited"


class Kind(Enum):
    """What sort of JSON value a unit goes with."""

    NUMBER = auto()
    TEXT = auto()
    BOOL = auto()


class Unit(StrEnum):
    """Every unit a fact may have. GB/s is 10^9 bytes a second, and never Gb/s."""

    COUNT = "count"
    PERCENT = "percent"
    PACKETS = "packets"
    BYTES = "bytes"
    KIB = "KiB"
    MIB = "MiB"
    GIB = "GiB"
    LANES = "lanes"
    CELSIUS = "celsius"
    MHZ = "MHz"
    MICROSECONDS = "microseconds"
    MILLISECONDS = "milliseconds"
    SECONDS = "seconds"
    WATTS = "watts"
    VOLTS = "volts"
    PER_HOUR = "per_hour"
    RATIO = "ratio"
    GB_PER_S = "GB/s"
    MB_PER_S = "MB/s"
    GBIT_PER_S = "Gb/s"
    TFLOPS = "TFLOP/s"
    IOPS = "IOPS"
    TEXT = "text"
    BOOL = "bool"

    @property
    def kind(self) -> Kind:
        """The kind of value that this unit measures; everything but text and bool is a number."""
        return _OTHER_KINDS.get(self, Kind.NUMBER)


# JSON knows whole numbers of any length; one that no float holds can be neither compared nor drawn.
_LARGEST = sys.float_info.max
_OTHER_KINDS = {Unit.TEXT: Kind.TEXT, Unit.BOOL: Kind.BOOL}


def kind_of(value: object) -> Kind:
    """The kind of one scalar.

    Raises:
        UnitMismatch: the value is no scalar, or a number that is not finite or beyond any measurement.
    """
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, int | float) and -_LARGEST <= value <= _LARGEST:
        return Kind.NUMBER
    raise UnitMismatch(f"{value!r} is neither a finite number nor a text nor a bool")


def fits(value: object, unit: Unit) -> bool:
    """Whether *value* is of the kind that *unit* measures ("unlimited" fits every numeric unit)."""
    if value == UNLIMITED and unit.kind is Kind.NUMBER:
        return True
    try:
        return kind_of(value) is unit.kind
    except UnitMismatch:
        return False


def as_number(value: object) -> float:
    """*value* as a number, with "unlimited" as infinity.

    Raises:
        UnitMismatch: the value is a bool, or a text other than "unlimited", or not finite.
    """
    if value == UNLIMITED:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf <= value <= math.inf:
        raise UnitMismatch(f"{value!r} is not a number")
    return value
