"""May this run start?"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.answers import Basis, Why
from checks.domain.launch import OVER, RUNNING, RunFacts, SharedFacts, SharedRow
from checks.domain.package import WaiverFacts
from checks.domain.readiness import Question, etag
from checks.domain.signoff import LayerState, SignState
from checks.domain.verdicts import Cadence, Layer, Purpose, Reason, Verdict
from checks.models.runs import OVER as STAGES_OVER
from checks.models.runs import Stage
from tests.domain.building import NOON, item_of
from tests.domain.signing import A_MICROSECOND, ALL_SIGNED, HOUR, UUIDS, launch, nodes, row, start, summary, told

END = NOON + HOUR / 2
WAIVER = WaiverFacts("w-7", Layer.PHYSICAL, "gpu-ecc", frozenset({UUIDS["gpu001"]}), END)
POOL = ("gpu001", "gpu002", "gpu003")


def test_a_signed_run_starts_on_its_named_nodes() -> None:
    answer = start(launch())

    assert told(answer) == ("ready", [])
    assert (answer.basis, answer.ready_nodes) == (Basis.SIGNED, POOL)
    assert answer.next_action == "Start the run on these nodes."


def test_the_stages_are_those_of_the_runs() -> None:
    assert OVER == STAGES_OVER
    assert RUNNING == Stage.RUNNING


@pytest.mark.parametrize("stage", sorted(OVER))
def test_a_run_that_has_ended_does_not_start(stage: str) -> None:
    assert told(start(launch(run=RunFacts(stage, 2, UUIDS)))) == ("not_ready", ["run_over"])


@pytest.mark.parametrize("layer", Layer)
def test_each_layer_must_be_signed(layer: Layer) -> None:
    without = {key: held for key, held in ALL_SIGNED.items() if key is not layer}

    answer = start(launch(), states=without)

    assert told(answer) == ("not_ready", ["unsigned"])
    assert answer.reasons[0].layer == layer


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (SignState.UNSIGNED, "unsigned"),
        (SignState.HALF, "half_signed"),
        (SignState.OUTDATED, "outdated"),
        (SignState.EXPIRED, "expired"),
        (SignState.REVOKED, "revoked"),
    ],
)
def test_every_state_but_signed_closes_the_gate_and_says_who_is_missing(state: SignState, code: str) -> None:
    states = {**ALL_SIGNED, Layer.PHYSICAL: LayerState(state, 1, (), ("hardware",))}

    answer = start(launch(), states=states)

    assert told(answer) == ("not_ready", [code])
    assert (answer.reasons[0].value, answer.reasons[0].layer) == ("hardware", "physical")
    assert answer.as_json(",".join)["signatures"][0] == {  # type: ignore[index]
        "layer": "physical", "state": state, "missing_roles": ["hardware"],
    }  # fmt: skip


def test_a_failing_blocker_closes_a_signed_run_at_once() -> None:
    answer = start(launch(nodes(row("gpu002"))))

    assert told(answer) == ("not_ready", ["criterion"])
    assert answer.not_ready_nodes == ("gpu002",)


def test_a_cure_comes_before_a_signature_in_the_list() -> None:
    states = {**ALL_SIGNED, Layer.PHYSICAL: LayerState(SignState.HALF, 1, (), ("hardware",))}
    unknown = row("gpu002", Verdict.UNKNOWN, reason=Reason.HUNG, layer="operations")

    answer = start(launch(nodes(unknown)), states=states)

    assert told(answer)[1] == ["hung", "half_signed"]
    assert answer.next_action.startswith("Cure gpu-ecc on gpu002")


def test_a_waived_failure_is_told_and_closes_nothing() -> None:
    answer = start(launch(nodes(row()), waivers=[WAIVER]))

    assert told(answer) == ("ready", ["waived"])
    assert (answer.reasons[0].verdict, answer.expires_at) == (Verdict.WAIVED, NOON + timedelta(seconds=300))


def test_a_waiver_ends_in_the_very_second_and_the_answer_with_it() -> None:
    asked = launch(nodes(row()), waivers=[WAIVER])

    last = start(asked, now=END)
    assert (told(last)[0], last.expires_at) == ("ready", END)
    assert told(start(asked, now=END + A_MICROSECOND)) == ("not_ready", ["criterion"])


@pytest.mark.parametrize(
    "other",
    [
        {"item": "gpu-xid"},
        {"nodes": frozenset({UUIDS["gpu002"]})},
        {"nodes": frozenset()},
        {"layer": Layer.SYSTEM},
        {"until": NOON - HOUR},
    ],
)
def test_a_waiver_for_anything_else_changes_nothing(other: dict[str, Any]) -> None:
    assert told(start(launch(nodes(row()), waivers=[replace(WAIVER, **other)]))) == ("not_ready", ["criterion"])


def test_a_waiver_covers_failures_only() -> None:
    unknown = row(verdict=Verdict.UNKNOWN, reason=Reason.HUNG)

    assert told(start(launch(nodes(unknown), waivers=[WAIVER]))) == ("unknown", ["hung"])
    late = start(launch(nodes(row(until=NOON)), waivers=[WAIVER]), now=NOON + A_MICROSECOND)
    assert told(late) == ("unknown", ["stale"])


def test_a_node_that_differs_from_its_like_can_be_waived_too() -> None:
    odd = Why(Reason.NOT_UNIFORM, Verdict.FAIL, "gpu001", "physical", "gpu-ecc", "gpu0")

    assert told(start(launch(nodes(compared=[odd])))) == ("not_ready", ["not_uniform"])
    assert told(start(launch(nodes(compared=[odd]), waivers=[WAIVER]))) == ("ready", ["waived"])


def test_what_is_not_settled_holds_a_start_back_whatever_its_verdict() -> None:
    moving = row(verdict=Verdict.PASS)

    assert told(start(launch(nodes(unsettled=[moving])))) == ("unknown", ["unsettled"])
    waived = launch(nodes(row(), unsettled=[row()]), waivers=[WAIVER])
    assert told(start(waived)) == ("unknown", ["unsettled", "waived"])


def test_a_failure_that_is_not_settled_is_one_reason() -> None:
    assert told(start(launch(nodes(row(), unsettled=[row()])))) == ("not_ready", ["criterion"])


def test_a_node_that_a_signed_layer_does_not_cover_disables_itself_only() -> None:
    partly = replace(ALL_SIGNED[Layer.SYSTEM], outdated_nodes=frozenset({UUIDS["gpu003"]}))
    states = {**ALL_SIGNED, Layer.SYSTEM: partly}

    answer = start(launch(), states=states)
    assert told(answer) == ("not_ready", ["outdated_node"])
    assert (answer.not_ready_nodes, answer.reasons[0].layer) == (("gpu003",), "system")
    assert told(start(launch(nodes(only=POOL[:2])), states=states)) == ("ready", [])
    assert told(start(launch(nodes(named=False)), states=states)) == ("ready", ["outdated_node"])


def test_a_node_from_outside_the_pool_starts_nothing() -> None:
    answer = start(launch(nodes(only=[*POOL, "gpu009"])))

    assert told(answer) == ("not_ready", ["not_in_pool"])
    assert answer.not_ready_nodes == ("gpu009",)


def test_a_node_that_nobody_enrolled_is_unknown() -> None:
    asked = launch(question=Question(Purpose.START, "helios", "run-7", unknown_nodes=("gpu999",)))

    assert told(start(asked)) == ("unknown", ["unknown_node"])


def test_no_node_is_unknown_named_or_not() -> None:
    for named in (True, False):
        assert told(start(launch(nodes(only=[], named=named)))) == ("unknown", ["no_nodes"])


def test_without_names_as_many_ready_nodes_as_the_job_needs_suffice_and_the_answer_lists_them() -> None:
    answer = start(launch(nodes(row("gpu002"), named=False)))

    assert told(answer) == ("ready", ["criterion"])
    assert answer.as_json(",".join)["nodes"] == {
        "asked": 3, "ready": 2, "ready_nodes": "gpu001,gpu003", "not_ready_nodes": "gpu002", "unknown_nodes": "",
    }  # fmt: skip


def test_with_names_every_one_of_them_must_be_ready() -> None:
    assert told(start(launch(nodes(row("gpu002")))))[0] == "not_ready"


def test_too_few_ready_nodes_are_not_ready_when_that_is_certain_and_else_unknown() -> None:
    dark = row("gpu003", Verdict.UNKNOWN, reason=Reason.HUNG)

    certain = start(launch(nodes(row("gpu001"), row("gpu002"), named=False)))
    assert (certain.decision, certain.reasons[-1].code) == ("not_ready", Reason.TOO_FEW_NODES)
    assert (certain.reasons[-1].value, certain.reasons[-1].threshold) == (1, 2)
    maybe = start(launch(nodes(row("gpu001"), dark, named=False)))
    assert (maybe.decision, maybe.reasons[-1].code) == ("unknown", Reason.TOO_FEW_NODES)


def test_without_names_an_unsigned_layer_still_closes() -> None:
    assert told(start(launch(nodes(named=False)), states={}))[0] == "not_ready"


def test_a_replayed_a_rejudged_and_a_silent_node_start_nothing() -> None:
    old = summary(until={Cadence.TICK: NOON, Cadence.DAILY: NOON + HOUR})
    for one, code in ((summary(replayed=True), "replayed"), (summary(judged_under="old"), "rejudging"), (old, "stale")):
        answer = start(launch(replace(nodes(), summaries=[one])), now=NOON + A_MICROSECOND)
        assert told(answer) == ("unknown", [code])


def test_offline_evidence_that_ended_holds_a_start_back() -> None:
    ended = summary(until={**summary().until, Cadence.OFFLINE: NOON - HOUR})

    assert told(start(launch(replace(nodes(), summaries=[ended])))) == ("unknown", ["stale"])


def test_a_node_that_proved_nothing_is_unknown_even_when_what_it_fails_is_waived() -> None:
    empty = summary(pass_physical=0, bad=1, failed=1)

    answer = start(launch(replace(nodes(row()), summaries=[empty]), waivers=[WAIVER]))

    assert told(answer) == ("unknown", ["nothing_proved", "waived"])


def test_rows_that_were_not_read_keep_the_gate_closed() -> None:
    unread = replace(nodes(), summaries=[summary(bad=2, failed=2)])
    answer = start(launch(unread))

    assert (answer.decision, answer.reasons_total) == ("not_ready", 2)


ITEM = item_of(cadence="run", scope="cluster")


def shared_row(verdict: Verdict = Verdict.FAIL, **changes: Any) -> SharedRow:
    unsettled = changes.pop("unsettled", False)
    return SharedRow(row("", verdict, layer="system", item="an-item", subject="", **changes), unsettled)


def test_a_shared_blocker_that_was_never_measured_is_unknown() -> None:
    answer = start(launch(), shared=SharedFacts([ITEM]))

    assert told(answer) == ("unknown", ["never_measured"])
    assert (answer.reasons[0].item, answer.reasons[0].node) == ("an-item", "")


def test_a_shared_blocker_that_fails_closes_the_gate_unless_it_is_waived() -> None:
    shared = SharedFacts([ITEM], [shared_row()])
    waiver = replace(WAIVER, layer=Layer.SYSTEM, item="an-item", nodes=frozenset())

    assert told(start(launch(), shared=shared)) == ("not_ready", ["criterion"])
    assert told(start(launch(waivers=[waiver]), shared=shared)) == ("ready", ["waived"])


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.WARN, Verdict.NA])
def test_a_shared_blocker_that_passes_counts_until_its_evidence_ends(verdict: Verdict) -> None:
    shared = SharedFacts([ITEM], [shared_row(verdict, until=NOON + timedelta(seconds=9))])

    answer = start(launch(), shared=shared)
    assert (told(answer), answer.ttl_s) == (("ready", []), 9)
    assert told(start(launch(), shared=shared, now=NOON + timedelta(seconds=10))) == ("unknown", ["stale"])


def test_a_shared_blocker_that_is_not_settled_holds_back_and_an_item_of_the_start_never_settles() -> None:
    moving = SharedFacts([ITEM], [shared_row(Verdict.PASS, unsettled=True)])
    at_start = SharedFacts([ITEM], [shared_row(Verdict.PASS, unsettled=True, cadence=Cadence.START)])

    assert told(start(launch(), shared=moving)) == ("unknown", ["unsettled"])
    assert told(start(launch(), shared=at_start)) == ("ready", [])


def test_a_suspect_check_says_so_and_decides_as_before() -> None:
    answer = start(launch(nodes(row(), suspects={"gpu-ecc"})))

    assert told(answer) == ("not_ready", ["suspect_check"])


def test_the_answer_ends_with_the_first_signature() -> None:
    soon = {**ALL_SIGNED, Layer.DATA: replace(ALL_SIGNED[Layer.DATA], until=NOON + timedelta(seconds=7))}

    assert start(launch(), states=soon).ttl_s == 7


def test_the_etag_moves_with_a_signature() -> None:
    one, other = start(launch()), start(launch(), states={})

    assert etag(one.as_json(",".join)) != etag(other.as_json(",".join))
    assert etag(one.as_json(",".join)) == etag(start(launch(), now=NOON + timedelta(seconds=9)).as_json(",".join))


VERDICTS = st.sampled_from([Verdict.FAIL, Verdict.UNKNOWN])
ROWS = st.lists(
    st.builds(row, st.sampled_from(POOL), VERDICTS, item=st.sampled_from(["gpu-ecc", "gpu-xid"])), max_size=4
)
WAIVERS = st.lists(
    st.builds(
        WaiverFacts,
        id=st.just("w"),
        layer=st.just(Layer.PHYSICAL),
        item=st.sampled_from(["gpu-ecc", "gpu-xid"]),
        nodes=st.frozensets(st.sampled_from(list(UUIDS.values()))),
        until=st.sampled_from([NOON - HOUR, NOON + HOUR]),
    ),
    max_size=3,
)
STATES = st.dictionaries(
    st.sampled_from(Layer), st.builds(LayerState, st.sampled_from(SignState), st.just(1), st.just(()), st.just(()))
)


@given(ROWS, WAIVERS, STATES, st.booleans())
def test_ready_needs_everything(rows: list[Any], waivers: list[WaiverFacts], states: Any, named: bool) -> None:
    answer = start(launch(nodes(*rows, named=named), waivers=waivers), states={**ALL_SIGNED, **states})

    bad = {one.node for one in rows if one.verdict is Verdict.UNKNOWN or not any(
        waiver.until >= NOON and waiver.item == one.item and UUIDS[one.node] in waiver.nodes for waiver in waivers
    )}  # fmt: skip
    signed = all(one.state is SignState.SIGNED for one in {**ALL_SIGNED, **states}.values())
    assert answer.ready == (signed and len(bad) <= (0 if named else 1))
    assert set(answer.ready_nodes) == set(POOL) - bad
