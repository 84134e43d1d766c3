"""What is signed, from the top: one layer of one run, as a header, a shared branch and a hash for each pool node.

The shared branch holds what is not a node's: clusters, links, the run, artefacts, datasets. A signature names the
digest over the three. ``docs/manifest.md`` writes the form down, with test vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from checks.domain.canonical import Tag, canonical_bytes, digest
from checks.domain.freshness import is_stale
from checks.domain.manifest import Leaf
from checks.domain.verdicts import Layer, Verdict

#: What a shared branch without leaves is called before it is hashed.
_SHARED: Final = "shared"

#: What changed in one leaf.
What = Literal["verdict", "identity", "criteria", "epoch", "added", "removed"]


@dataclass(frozen=True, slots=True)
class WaiverFacts:
    """A failed item that two people accepted on some nodes (uuids; none where the item is not a node's)."""

    id: str
    layer: Layer
    item: str
    nodes: frozenset[str]
    until: datetime

    def in_force(self, now: datetime) -> bool:
        """Whether it still counts: at its very end it does, then no more."""
        return not is_stale(self.until, now)

    def covers(self, *, item: str, node: str) -> bool:
        """Whether it speaks of *item* on the node with the uuid *node* (empty: of an item that is not a node's)."""
        return item == self.item and (node in self.nodes if node else not self.nodes)

    def as_json(self) -> dict[str, object]:
        """The waiver as a header holds it: its reason and its people stand in the ledger."""
        return {
            "id": self.id,
            "item": self.item,
            "nodes": sorted(self.nodes),
            "until": self.until.astimezone(UTC).isoformat(timespec="microseconds"),
        }


@dataclass(frozen=True, slots=True)
class Header:
    """What is signed beside the leaves.

    *run* is the run spec by name: all that the job is to be, its ``cluster`` and its ``pool`` (sorted node uuids)
    included, never its stage. What is not set is left out, times are ISO texts in UTC. *waivers* are those in force
    that cover a leaf of the package whose settled verdict is *fail*.
    """

    run: Mapping[str, object]
    policy_digest: str
    waivers: tuple[WaiverFacts, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The header as it is hashed and stored."""
        return {
            "run": {name: held for name, held in self.run.items() if held is not None},
            "policy": self.policy_digest,
            "waivers": [waiver.as_json() for waiver in sorted(self.waivers, key=lambda one: one.id.encode())],
        }


@dataclass(frozen=True, slots=True)
class Package:
    """One layer of one run; *nodes* maps node uuids to the hashes of their layer."""

    layer: Layer
    header: Mapping[str, object]
    shared: str
    nodes: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 (hex): what a signature names."""
        return digest(Tag.PACKAGE, self.as_json())

    def as_json(self) -> dict[str, object]:
        """The package before it is hashed; nodes stand in the order of their uuids."""
        return {
            "layer": self.layer,
            "header": self.header,
            "shared": self.shared,
            "nodes": [[uuid, self.nodes[uuid]] for uuid in sorted(self.nodes)],
        }

    def only(self, nodes: Iterable[str]) -> Package:
        """The package over some of its nodes: what is signed where the others cannot be."""
        return Package(self.layer, self.header, self.shared, {uuid: self.nodes[uuid] for uuid in nodes})


@dataclass(frozen=True, slots=True)
class Difference:
    """How a package differs from the one that was signed.

    ``header`` names what changed in it, as in ``run.world_size``; ``nodes`` were signed and now have another hash, or
    are gone; ``added`` were not signed.
    """

    header: tuple[str, ...] = ()
    shared: bool = False
    nodes: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()

    @property
    def of_the_whole(self) -> bool:
        """Whether something changed that is no single node's: that outdates every signature."""
        return bool(self.header) or self.shared

    @property
    def uncovered(self) -> frozenset[str]:
        """Nodes for which the signatures do not speak."""
        return self.nodes | self.added


@dataclass(frozen=True, slots=True)
class LeafChange:
    """One thing that changed in one leaf, as two short texts; an epoch is named only where nothing else changed."""

    item: str
    subject: str
    what: What
    before: str
    after: str


def shared_digest(leaves: Iterable[Leaf]) -> str:
    """The hash of a layer's shared branch; one without leaves has a constant of its own."""
    ordered = sorted(leaves, key=lambda leaf: leaf.order)
    if not ordered:
        return digest(Tag.EMPTY, _SHARED)
    return digest(Tag.SHARED, {"leaves": [leaf.digest for leaf in ordered]})


def signable(settled: Verdict | None, *, waived: bool) -> bool:
    """Whether a leaf with this settled verdict may be signed: *pass* or *na*, or *fail* under a waiver in force."""
    return settled in (Verdict.PASS, Verdict.NA) or (settled is Verdict.FAIL and waived)


def compare(signed: Package, current: Package) -> Difference:
    """How *current* differs from *signed*; both are of one layer."""
    return Difference(
        header=_changed_keys(signed.header, current.header),
        shared=signed.shared != current.shared,
        nodes=frozenset(uuid for uuid, held in signed.nodes.items() if current.nodes.get(uuid) != held),
        added=frozenset(current.nodes.keys() - signed.nodes.keys()),
    )


def leaf_changes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> tuple[LeafChange, ...]:
    """What changed between two lists of leaves, each as ``Leaf.as_json`` says it or as it was stored."""
    old, new = ({(leaf["item"], leaf["subject"]): leaf for leaf in leaves} for leaves in (before, now))
    changes: list[LeafChange] = []
    for key in sorted(old.keys() | new.keys()):
        if key not in new:
            changes.append(LeafChange(*key, "removed", str(old[key]["settled"]), ""))
        elif key not in old:
            changes.append(LeafChange(*key, "added", "", str(new[key]["settled"])))
        else:
            changes.extend(_changes_of(old[key], new[key]))
    return tuple(changes)


def _changed_keys(signed: Mapping[str, object], current: Mapping[str, object]) -> tuple[str, ...]:
    """Names of what differs; what the header holds by name, such as the run spec, is named part by part."""
    changed: list[str] = []
    for key in sorted(signed.keys() | current.keys()):
        was, held = signed.get(key), current.get(key)
        if isinstance(was, Mapping) and isinstance(held, Mapping):
            changed += [f"{key}.{name}" for name in sorted(was.keys() | held.keys()) if _differ(was, held, name)]
        elif _differ(signed, current, key):
            changed.append(key)
    return tuple(changed)


def _differ(one: Mapping[str, object], other: Mapping[str, object], key: str) -> bool:
    if (key in one) != (key in other):
        return True
    return canonical_bytes(one[key]) != canonical_bytes(other[key])


def _changes_of(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[LeafChange]:
    """What changed in one leaf that both lists hold."""
    texts: tuple[tuple[What, str, str], ...] = (
        ("verdict", str(before["settled"]), str(now["settled"])),
        ("identity", *_identities(before["identity"], now["identity"])),
        ("criteria", *_rules(before, now)),
        ("epoch", str(before["epoch"]), str(now["epoch"])),
    )
    found = [LeafChange(now["item"], now["subject"], *text) for text in texts if text[1] != text[2]]
    return [change for change in found if change.what != "epoch"] or found


def _identities(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str]:
    """The identity values that differ, as two texts."""
    names = [name for name in sorted(before.keys() | now.keys()) if _differ(before, now, name)]
    return _named(before, names), _named(now, names)


def _named(values: Mapping[str, Any], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {_text(values[name])}" for name in names if name in values)


def _rules(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str]:
    """The criteria as two texts; where only the item's version differs, something else changed what it asks."""
    texts = tuple("; ".join(_criterion(one) for one in leaf["criteria"]) for leaf in (before, now))
    if texts[0] == texts[1] and before["item_version"] != now["item_version"]:
        return f"version {before['item_version'][:12]}", f"version {now['item_version'][:12]}"
    return texts[0], texts[1]


def _criterion(criterion: Mapping[str, Any]) -> str:
    """A criterion in its stored form, its fact first: ``live ge 5000``."""
    told = [_text(criterion[name]) for name in ("fact", "operator", "threshold") if name in criterion]
    rest = [f"{name} {_text(held)}" for name, held in sorted(criterion.items()) if name not in _TOLD]
    return " ".join([*told, *rest])


_TOLD: Final = frozenset({"fact", "operator", "threshold"})


def _text(value: object) -> str:
    """A value as it is stored: 5 and 5.0 and "5" are one text, as they are one digest."""
    if isinstance(value, list | tuple):
        return ", ".join(_text(one) for one in value)
    return canonical_bytes(value).decode().strip('"')
