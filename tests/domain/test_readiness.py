"""The gate's decision."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.domain.answers import Answer, Why
from checks.domain.readiness import BadRow, NodeSummary, Question, decide, etag
from checks.domain.verdicts import Cadence, Decision, Purpose, Reason, Verdict
from tests.domain.building import NOON

HEALTH = Question(Purpose.HEALTH, "helios", catalogue_version="2026.11.1")
IN_TEN_MINUTES = NOON + timedelta(minutes=10)


def node(name: str = "gpu001", **changes: object) -> NodeSummary:
    """A healthy node, unless *changes* say otherwise."""
    healthy = NodeSummary(
        node=name,
        judged_under="rules-1",
        rules="rules-1",
        expected=frozenset({Cadence.TICK, Cadence.DAILY}),
        until={Cadence.TICK: IN_TEN_MINUTES, Cadence.DAILY: NOON + timedelta(hours=20)},
        bad=0,
        failed=0,
        pass_physical=12,
        pass_system=9,
    )
    return replace(healthy, **changes)  # type: ignore[arg-type]


def row(name: str = "gpu001", verdict: Verdict = Verdict.FAIL, **changes: object) -> BadRow:
    bad = BadRow(name, "physical", "gpu-ecc", "gpu3", verdict, Reason.CRITERION, Cadence.TICK, NOON, IN_TEN_MINUTES)
    return replace(bad, **changes)  # type: ignore[arg-type]


FAILING = node("gpu002", bad=1, failed=1)


def ask(
    nodes: Sequence[NodeSummary], rows: Sequence[BadRow] = (), question: Question = HEALTH, late_s: int = 0
) -> Answer:
    return decide(question, nodes, rows, now=NOON + timedelta(seconds=late_s))


def codes(answer: Answer) -> list[str]:
    return [why.code.value for why in answer.reasons]


def test_healthy_nodes_are_ready() -> None:
    answer = ask([node(), node("gpu002")])

    assert (answer.decision, answer.ready) == (Decision.READY, True)
    assert answer.ready_nodes == ("gpu001", "gpu002")
    assert answer.reasons_total == 0


def test_one_failing_node_makes_all_of_them_not_ready() -> None:
    answer = ask([node(), FAILING], [row("gpu002")])

    assert answer.decision is Decision.NOT_READY
    assert answer.not_ready_nodes == ("gpu002",)
    assert answer.next_action.startswith("Cure gpu-ecc on gpu002")


def test_an_unknown_row_is_unknown_and_not_a_failure() -> None:
    hung = row(verdict=Verdict.UNKNOWN, reason=Reason.HUNG)

    assert ask([node(bad=1)], [hung]).decision is Decision.UNKNOWN


def test_no_node_asked_is_unknown() -> None:
    assert (ask([]).decision, codes(ask([]))) == (Decision.UNKNOWN, ["no_nodes"])


def test_a_node_that_nobody_enrolled_is_listed_and_unknown_unless_something_fails() -> None:
    question = replace(HEALTH, unknown_nodes=("gpu999",))

    assert ask([node()], question=question).decision is Decision.UNKNOWN
    assert ask([node()], question=question).unknown_nodes == ("gpu999",)
    assert ask([FAILING], [row("gpu002")], question).decision is Decision.NOT_READY


@pytest.mark.parametrize("cadence", [Cadence.TICK, Cadence.DAILY])
def test_evidence_is_stale_by_the_clock_alone(cadence: Cadence) -> None:
    ends = node(until={Cadence.TICK: IN_TEN_MINUTES, Cadence.DAILY: IN_TEN_MINUTES} | {cadence: NOON})

    assert ask([ends]).decision is Decision.READY
    assert (ask([ends], late_s=1).decision, codes(ask([ends], late_s=1))) == (Decision.UNKNOWN, ["stale"])


def test_a_cadence_that_never_came_is_unknown() -> None:
    assert codes(ask([node(until={Cadence.TICK: IN_TEN_MINUTES})])) == ["never_measured"]


def test_a_failure_on_ended_evidence_is_stale_and_no_longer_a_failure() -> None:
    old = node(bad=1, failed=1, until={Cadence.TICK: NOON, Cadence.DAILY: IN_TEN_MINUTES})

    answer = ask([old], [row(until=NOON)], late_s=1)

    assert answer.decision is Decision.UNKNOWN
    assert {why.verdict for why in answer.reasons} == {Verdict.STALE}


def test_a_node_judged_by_other_rules_is_unknown_and_none_of_its_rows_is_believed() -> None:
    answer = ask([node(judged_under="rules-0", bad=1, failed=1)], [row()])

    assert (answer.decision, codes(answer)) == (Decision.UNKNOWN, ["rejudging"])


@pytest.mark.parametrize("passes", [{"pass_physical": 0}, {"pass_system": 0}])
def test_a_node_that_proved_nothing_of_a_layer_is_unknown(passes: dict[str, int]) -> None:
    answer = ask([node(), node("gpu002", **passes)])

    assert (answer.decision, codes(answer)) == (Decision.UNKNOWN, ["nothing_proved"])
    assert answer.ready_nodes == ("gpu001",)


@pytest.mark.parametrize("trouble", [Reason.HARDWARE_CHANGED, Reason.BOOT_CONFLICT])
def test_a_node_in_trouble_is_unknown(trouble: Reason) -> None:
    assert (ask([node(trouble=trouble)]).decision, codes(ask([node(trouble=trouble)]))) == ("unknown", [trouble])


@pytest.mark.parametrize("purpose", [Purpose.START, Purpose.RESTART])
def test_a_start_without_a_run_is_unknown_whatever_the_nodes(purpose: Purpose) -> None:
    question = replace(HEALTH, purpose=purpose)

    for nodes, rows in (([node()], []), ([FAILING], [row("gpu002")])):
        answer = ask(nodes, rows, question)
        assert (answer.decision, codes(answer)) == (Decision.UNKNOWN, ["run_required"])
        assert answer.ready_nodes == ()


def test_a_start_is_not_ready_while_nobody_signed() -> None:
    assert codes(ask([node()], question=replace(HEALTH, purpose=Purpose.START, run="r1"))) == ["unsigned"]


def test_a_replayed_node_may_be_healthy_and_starts_nothing() -> None:
    replayed = node(replayed=True)

    assert ask([replayed]).ready
    assert "replayed" in codes(ask([replayed], question=replace(HEALTH, purpose=Purpose.START, run="r1")))


def test_reasons_stand_worst_first() -> None:
    rows = [row(verdict=Verdict.UNKNOWN, reason=Reason.HUNG, item="a-first"), row(item="z-last")]
    stale = node("gpu002", until={Cadence.TICK: NOON - timedelta(seconds=1), Cadence.DAILY: IN_TEN_MINUTES})

    answer = ask([node(bad=2, failed=1), stale], rows)

    assert [why.verdict.value for why in answer.reasons] == ["fail", "unknown", "stale"]


def test_at_most_100_reasons_are_listed_and_all_are_counted() -> None:
    nodes = [node(f"gpu{n:03}", bad=2, failed=2) for n in range(512)]
    rows = [row(f"gpu{n:03}", subject=f"gpu{k}") for n in range(51) for k in range(2)][:101]

    answer = ask(nodes, rows)

    assert (len(answer.reasons), answer.reasons_total) == (100, 1024)
    assert len(answer.not_ready_nodes) == 512


def test_bad_rows_that_were_cut_off_still_close_their_node() -> None:
    assert ask([node(bad=3, failed=0)]).decision is Decision.UNKNOWN
    assert ask([node(bad=3, failed=1)]).decision is Decision.NOT_READY


def test_an_odd_node_among_uniform_ones_fails() -> None:
    odd = Why(Reason.NOT_UNIFORM, Verdict.FAIL, "gpu001", "physical", "gpu-firmware")

    answer = decide(HEALTH, [node()], [], now=NOON, compared=[odd])

    assert (answer.decision, answer.reasons_total) == (Decision.NOT_READY, 1)


def test_a_suspect_check_says_so_and_decides_as_before() -> None:
    answer = decide(HEALTH, [FAILING], [row("gpu002")], now=NOON, suspects={"gpu-ecc"})

    assert (answer.decision, codes(answer)) == (Decision.NOT_READY, ["suspect_check"])


def test_an_answer_holds_for_300_seconds_at_most_and_never_past_its_evidence() -> None:
    soon = node(until={Cadence.TICK: NOON + timedelta(seconds=42), Cadence.DAILY: IN_TEN_MINUTES})
    window = NOON + timedelta(seconds=7)

    assert ask([node()]).ttl_s == 300
    assert ask([soon]).ttl_s == 42
    assert decide(HEALTH, [soon], [], now=NOON, ends=[window]).expires_at == window


def test_the_etag_moves_with_what_is_said_and_not_with_the_clock() -> None:
    def tag(answer: Answer) -> str:
        return etag(answer.as_json(",".join))

    bad = [FAILING], [row("gpu002")]

    assert tag(ask(*bad)) == tag(ask(*bad, late_s=90))
    assert tag(ask(*bad)) != tag(ask([node("gpu002")]))


def test_the_body_has_every_part_that_a_scheduler_reads() -> None:
    body = ask([node(), FAILING], [row("gpu002", value=3, threshold=0)], late_s=30).as_json(",".join)

    assert body["nodes"] == {"asked": 2, "ready": 1, "not_ready_nodes": "gpu002", "unknown_nodes": ""}
    assert body["expires_at"] == "2026-11-29T12:05:30+00:00"
    assert body["reasons"] == [
        {
            "code": "criterion", "layer": "physical", "item": "gpu-ecc", "node": "gpu002", "subject": "gpu3",
            "verdict": "fail", "value": 3, "threshold": 0, "age_s": 30, "remedy": "", "owner": "platform",
        }
    ]  # fmt: skip


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_next_action_in_one_sentence(reason: Reason) -> None:
    action = ask([node(bad=1)], [row(verdict=Verdict.UNKNOWN, reason=reason)]).next_action

    assert action.endswith(".")
    assert "{" not in action


SUMMARIES = st.builds(
    node,
    name=st.sampled_from(["a", "b", "c"]),
    judged_under=st.sampled_from(["rules-0", "rules-1"]),
    until=st.dictionaries(st.sampled_from([Cadence.TICK, Cadence.DAILY]), st.sampled_from([NOON, IN_TEN_MINUTES])),
    bad=st.integers(0, 2),
    pass_physical=st.integers(0, 1),
    trouble=st.sampled_from([None, Reason.BOOT_CONFLICT]),
)
ROWS = st.builds(row, name=st.sampled_from(["a", "b", "c"]), verdict=st.sampled_from([Verdict.FAIL, Verdict.UNKNOWN]))


@given(st.lists(SUMMARIES, max_size=3, unique_by=lambda one: one.node), st.lists(ROWS, max_size=3), st.integers(0, 900))
def test_ready_needs_everything(nodes: list[NodeSummary], rows: list[BadRow], late_s: int) -> None:
    answer, now = ask(nodes, rows, late_s=late_s), NOON + timedelta(seconds=late_s)

    assert answer.ready == (not answer.reasons_total)
    if answer.ready:
        assert nodes
        assert all(
            one.judged_under == one.rules and not one.bad and one.pass_physical and not one.trouble
            and all(cadence in one.until and now <= one.until[cadence] for cadence in one.expected)
            for one in nodes
        )  # fmt: skip
