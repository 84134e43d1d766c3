"""A gate forced open past exactly what was listed."""

from dataclasses import replace

import pytest

from checks.domain.answers import Answer, Basis
from checks.domain.forcing import NEVER_ACCEPTED, OverrideFacts
from checks.domain.launch import Launch, RunFacts, SharedFacts, restart_blockers, start_blockers
from checks.domain.readiness import BadRow
from checks.domain.signoff import LayerState, SignState
from checks.domain.verdicts import Cadence, Layer, Purpose, Reason, Verdict
from tests.domain.building import NOON
from tests.domain.signing import (
    A_MICROSECOND,
    ALL_SIGNED,
    HOUR,
    STARTED,
    UUIDS,
    launch,
    nodes,
    restart,
    row,
    start,
    summary,
    told,
)

HALF = LayerState(SignState.HALF, 1, (), ("hardware",))
STATES = {**ALL_SIGNED, Layer.PHYSICAL: HALF}
END = NOON + HOUR
BAD = nodes(row("gpu002"))


def forced(asked: Launch, by: Launch | None = None) -> Answer:
    """What a start is told after somebody forced it open when it stood as *by*."""
    accepted = frozenset(start_blockers(by or asked, STATES, SharedFacts(), now=NOON))
    override = OverrideFacts(accepted, frozenset(UUIDS.values()), END)
    return start(replace(asked, override=override), states=STATES)


def ended(answer: Answer) -> list[object]:
    """Why the override did not serve."""
    return [why.value for why in answer.reasons if why.code is Reason.OVERRIDE_ENDED]


def test_an_override_opens_past_what_it_lists_and_says_so() -> None:
    answer = forced(launch(BAD))

    assert told(answer) == ("ready", ["criterion", "half_signed"])
    assert (answer.basis, answer.ready_nodes) == (Basis.OVERRIDE, ("gpu001", "gpu002", "gpu003"))


def test_it_lists_node_item_subject_and_code_and_the_layer_of_a_signature() -> None:
    assert start_blockers(launch(BAD), STATES, SharedFacts(), now=NOON) == (
        ("", "", "physical", "half_signed"),
        (UUIDS["gpu002"], "gpu-ecc", "gpu3", "criterion"),
    )


OLD = row("gpu002", subject="gpu9")


@pytest.mark.parametrize(
    "new",
    [
        row("gpu001"),
        row("gpu002", subject="gpu4"),
        row("gpu002", item="gpu-xid"),
        row("gpu002", Verdict.UNKNOWN, reason=Reason.HUNG),
    ],
)
def test_a_new_blocker_ends_it(new: BadRow) -> None:
    answer = forced(launch(nodes(OLD, new)), by=launch(nodes(OLD)))

    assert (answer.ready, ended(answer), answer.basis) == (False, ["new_blocker"], Basis.SIGNED)


def test_another_layer_that_loses_its_signatures_ends_it() -> None:
    override = OverrideFacts(frozenset({("", "", "physical", "half_signed")}), frozenset(UUIDS.values()), END)

    assert start(launch(override=override), states=STATES).ready
    both = start(launch(override=override), states={**STATES, Layer.SYSTEM: HALF})
    assert sorted(told(both)[1]) == ["half_signed", "half_signed", "override_ended"]


def test_a_blocker_that_went_away_leaves_it_in_force() -> None:
    assert forced(launch(), by=launch(BAD)).basis is Basis.OVERRIDE


def test_its_time_ends_it_and_the_answer_with_it() -> None:
    override = OverrideFacts(frozenset({("", "", "physical", "half_signed")}), frozenset(UUIDS.values()), END)
    asked = launch(nodes(), override=override)

    last = start(asked, states=STATES, now=END)
    assert (last.ready, last.expires_at) == (True, END)
    over = start(asked, states=STATES, now=END + A_MICROSECOND)
    assert (over.ready, ended(over)) == (False, ["time"])


def test_another_pool_ends_it() -> None:
    smaller = {"gpu001": UUIDS["gpu001"], "gpu002": UUIDS["gpu002"]}
    asked = launch(nodes(only=smaller), run=RunFacts("cleared", 2, smaller))

    answer = forced(asked)

    assert (answer.ready, ended(answer)) == (False, ["pool"])


def test_an_answer_that_needs_no_override_does_not_rest_on_it() -> None:
    override = OverrideFacts(frozenset(), frozenset(), NOON - HOUR)

    answer = start(launch(override=override))

    assert told(answer) == ("ready", [])
    assert answer.basis is Basis.SIGNED


def test_rows_that_were_not_read_cannot_have_been_accepted() -> None:
    asked = launch(replace(BAD, summaries=[summary("gpu002", bad=2, failed=2)]))

    assert not forced(asked).ready


def test_a_suspect_check_is_the_blocker_that_it_was() -> None:
    assert forced(launch(replace(BAD, suspects={"gpu-ecc"})), by=launch(BAD)).ready


def test_a_silent_agent_is_not_covered_by_offline_evidence_that_had_ended() -> None:
    until = summary().until
    offline = replace(nodes(), summaries=[summary(until={**until, Cadence.OFFLINE: NOON - HOUR})])
    silent = replace(nodes(), summaries=[summary(until={**until, Cadence.TICK: NOON - HOUR})])

    assert forced(launch(offline)).ready
    assert not forced(launch(silent), by=launch(offline)).ready


@pytest.mark.parametrize(
    "asked",
    [
        launch(run=RunFacts("finished", 2, UUIDS)),
        launch(nodes(only=["gpu001", "gpu009"])),
        launch(nodes(only=[])),
        launch(nodes(row("gpu009"), only=["gpu001", "gpu009"])),
        launch(replace(nodes(), summaries=[summary(replayed=True)])),
        launch(replace(nodes(), summaries=[summary(judged_under="old")])),
        launch(replace(nodes(named=False), summaries=[summary()])),
    ],
)
def test_nobody_can_accept_what_leaves_open_what_would_run_where(asked: Launch) -> None:
    assert not forced(asked).ready


def test_what_nobody_can_accept_is_not_listed() -> None:
    asked = launch(nodes(only=["gpu001", "gpu009"]))

    assert not NEVER_ACCEPTED & {code for *_, code in start_blockers(asked, STATES, SharedFacts(), now=NOON)}


def test_a_restart_can_be_forced_past_what_it_lists() -> None:
    asked = launch(BAD, purpose=Purpose.RESTART)
    accepted = frozenset(restart_blockers(asked, STARTED, [], now=NOON))
    override = OverrideFacts(accepted, frozenset(UUIDS.values()), END)

    assert accepted == {(UUIDS["gpu002"], "gpu-ecc", "gpu3", "criterion")}
    assert restart(BAD, override=override).basis is Basis.OVERRIDE
    assert not restart(nodes(row("gpu001")), override=override).ready
    assert not restart(BAD, override=override, started=None).ready
