"""A certificate as the portal hands it out, made of the domain's own parts and a key of the test."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.domain.canonical import Tag, digest
from checks.domain.certificate import certificate_text
from checks.domain.ledger import Anchor, Entry
from checks.domain.manifest import Leaf, layer_digest
from checks.domain.package import Header, Package, WaiverFacts, shared_digest
from checks.domain.policy import DEFAULT_POLICY, Policy
from checks.domain.verdicts import Layer, Verdict
from tests.domain.building import NOON, item_of

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
KEY_ID = hashlib.sha256(PUBLIC).hexdigest()
ISSUED = NOON + timedelta(hours=2)
NODES = ("0c5d1a10-0000-4000-8000-000000000001", "0c5d1a10-0000-4000-8000-000000000002")
ITEM = item_of(facts={"live": "count", "serial": "text"}, identity=["serial"])
WAIVER = WaiverFacts("7", Layer.PHYSICAL, "an-item", frozenset(NODES[1:]), NOON + timedelta(days=3))
PEOPLE = {"hardware": ("11", "Anna Ü."), "platform": ("12", "Bo 陈"), "data": ("13", "Dai"), "lead": ("14", "Li")}
_LEAVES = (
    [Leaf(ITEM, "gpu0", Verdict.PASS, {"serial": "S1"}, 0), Leaf(ITEM, "gpu1", Verdict.NA, {}, 2)],
    [Leaf(ITEM, "gpu0", Verdict.FAIL, {"serial": "S2"}, 1)],
)

Change = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class Signing:
    """What was really signed: under which policy and waiver, and how many nodes each layer said that the run needs."""

    policy: Policy = DEFAULT_POLICY
    waiver: WaiverFacts = WAIVER
    needed: Mapping[Layer, int] = field(default_factory=dict)


PLACE = ("seq", "previous", "cluster_number")


def certificate(change: Change | None = None, *, ledger: Change | None = None, signing: Signing = Signing()) -> str:
    """A certificate of a run that is signed in all five layers; *change* is made to its body before it is sealed.

    *ledger* changes each entry before it is chained, so that the chain and its anchor hold.
    """
    layers = [_layer(layer, number, signing) for number, layer in enumerate(Layer)]
    entries = _entries(layers, ledger)
    body: dict[str, Any] = {
        "site": "helios.example.org", "run": "run-7", "issued_at": ISSUED.isoformat(), "layers": layers,
        "ledger": entries, "anchor": _anchor(entries), "public_key": PUBLIC.hex(), "overrides": [],
    }  # fmt: skip
    if change is not None:
        change(body)
    return certificate_text(body, KEY.sign)


def package_of(layer: Layer, signing: Signing) -> tuple[Package, dict[str, list[Leaf]]]:
    """What is signed of *layer*, and the leaves behind its digests; in one layer a failure is waived."""
    physical = layer is Layer.PHYSICAL
    leaves = [_LEAVES[0], _LEAVES[1 if physical else 0]]
    nodes = {uuid: layer_digest(layer, held) for uuid, held in zip(NODES, leaves, strict=True)}
    shared = [Leaf(ITEM, "", Verdict.PASS, {"serial": "commit-1"}, 0)] if layer is Layer.DATA else []
    run = {
        "slug": "run-7",
        "nodes_needed": signing.needed.get(layer, 2),
        "pool": list(NODES),
        "bytes_per_parameter": {"weights": 2.5},
    }
    header = Header(run, signing.policy.digest, (signing.waiver,) if physical else ()).as_json()
    package = Package(layer, header, shared_digest(shared), nodes)
    return package, dict(zip(nodes.values(), leaves, strict=True)) | {package.shared: shared}


def _layer(layer: Layer, number: int, signing: Signing) -> dict[str, Any]:
    package, leaves = package_of(layer, signing)
    waivers = [signing.waiver.as_json() | {"reason": "spare part is on its way"}] if layer is Layer.PHYSICAL else []
    return {
        "layer": layer.value, "state": "signed", "digest": package.digest,
        "package": {"header": package.header, "shared": package.shared, "nodes": dict(package.nodes)},
        "leaves": {branch: [leaf.as_json() for leaf in held] for branch, held in leaves.items()},
        "waivers": waivers, "policy": signing.policy.as_json(),
        "signatures": [
            _signature(10 * number + place, role, package.digest)
            for place, role in enumerate(signing.policy.layers[layer].roles)
        ],
    }  # fmt: skip


def _signature(number: int, role: str, digest: str) -> dict[str, Any]:
    signer, name = PEOPLE[role]
    return {
        "id": number, "role": role, "signer": signer, "name": name, "digest": digest, "round": 1,
        "signed_at": (NOON + timedelta(minutes=number)).isoformat(), "meaning": "reviewed", "contributor": False,
        "expires_at": (NOON + timedelta(hours=72)).isoformat(),
    }  # fmt: skip


def _entries(layers: list[dict[str, Any]], change: Change | None) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    acts = [(f"run-7/{layer['layer']}", one) for layer in layers for one in layer["signatures"]]
    for place, (target, one) in enumerate(acts):
        previous = entries[-1]["digest"] if entries else "ab" * 32
        entry = Entry(
            40 + place, previous, NOON + timedelta(minutes=one["id"]), one["signer"], one["name"], "signed", "helios",
            target, "", _told(one), "3",
        )  # fmt: skip
        entries.append(_chained(entry.opened(), change))
    return entries


def _told(one: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: one[key] for key in ("digest", "round", "role", "meaning", "contributor")}
    return told | {"signature": one["id"], "policy": 0, "for": ""}


def _chained(said: dict[str, Any], change: Change | None) -> dict[str, Any]:
    if change is not None:
        change(said)
    act = {key: held for key, held in said.items() if key not in PLACE}
    place = {key: said[key] for key in PLACE}
    told = act["act"] if "act" in act else digest(Tag.ACT, act)
    return said | {"digest": digest(Tag.LEDGER, place | {"act": told})}


def _anchor(entries: list[dict[str, Any]]) -> dict[str, object]:
    return _sealed(Anchor(entries[-1]["seq"], entries[-1]["digest"], ISSUED, KEY_ID))


def signed_anchor(anchor: Mapping[str, Any], *, head: str, seq: int | None = None) -> dict[str, object]:
    """Another anchor in the place of *anchor*, by the same key: its signature holds."""
    return _sealed(Anchor(seq if seq is not None else anchor["seq"], head, ISSUED, KEY_ID))


def _sealed(anchor: Anchor) -> dict[str, object]:
    return anchor.as_json() | {"signature": KEY.sign(anchor.signed_bytes).hex()}
