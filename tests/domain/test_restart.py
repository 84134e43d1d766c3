"""May this run come back, at three in the morning, without two people?"""

from dataclasses import replace
from typing import Any

import pytest

from checks.domain.answers import Basis, Why
from checks.domain.launch import IdentityChange, RunFacts, identity_changes
from checks.domain.manifest import Leaf
from checks.domain.package import WaiverFacts
from checks.domain.verdicts import Cadence, Layer, Reason, Verdict
from tests.domain.building import NOON, item_of
from tests.domain.signing import A_MICROSECOND, HOUR, STARTED, UUIDS, nodes, restart, row, summary, told

CHANGED = IdentityChange("gpu002", Layer.PHYSICAL, "gpu-present", "gpu3", "serial", "S1", "S2")


def test_a_run_comes_back_on_the_signatures_of_its_start() -> None:
    answer = restart()

    assert told(answer) == ("ready", [])
    assert answer.basis is Basis.SIGNED_AT_START
    assert {one.state.value for one in answer.signatures} == {"signed"}


@pytest.mark.parametrize("layer", ["physical", "system"])
@pytest.mark.parametrize("cadence", [Cadence.TICK, Cadence.DAILY])
def test_a_physical_or_system_blocker_of_tick_or_day_stops_it(layer: str, cadence: Cadence) -> None:
    answer = restart(nodes(row(layer=layer, cadence=cadence)))

    assert told(answer) == ("not_ready", ["criterion"])


@pytest.mark.parametrize(
    "other",
    [
        {"cadence": Cadence.OFFLINE},
        {"cadence": Cadence.RUN},
        {"cadence": Cadence.START},
        {"cadence": Cadence.ATTESTED},
        {"layer": "framework"},
        {"layer": "data"},
        {"layer": "operations"},
    ],
)
def test_what_was_proved_for_the_start_is_not_asked_again(other: dict[str, Any]) -> None:
    bad = row(**other)

    assert told(restart(nodes(bad, unsettled=[bad]))) == ("ready", [])


def test_an_identity_that_could_not_be_measured_is_not_known_to_be_the_signed_one() -> None:
    """The last known commit still stands in the row: it says nothing about what would run now."""
    lost = row(layer="framework", cadence=Cadence.DAILY, verdict=Verdict.UNKNOWN, reason=Reason.NOT_MEASURED)
    other = replace(lost, cadence=Cadence.RUN, identifies=True)

    assert told(restart(nodes(replace(lost, identifies=True)))) == ("unknown", ["not_measured"])
    assert told(restart(nodes(lost))) == ("ready", [])
    assert told(restart(nodes(other))) == ("ready", [])
    failed = replace(lost, identifies=True, verdict=Verdict.FAIL, reason=Reason.CRITERION)
    assert told(restart(nodes(failed))) == ("ready", [])


def test_offline_evidence_that_ended_is_not_asked_again_and_a_silent_agent_is() -> None:
    until = summary().until
    offline = replace(nodes(), summaries=[summary(until={**until, Cadence.OFFLINE: NOON - HOUR})])
    silent = replace(nodes(), summaries=[summary(until={**until, Cadence.TICK: NOON - HOUR})])

    assert told(restart(offline)) == ("ready", [])
    assert told(restart(silent)) == ("unknown", ["stale"])


def test_rows_that_were_not_read_keep_the_gate_closed() -> None:
    offline = row(cadence=Cadence.OFFLINE)
    unread = replace(nodes(offline), summaries=[summary(bad=2, failed=1)])

    assert told(restart(unread))[0] == "not_ready"


def test_a_waived_failure_counts_to_the_end_of_its_waiver() -> None:
    waiver = WaiverFacts("w-7", Layer.PHYSICAL, "gpu-ecc", frozenset({UUIDS["gpu001"]}), NOON)

    assert told(restart(nodes(row()), waivers=[waiver])) == ("ready", ["waived"])
    late = restart(nodes(row()), waivers=[waiver], now=NOON + A_MICROSECOND)
    assert told(late) == ("not_ready", ["criterion"])


def test_what_is_not_settled_holds_it_back() -> None:
    assert told(restart(nodes(unsettled=[row(verdict=Verdict.PASS)]))) == ("unknown", ["unsettled"])


def test_a_node_that_differs_from_its_like_stops_it_in_the_two_layers_only() -> None:
    odd = Why(Reason.NOT_UNIFORM, Verdict.FAIL, "gpu001", "physical", "gpu-firmware")

    assert told(restart(nodes(compared=[odd]))) == ("not_ready", ["not_uniform"])
    assert told(restart(nodes(compared=[replace(odd, layer="framework")]))) == ("ready", [])


