"""Fingerprints: all settings of one node at one time, told as what differs from a base that many nodes share.

Three things stay three: a value, *not there* (its kind was read, and this was not among it), and *not known* (its kind
was not read, or this one could not be). What is not known is never a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

#: A text; ``False``: not there; ``None``: not known.
Value = str | bool | None

NOT_THERE: Final = False

#: Tells whether a setting, by its name, differs by nature and says nothing.
IsNoise = Callable[[str], bool]


class Kind(StrEnum):
    """Where a setting is read; the first part of its name. In the order in which people look."""

    ENV = "env"
    SYSCTL = "sysctl"
    CMDLINE = "cmdline"
    KERNEL = "kernel"
    MODULE = "module"
    DRIVER = "driver"
    NIC = "nic"
    GPU = "gpu"
    LIMIT = "limit"
    MOUNT = "mount"
    DMI = "dmi"
    PACKAGE = "package"


_PLACES: Final[Mapping[str, int]] = {kind: place for place, kind in enumerate(Kind)}


def kind_of(name: str) -> str:
    """The kind of the setting *name*."""
    return name.partition(":")[0]


def place_of(name: str) -> int:
    """The place of its kind in the order in which people look; kinds that nobody knows come last."""
    return _PLACES.get(kind_of(name), len(_PLACES))


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """What many fingerprints have in common: the kinds that were read, and a value of each setting."""

    kinds: frozenset[str]
    settings: Mapping[str, str | None]

    def value(self, name: str) -> Value:
        """The base's own value of *name*."""
        if name in self.settings:
            return self.settings[name]
        return NOT_THERE if kind_of(name) in self.kinds else None


@dataclass(frozen=True, slots=True)
class Print:
    """The fingerprint of one node: a base, and what this node has otherwise."""

    node: str
    base: Base
    own: Mapping[str, Value] = field(default_factory=dict)

    def value(self, name: str) -> Value:
        """This node's value of *name*."""
        return self.own[name] if name in self.own else self.base.value(name)

    @classmethod
    def whole(cls, node: str, kinds: frozenset[str], settings: Mapping[str, str | None]) -> Print:
        """A fingerprint that shares nothing."""
        return cls(node, Base(kinds, settings))


def difference(base: Mapping[str, str | None], settings: Mapping[str, str | None]) -> dict[str, Value]:
    """What turns *base* into *settings*: another value, or ``False`` for what is not there any more."""
    gone: dict[str, Value] = {name: NOT_THERE for name in base if name not in settings}
    return gone | {name: value for name, value in settings.items() if name not in base or base[name] != value}
