"""What is signed of one node's layer."""

from dataclasses import replace

from checks.domain.manifest import Leaf, has_leaf, identity_changed, identity_of, layer_digest
from checks.domain.verdicts import Layer, Verdict
from tests.domain.building import item_of, measured

ITEM = item_of(facts={"live": "count", "serial": "text"}, identity=["serial"])
LEAF = Leaf(ITEM, "", Verdict.PASS, {"serial": "S1"}, epoch=0)


def digest_of(*leaves: Leaf, layer: Layer = Layer.SYSTEM) -> str:
    return layer_digest(layer, leaves)


def test_the_order_in_which_leaves_come_changes_nothing() -> None:
    other = replace(LEAF, subject="gpu1")

    assert digest_of(LEAF, other) == digest_of(other, LEAF)


def test_a_verdict_an_identity_an_epoch_and_a_layer_each_change_it() -> None:
    changed = [
        digest_of(replace(LEAF, settled=Verdict.FAIL)),
        digest_of(replace(LEAF, identity={"serial": "S2"})),
        digest_of(replace(LEAF, epoch=1)),
        digest_of(LEAF, layer=Layer.PHYSICAL),
        digest_of(),
    ]

    assert len({digest_of(LEAF), *changed}) == 6


def test_a_text_changes_nothing() -> None:
    retold = replace(ITEM, en=replace(ITEM.en, title="told better"))

    assert digest_of(replace(LEAF, item=retold)) == digest_of(LEAF)


def test_warnings_shadow_and_items_of_a_start_are_not_signed() -> None:
    assert has_leaf(ITEM)
    assert not any(
        has_leaf(item_of(**keys)) for keys in ({"severity": "warning"}, {"shadow": True}, {"cadence": "start"})
    )


def test_an_identity_value_changes_at_once_and_a_missing_one_keeps_the_last() -> None:
    known = identity_of(ITEM, measured(ITEM, live=9, serial="S1").value, {})
    missing = identity_of(ITEM, measured(ITEM, live=9).value, known)
    swapped = identity_of(ITEM, measured(ITEM, live=9, serial="S2").value, known)

    assert known == missing == {"serial": "S1"}
    assert not identity_changed({}, known)
    assert not identity_changed(known, missing)
    assert identity_changed(known, swapped)
