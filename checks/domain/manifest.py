"""What is signed, from the bottom: leaves of items, and the hash of one node's layer over its leaves.

A leaf holds what was *settled* about one blocker, with its criteria in force, identity values and epoch. Report ids,
times, raw values and texts are never in it. A row that never settled has no leaf yet, items asked at a start and items
in shadow never have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checks.domain.canonical import Tag, decimal_text, digest
from checks.domain.items import Item
from checks.domain.memory import Value
from checks.domain.units import Scalar
from checks.domain.verdicts import Cadence, Layer, Verdict


@dataclass(frozen=True, slots=True)
class Leaf:
    """One blocker of one subject as it is signed."""

    item: Item
    subject: str
    settled: Verdict
    identity: Mapping[str, str]
    epoch: int

    @property
    def order(self) -> tuple[bytes, bytes]:
        """Leaves stand in the order of the bytes of (item, subject)."""
        return self.item.key.encode(), self.subject.encode()

    def as_json(self) -> dict[str, object]:
        """The leaf before it is hashed; the item is as its ruleset resolved it, so these are the criteria in force."""
        return {
            "item": self.item.key,
            "item_version": self.item.version,
            "subject": self.subject,
            "criteria": [criterion.as_json() for criterion in self.item.criteria],
            "settled": self.settled,
            "identity": dict(self.identity),
            "epoch": self.epoch,
        }

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the leaf."""
        return digest(Tag.LEAF, self.as_json())


def has_leaf(item: Item) -> bool:
    """Whether rows of *item* enter what is signed."""
    return item.blocks_gates and item.cadence is not Cadence.START


def node_digest(layer: Layer, node: str, leaves: Iterable[Leaf]) -> str:
    """The hash of one layer of one node (its uuid as text); a layer without leaves has a constant of its own."""
    ordered = sorted(leaves, key=lambda leaf: leaf.order)
    if not ordered:
        return EMPTY_LAYER
    return digest(Tag.NODE, {"layer": layer, "node": node, "leaves": [leaf.digest for leaf in ordered]})


EMPTY_LAYER = digest(Tag.EMPTY, "layer")


def identity_of(item: Item, value: Value, known: Mapping[str, str]) -> dict[str, str]:
    """The identity values after a report: a value counts at once, and one that is missing keeps the last known."""
    measured = {name: held for name, held in value.get("facts", {}).items() if name in item.identity}
    kept = {name: held for name, held in known.items() if name in item.identity}
    return kept | {name: identity_text(held) for name, held in measured.items()}


def identity_text(value: Scalar) -> str:
    """An identity value as it is signed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else decimal_text(value)


def identity_changed(known: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether a value that was known before is another now; the first time a value is seen is no change."""
    return any(name in known and known[name] != held for name, held in now.items())
