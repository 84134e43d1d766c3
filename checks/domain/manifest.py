"""What is signed, from the bottom: leaves of items, and the hash of one node's layer over its leaves.

A leaf holds what was *settled* about one blocker, with its criteria in force, identity values and epoch. Report ids,
times, raw values and texts are never in it. Items asked at a start and items in shadow have no leaf, and a row has none
before it first settled: *unknown* and *stale* block by themselves, and never enter a digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checks.domain.canonical import Tag, digest
from checks.domain.items import Item
from checks.domain.memory import Value
from checks.domain.units import Scalar
from checks.domain.verdicts import Cadence, Layer, Verdict


@dataclass(frozen=True, slots=True)
class Leaf:
    """One blocker of one subject as it is signed; the item is as its ruleset resolved it, with criteria in force."""

    item: Item
    subject: str
    settled: Verdict
    identity: Mapping[str, Scalar]
    epoch: int

    @property
    def order(self) -> tuple[bytes, bytes]:
        """Leaves stand in the order of the bytes of (item, subject)."""
        return self.item.key.encode(), self.subject.encode()

    def as_json(self) -> dict[str, object]:
        """The leaf before it is hashed."""
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


def layer_digest(layer: Layer, leaves: Iterable[Leaf]) -> str:
    """The hash of one layer of one node; a layer without leaves has a constant of its own."""
    ordered = sorted(leaves, key=lambda leaf: leaf.order)
    if not ordered:
        return digest(Tag.EMPTY, layer)
    return digest(Tag.NODE, {"layer": layer, "leaves": [leaf.digest for leaf in ordered]})


def identity_of(item: Item, value: Value, known: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The identity values after a report: a value counts at once, and one that is missing keeps the last *known*."""
    found = {**known, **value.get("facts", {})}
    return {name: found[name] for name in item.identity if name in found}


def identity_changed(known: Mapping[str, Scalar], now: Mapping[str, Scalar]) -> bool:
    """Whether a value that was known before is another now; the first time a value is seen is no change."""
    return any(name in known and known[name] != held for name, held in now.items())
