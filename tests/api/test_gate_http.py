"""A gate answer on the wire: what a shell reads, and when a cached copy still says the same."""

from typing import Any

import pytest
from django.test import RequestFactory

from checks.api.gate_http import json_response, text_lines, text_refusal, text_response

ECC = {
    "code": "criterion", "layer": "physical", "item": "gpu-ecc", "node": "gpu003", "subject": "gpu4", "verdict": "fail",
    "value": 2, "threshold": 0, "age_s": 41, "remedy": "Replace the GPU.", "owner": "hardware",
}  # fmt: skip


def answer(**changes: Any) -> dict[str, Any]:
    """What the gate says about two nodes of which one has a broken GPU."""
    return {
        "decision": "not_ready", "ready": False, "purpose": "health", "basis": "checks", "cluster": "lab", "run": None,
        "catalog_version": "2026.11.1", "evaluated_at": "2026-11-30T12:00:00Z", "expires_at": "2026-11-30T12:04:00Z",
        "ttl_s": 240, "nodes": {"asked": 2, "ready": 1, "not_ready_nodes": "gpu003", "unknown_nodes": ""},
        "reasons": [ECC], "reasons_total": 1, "signatures": [], "maintenance": {"active": False, "until": None},
        "next_action": "Hardware: replace GPU 4 of gpu003.",
        "cost_of_waiting": None,
    } | changes  # fmt: skip


def conditional(etag: str) -> Any:
    return RequestFactory().get("/", headers={"If-None-Match": etag})


def tag_of(said: dict[str, Any]) -> str:
    return json_response(RequestFactory().get("/"), said)["ETag"]


def test_the_first_line_is_the_decision_and_nothing_else() -> None:
    assert next(text_lines(answer())) == "not_ready"


def test_a_reason_names_place_item_verdict_value_wish_and_who_cures_it() -> None:
    lines = list(text_lines(answer()))

    assert "gpu003 gpu4 gpu-ecc fail (criterion): 2, threshold 0; Replace the GPU. [hardware]" in lines


@pytest.mark.parametrize(
    ("value", "threshold", "said"),
    [
        (False, True, "false, threshold true"),
        (1.0, 0.5, "1, threshold 0.5"),
        (3, ["xfs", "ext4"], "3, threshold xfs, ext4"),
        ("NDR", ("NDR", "XDR"), "NDR, threshold NDR, XDR"),
    ],
)
def test_a_value_reads_as_no_programming_language_spells_it(value: Any, threshold: Any, said: str) -> None:
    lines = list(text_lines(answer(reasons=[ECC | {"value": value, "threshold": threshold}])))

    assert f"gpu003 gpu4 gpu-ecc fail (criterion): {said}; Replace the GPU. [hardware]" in lines


def test_ready_is_200_not_ready_409_and_cannot_tell_503() -> None:
    statuses = [text_response(answer(decision=decision)).status_code for decision in ("ready", "not_ready", "unknown")]

    assert statuses == [200, 409, 503]


def test_more_reasons_than_are_listed_are_counted() -> None:
    assert "… and 399 more reasons" in list(text_lines(answer(reasons_total=400)))


def test_a_nodes_own_words_cannot_move_the_cursor_or_begin_a_line() -> None:
    hostile = ECC | {"value": "\x1b[2Jok\nready"}

    lines = list(text_lines(answer(reasons=[hostile])))

    assert [line for line in lines if "gpu-ecc" in line] == [
        "gpu003 gpu4 gpu-ecc fail (criterion): \\x1b[2Jok\\x0aready, threshold 0; Replace the GPU. [hardware]"
    ]


def test_a_refusal_in_plain_text_begins_with_unknown() -> None:
    response = text_refusal(status=404, code="not_found", detail="There is no such cluster.")

    assert (response.status_code, response.content.decode()) == (404, "unknown\nnot_found: There is no such cluster.\n")
    assert response["Content-Type"] == "text/plain; charset=utf-8"


def test_a_later_answer_that_says_the_same_has_the_same_tag() -> None:
    clock = {"evaluated_at": "2026-11-30T12:01:00Z", "expires_at": "2026-11-30T12:05:00Z", "ttl_s": 239}
    later = answer(**clock, reasons=[ECC | {"age_s": 101}])

    assert tag_of(later) == tag_of(answer())


def test_another_value_of_the_same_reason_has_another_tag() -> None:
    assert tag_of(answer(reasons=[ECC | {"value": 3}])) != tag_of(answer())


def test_a_copy_that_still_says_the_same_gets_304_with_its_lifetime() -> None:
    response = json_response(conditional(tag_of(answer())), answer())

    assert (response.status_code, response.content) == (304, b"")
    assert (response["Gate-TTL"], response["Cache-Control"]) == ("240", "private, no-cache")


def test_a_tag_that_a_proxy_weakened_is_the_same_tag() -> None:
    response = json_response(conditional(f'"other", W/{tag_of(answer())}'), answer())

    assert response.status_code == 304


def test_a_star_is_no_copy() -> None:
    assert json_response(conditional("*"), answer()).status_code == 200


def test_a_copy_of_another_decision_gets_the_whole_answer() -> None:
    response = json_response(conditional(tag_of(answer(decision="ready"))), answer())

    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