def test_another_identity_value_stops_the_node_that_has_it() -> None:
    answer = restart(identities=[CHANGED])

    assert told(answer) == ("not_ready", ["identity_changed"])
    assert (answer.not_ready_nodes, answer.reasons[0].value, answer.reasons[0].threshold) == (
        ("gpu002",), "serial S2", "serial S1",
    )  # fmt: skip
    assert told(restart(nodes(only=["gpu001", "gpu003"]), identities=[CHANGED])) == ("ready", [])


def test_another_identity_of_what_all_nodes_share_stops_all() -> None:
    image = replace(CHANGED, node="", layer=Layer.FRAMEWORK, item="image-digest", subject="trainer")

    assert told(restart(nodes(named=False), identities=[image])) == ("not_ready", ["identity_changed"])


@pytest.mark.parametrize("stage", ["draft", "signoff", "cleared"])
def test_a_run_that_does_not_run_cannot_come_back(stage: str) -> None:
    assert told(restart(run=RunFacts(stage, 2, UUIDS))) == ("not_ready", ["not_started"])


def test_a_run_of_which_no_start_was_told_cannot_come_back() -> None:
    assert told(restart(started=None)) == ("not_ready", ["not_started"])


def test_a_run_that_has_ended_cannot_come_back() -> None:
    assert told(restart(run=RunFacts("aborted", 2, UUIDS))) == ("not_ready", ["run_over"])


def test_a_run_may_come_back_until_the_time_that_was_signed() -> None:
    last = replace(STARTED, restart_until=NOON)

    assert restart(started=last).expires_at == NOON
    assert told(restart(started=last))[0] == "ready"
    assert told(restart(started=last, now=NOON + A_MICROSECOND)) == ("not_ready", ["restart_over"])


def test_a_signature_revoked_since_the_start_stops_it() -> None:
    answer = restart(started=replace(STARTED, revoked=frozenset({Layer.SYSTEM})))

    assert told(answer) == ("not_ready", ["revoked"])
    assert answer.reasons[0].layer == "system"


def test_a_layer_that_was_not_signed_at_the_start_stops_it() -> None:
    by_override = replace(STARTED, signed=frozenset(Layer) - {Layer.DATA})

    assert told(restart(started=by_override)) == ("not_ready", ["unsigned"])


def test_a_pool_node_may_replace_another_and_a_node_from_outside_may_not() -> None:
    assert told(restart(nodes(only=["gpu003"]))) == ("ready", [])
    assert told(restart(nodes(only=["gpu001", "gpu009"]))) == ("not_ready", ["not_in_pool"])


def test_a_pool_node_that_nobody_signed_for_may_not_replace_another() -> None:
    started = replace(STARTED, covered=frozenset({UUIDS["gpu001"], UUIDS["gpu002"]}))

    assert told(restart(started=started)) == ("not_ready", ["outdated_node"])


def test_without_names_the_pool_is_asked() -> None:
    assert told(restart(nodes(row("gpu002"), named=False))) == ("ready", ["criterion"])
    assert told(restart(nodes(row("gpu002"), row("gpu001"), named=False)))[0] == "not_ready"


ITEM = item_of(facts={"live": "count", "serial": "text"}, identity=["serial", "live"])
LEAF = Leaf(ITEM, "gpu3", Verdict.PASS, {"serial": "S1", "live": 8}, 0).as_json()


def changes(current: dict[str, Any], subject: str = "gpu3") -> list[tuple[str, str, str]]:
    found = identity_changes("gpu001", Layer.PHYSICAL, [LEAF], {(ITEM.key, subject): current})
    return [(one.name, one.signed, one.now) for one in found]


def test_an_identity_that_is_the_signed_one_is_no_change_however_it_was_stored() -> None:
    assert changes({"serial": "S1", "live": 8.0}) == []
    assert changes({"serial": "S1", "live": "8", "seen-first": "now"}) == []


def test_another_value_and_one_that_nobody_knows_any_more_are_changes() -> None:
    assert changes({"serial": "S2", "live": 8}) == [("serial", "S1", "S2")]
    assert changes({"serial": "S1"}) == [("live", "8", "")]
    assert changes({"serial": "S1", "live": 8}, subject="gpu4") == [("live", "8", ""), ("serial", "S1", "")]
