"""What is signed of one layer of one run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.canonical import canonical_bytes
from checks.domain.catalogue import Catalogue
from checks.domain.manifest import Leaf, has_leaf, layer_digest
from checks.domain.package import (
    Difference,
    Header,
    Package,
    WaiverFacts,
    compare,
    leaf_changes,
    shared_digest,
    signable,
)
from checks.domain.policy import DEFAULT_POLICY
from checks.domain.profiles import Ruleset
from checks.domain.settling import Settled, settle
from checks.domain.verdicts import Layer, Verdict
from tests.domain.building import NOON, item_of
from tests.domain.signing import A_MICROSECOND, SIGNED, UUIDS, package

ITEM = item_of(facts={"live": "count", "serial": "text"}, identity=["serial"])
LEAF = Leaf(ITEM, "", Verdict.PASS, {"serial": "S1"}, epoch=0)
GAP = timedelta(seconds=60)
WAIVER = WaiverFacts("w-7", Layer.PHYSICAL, "gpu-ecc", frozenset({"n-1"}), NOON)

LEAVES = st.lists(
    st.builds(
        Leaf,
        item=st.sampled_from([replace(ITEM, key=key) for key in ("a-1", "b-2", "ä-3")]),
        subject=st.sampled_from(["", "gpu0", "gpu1", "gpu10", "é"]),
        settled=st.sampled_from([Verdict.PASS, Verdict.FAIL, Verdict.NA]),
        identity=st.dictionaries(st.just("serial"), st.text(max_size=3)),
        epoch=st.integers(0, 3),
    ),
    unique_by=lambda leaf: (leaf.item.key, leaf.subject),
    max_size=8,
)


@given(LEAVES, st.randoms(use_true_random=False))
def test_the_order_in_which_leaves_and_nodes_come_changes_nothing(leaves: list[Leaf], random: Any) -> None:
    def digest(held: Sequence[Leaf], uuids: Sequence[str]) -> str:
        nodes = {uuid: layer_digest(Layer.PHYSICAL, held) for uuid in uuids}
        return package(nodes=nodes, shared=shared_digest(held)).digest

    shuffled, uuids = random.sample(leaves, len(leaves)), list(UUIDS.values())

    assert digest(leaves, uuids) == digest(shuffled, random.sample(uuids, len(uuids)))


@given(LEAVES, LEAVES)
def test_other_leaves_are_another_digest(one: list[Leaf], other: list[Leaf]) -> None:
    def said(leaves: list[Leaf]) -> bytes:
        return canonical_bytes([leaf.as_json() for leaf in sorted(leaves, key=lambda leaf: leaf.order)])

    assert (said(one) == said(other)) == (shared_digest(one) == shared_digest(other))
    assert (said(one) == said(other)) == (layer_digest(Layer.DATA, one) == layer_digest(Layer.DATA, other))


def test_an_empty_shared_branch_is_a_constant_that_no_layer_has() -> None:
    assert shared_digest([]) not in {layer_digest(layer, []) for layer in Layer}
    assert shared_digest([]) == shared_digest([])


def layers_of(rules: Ruleset) -> dict[Layer, str]:
    """Digests of all layers of a node on which everything passes."""
    leaves = [
        Leaf(rules.items[key], subject, Verdict.PASS, {}, 0)
        for key in rules.node_items() if has_leaf(rules.items[key]) for subject in rules.subjects(key)
    ]  # fmt: skip
    return {layer: layer_digest(layer, [leaf for leaf in leaves if leaf.item.layer is layer]) for layer in Layer}


def retold(catalogue: Catalogue) -> Catalogue:
    """The catalogue with every Chinese text and title corrected."""
    items = {
        key: replace(
            item, zh=replace(item.zh, title=item.zh.title + "。"), en=replace(item.en, remedy="Do it."), version=""
        )
        for key, item in catalogue.items.items()
    }
    return replace(catalogue, items=items)


def test_a_corrected_translation_changes_nothing(catalogue: Catalogue) -> None:
    before, after = (layers_of(Ruleset.build(one, "8xh100", {})) for one in (catalogue, retold(catalogue)))

    assert before == after


def test_a_threshold_changes_only_its_layer(catalogue: Catalogue, h100x8: Ruleset) -> None:
    other = {"sysctl-netdev-backlog": {"live": {"threshold": 6000, "reason": "r", "source": "s"}}}
    before, after = layers_of(h100x8), layers_of(Ruleset.build(catalogue, "8xh100", other))

    assert [layer for layer in Layer if before[layer] != after[layer]] == [Layer.SYSTEM]


def counted(*verdicts: Verdict) -> tuple[Settled, int]:
    """What has settled after these reports, a minute apart, and the epoch, as services count it."""
    settled, epoch = Settled(), 0
    for minute, raw in enumerate(verdicts):
        at = NOON + minute * GAP
        settled = settle(settled, raw, item=item_of(settle=3), observed_at=at, min_gap=GAP)
        epoch += settled.epoch_change
    return settled, epoch


def digest_after(*verdicts: Verdict) -> str:
    settled, epoch = counted(*verdicts)
    assert settled.verdict is not None
    return layer_digest(Layer.SYSTEM, [Leaf(ITEM, "", settled.verdict, {}, epoch)])


def test_pass_fail_pass_changes_it_and_pass_unknown_pass_does_not() -> None:
    good = [Verdict.PASS] * 3

    assert digest_after(*good, *[Verdict.FAIL] * 3, *good) != digest_after(*good)
    assert digest_after(*good, *[Verdict.UNKNOWN] * 30, *good) == digest_after(*good)
    assert digest_after(*good, *[Verdict.STALE] * 30, *good) == digest_after(*good)


def test_two_failures_that_did_not_last_change_nothing() -> None:
    good = [Verdict.PASS] * 3

    assert digest_after(*good, Verdict.FAIL, Verdict.FAIL, Verdict.PASS) == digest_after(*good)


@pytest.mark.parametrize(
    "changed",
    [
        package(header={**SIGNED.header, "policy": "another"}),
        package(shared="shared-2"),
        package(nodes={**SIGNED.nodes, UUIDS["gpu001"]: "another"}),
        package(nodes={UUIDS["gpu001"]: "hash-of-gpu001"}),
        package(layer=Layer.SYSTEM),
    ],
)
def test_every_part_of_a_package_is_in_its_digest(changed: Package) -> None:
    assert changed.digest != SIGNED.digest


def test_a_run_spec_from_the_database_is_the_one_that_was_hashed() -> None:
    def of(**run: object) -> Package:
        return package(header=Header(run, DEFAULT_POLICY.digest).as_json())

    assert of(bytes=2, parameters=None).digest == of(bytes=2.0).digest
    assert compare(of(bytes=2), of(bytes=2.0)) == Difference()


def test_waivers_stand_in_the_order_of_their_ids_and_without_reasons() -> None:
    later = replace(WAIVER, id="w-8", nodes=frozenset({"n-2", "n-1"}))

    assert Header({}, "p", (later, WAIVER)).as_json()["waivers"] == [
        {"id": "w-7", "item": "gpu-ecc", "nodes": ["n-1"], "until": "2026-11-29T12:00:00.000000+00:00"},
        {"id": "w-8", "item": "gpu-ecc", "nodes": ["n-1", "n-2"], "until": "2026-11-29T12:00:00.000000+00:00"},
    ]


def test_a_waiver_counts_to_its_end_and_no_microsecond_longer() -> None:
    assert WAIVER.in_force(NOON)
    assert not WAIVER.in_force(NOON + A_MICROSECOND)


def test_a_waiver_covers_its_item_on_its_nodes_and_nothing_else() -> None:
    shared = replace(WAIVER, nodes=frozenset())

    assert WAIVER.covers(item="gpu-ecc", node="n-1")
    assert not WAIVER.covers(item="gpu-ecc", node="n-2")
    assert not WAIVER.covers(item="gpu-xid", node="n-1")
    assert not WAIVER.covers(item="gpu-ecc", node="")
    assert shared.covers(item="gpu-ecc", node="")
    assert not shared.covers(item="gpu-ecc", node="n-1")


def test_signable_is_what_passes_or_does_not_apply_or_fails_under_a_waiver() -> None:
    assert signable(Verdict.PASS, waived=False)
    assert signable(Verdict.NA, waived=False)
    assert signable(Verdict.FAIL, waived=True)
    assert not signable(Verdict.FAIL, waived=False)
    assert not signable(None, waived=True)


def test_a_difference_names_what_changed() -> None:
    run = {**SIGNED.header["run"], "world_size": 48, "dataset": "new"}  # type: ignore[dict-item]
    nodes = {UUIDS["gpu001"]: "another", UUIDS["gpu002"]: "hash-of-gpu002", "added": "h"}

    found = compare(SIGNED, package(header={**SIGNED.header, "run": run}, shared="shared-2", nodes=nodes))

    assert found == Difference(
        header=("run.dataset", "run.world_size"),
        shared=True,
        nodes=frozenset({UUIDS["gpu001"], UUIDS["gpu003"]}),
        added=frozenset({"added"}),
    )


def changes(*now: Leaf, before: Sequence[Leaf] = (LEAF,)) -> list[tuple[str, str, str]]:
    stored = [leaf.as_json() for leaf in before]
    return [(one.what, one.before, one.after) for one in leaf_changes(stored, [leaf.as_json() for leaf in now])]


def test_what_changed_in_a_leaf_is_said_in_its_own_words() -> None:
    stricter = replace(ITEM, criteria=(replace(ITEM.criteria[0], threshold=6),))

    assert changes(replace(LEAF, settled=Verdict.FAIL, epoch=1)) == [("verdict", "pass", "fail")]
    assert changes(replace(LEAF, identity={"serial": "S2"}, epoch=1)) == [("identity", "serial S1", "serial S2")]
    assert changes(replace(LEAF, item=stricter)) == [("criteria", "live ge 5", "live ge 6")]
    assert changes() == [("removed", "pass", "")]
    assert changes(LEAF, before=()) == [("added", "", "pass")]
    assert changes(LEAF) == []


def test_a_failure_that_came_and_went_shows_in_the_epoch_alone() -> None:
    assert changes(replace(LEAF, epoch=2)) == [("epoch", "0", "2")]


def test_leaves_as_they_were_stored_are_the_leaves_as_they_are() -> None:
    stored = [{**LEAF.as_json(), "epoch": "0", "criteria": [{"fact": "live", "operator": "ge", "threshold": "5"}]}]

    assert leaf_changes(stored, [LEAF.as_json()]) == ()
