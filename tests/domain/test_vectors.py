"""The test vectors of docs/manifest.md, whose digests were computed with sha256sum: for the portal and the verifier."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from checks.certificate import verify_certificate
from checks.domain.canonical import Tag, canonical_bytes, digest
from checks.domain.ledger import GENESIS, Entry
from checks.domain.manifest import Leaf, layer_digest
from checks.domain.package import Header, Package, WaiverFacts, shared_digest
from checks.domain.policy import DEFAULT_POLICY
from checks.domain.signoff import WhyNot
from checks.domain.verdicts import Layer, Verdict
from tests.domain.building import NOON, item_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "manifest.md").read_text(encoding="utf-8")
VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "vectors" / "manifest.json").read_text(encoding="utf-8")
)
LARGEST = 2**63 - 1
NODES = ("0c5d1a10-0000-4000-8000-000000000001", "0c5d1a10-0000-4000-8000-000000000002")


def of(place: int) -> str:
    """The digest of one vector."""
    return str(VECTORS[place]["digest"])


def leaf(threshold: int | None, **parts: Any) -> Leaf:
    """A leaf of an item whose version is a row of threes."""
    item = item_of(criteria=[{"fact": "live", "operator": "ge", "threshold": threshold or 1}])
    criteria = item.criteria if threshold else ()
    return Leaf(replace(item, version="3" * 64, criteria=criteria), **parts)


ONE = leaf(LARGEST, subject="gpu0", settled=Verdict.PASS, identity={"serial": "GU\u0308-1"}, epoch=0)
OTHER = leaf(None, subject="gpu10", settled=Verdict.NA, identity={}, epoch=3)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["tag"]))
def test_the_portal_writes_each_vector_in_the_one_form_and_hashes_it_alike(vector: dict[str, Any]) -> None:
    assert canonical_bytes(vector["value"]).decode() == vector["canonical"]
    assert digest(Tag(vector["tag"]), vector["value"]) == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["tag"]))
def test_the_verifier_hashes_each_vector_alike(vector: dict[str, Any]) -> None:
    kind = vector["tag"].split("/")[1]

    assert verify_certificate.digest(kind, json.loads(vector["canonical"])) == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["tag"]))
def test_a_digest_is_sha256_of_tag_zero_byte_and_form(vector: dict[str, Any]) -> None:
    text = f"{vector['tag']}\0{vector['canonical']}"

    assert hashlib.sha256(text.encode()).hexdigest() == vector["digest"]


def test_leaves_and_branches_are_those_of_the_vectors() -> None:
    assert (ONE.digest, OTHER.digest) == (of(0), of(1))
    assert layer_digest(Layer.PHYSICAL, [OTHER, ONE]) == of(2)
    assert layer_digest(Layer.PHYSICAL, []) == of(3)
    assert (shared_digest([ONE]), shared_digest([])) == (of(4), of(5))


def test_policy_package_and_entry_are_those_of_the_vectors() -> None:
    waiver = WaiverFacts("7", Layer.PHYSICAL, "an-item", frozenset(NODES[1:]), NOON + timedelta(days=3))
    run = {"nodes_needed": 2, "bytes_per_parameter": {"weights": 2.5}, "parameters": None}
    header = Header(run, DEFAULT_POLICY.digest, (waiver,)).as_json()
    package = Package(Layer.PHYSICAL, header, of(5), {NODES[1]: of(3), NODES[0]: of(2)})
    data = {"signature": 7, "digest": package.digest, "round": 1, "delegation": None}
    entry = Entry(1, GENESIS, NOON, "11", "Anna Ü.", "signed", "helios", "run-7/physical", "", data, "3")

    assert (DEFAULT_POLICY.digest, package.digest) == (of(6), of(7))
    assert (entry.closed()["act"], entry.digest) == (of(8), of(9))


def test_the_page_shows_every_vector_tag_and_code() -> None:
    for vector in VECTORS:
        assert f"| {vector['name']} | `{vector['digest']}` |" in PAGE
        assert f"| `{vector['tag']}` |" in PAGE
    assert [code for code in WhyNot if f"`{code}`" not in PAGE] == []
