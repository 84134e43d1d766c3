"""Who signs, and for how long."""

import json
from datetime import timedelta
from typing import Any

import pytest

from checks.domain.policy import DEFAULT_POLICY, InvalidPolicy, Policy
from checks.domain.verdicts import Layer
from tests.domain.building import NOON

# As the design states it.
DEFAULT = {
    "layers": {
        "physical": {"roles": ["hardware", "platform"], "expires_after_h": 72},
        "system": {"roles": ["platform"], "expires_after_h": 168},
        "framework": {"roles": ["platform", "lead"]},
        "data": {"roles": ["data", "lead"]},
        "operations": {"roles": ["lead"]},
    },
    "contributors_may_sign": False,
}


def with_layer(name: str, part: Any) -> dict[str, Any]:
    return DEFAULT | {"layers": DEFAULT["layers"] | {name: part}}  # type: ignore[operator]


def test_the_default_is_the_one_that_the_design_states() -> None:
    assert DEFAULT_POLICY.as_json() == DEFAULT


def test_a_policy_reads_what_it_writes() -> None:
    again = Policy.read(json.loads(json.dumps(DEFAULT_POLICY.as_json())))

    assert (again, again.digest) == (DEFAULT_POLICY, DEFAULT_POLICY.digest)


def test_a_part_in_another_order_is_the_same_policy_and_another_role_is_not() -> None:
    turned = DEFAULT | {"layers": dict(reversed(DEFAULT["layers"].items()))}  # type: ignore[attr-defined]

    assert Policy.read(turned).digest == DEFAULT_POLICY.digest
    assert Policy.read(with_layer("system", {"roles": ["lead"]})).digest != DEFAULT_POLICY.digest


@pytest.mark.parametrize("layer", Layer)
def test_a_layer_that_is_not_named_makes_it_no_policy(layer: Layer) -> None:
    document = DEFAULT | {"layers": {name: held for name, held in DEFAULT["layers"].items() if name != layer}}  # type: ignore[attr-defined]

    with pytest.raises(InvalidPolicy, match=f"who signs the layer {layer}"):
        Policy.read(document)


@pytest.mark.parametrize("roles", [["hardware"], ["platform"], ["hardware", "lead"], ["lead", "platform"]])
def test_physical_always_needs_hardware_and_platform(roles: list[str]) -> None:
    with pytest.raises(InvalidPolicy, match="always needs both roles"):
        Policy.read(with_layer("physical", {"roles": roles}))


def test_physical_may_ask_for_a_third_person() -> None:
    policy = Policy.read(with_layer("physical", {"roles": ["hardware", "platform", "lead"]}))

    assert policy.layers[Layer.PHYSICAL].roles == ("hardware", "platform", "lead")


@pytest.mark.parametrize(
    "part",
    [
        {"roles": []}, {"roles": ["viewer"]}, {"roles": ["admin"]}, {"roles": ["lead", "lead"]}, {"roles": "lead"},
        {"roles": [1]}, {"roles": [["lead"]]}, {"roles": None}, {}, [], "lead", 7,
        {"roles": ["lead"], "expires_after_h": 0}, {"roles": ["lead"], "expires_after_h": -1},
        {"roles": ["lead"], "expires_after_h": "72"}, {"roles": ["lead"], "expires_after_h": 1.5},
        {"roles": ["lead"], "expires_after_h": True}, {"roles": ["lead"], "expires_after_h": 10**9},
        {"roles": ["lead"], "any": 1},
    ],
)  # fmt: skip
def test_a_layer_that_cannot_be_is_refused_in_one_sentence(part: Any) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        Policy.read(with_layer("system", part))

    assert refused.value.message.endswith(".")
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "document",
    [
        {}, {"layers": []}, {"layers": None}, DEFAULT | {"nobody": True}, with_layer("finance", {"roles": ["lead"]}),
        DEFAULT | {"contributors_may_sign": "yes"}, DEFAULT | {"contributors_may_sign": 1},
    ],
)  # fmt: skip
def test_a_document_with_a_part_that_is_not_known_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidPolicy):
        Policy.read(document)


def test_contributors_may_sign_only_where_it_says_so() -> None:
    silent = {"layers": DEFAULT["layers"]}

    assert not Policy.read(silent).contributors_may_sign
    relaxed = Policy.read(DEFAULT | {"contributors_may_sign": True})
    assert all(of_layer.contributors_may_sign for of_layer in relaxed.layers.values())
    assert relaxed.digest != DEFAULT_POLICY.digest


def test_a_signature_ends_with_the_policy_or_with_the_evidence_whichever_is_first() -> None:
    physical, data = DEFAULT_POLICY.layers[Layer.PHYSICAL], DEFAULT_POLICY.layers[Layer.DATA]
    early, late = NOON + timedelta(hours=71), NOON + timedelta(hours=73)

    assert physical.signature_ends(NOON, None) == NOON + timedelta(hours=72)
    assert physical.signature_ends(NOON, early) == early
    assert physical.signature_ends(NOON, late) == NOON + timedelta(hours=72)
    assert data.signature_ends(NOON, None) is None
    assert data.signature_ends(NOON, late) == late
