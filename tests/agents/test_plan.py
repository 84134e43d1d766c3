"""When what is due."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from readiness_agent.node import Moment
from readiness_agent.plan import Due, Plan, checked_plan, due_reports, jitter, note_outcome, should_ask, wanted_reports
from readiness_agent.source import Probe
from readiness_agent.state import State
from tests.agents.conftest import uptime_probe

FAST, RIDER, SLOW = (
    uptime_probe("fast", "one", "two"),
    uptime_probe("rider", "ride", cadence="run"),
    uptime_probe("slow", "s", cadence="daily"),
)
PROBES = (FAST, RIDER, SLOW)
PLAN = Plan(interval=300.0, tick=("one",), daily=("s",))
START = Moment(1_795_983_439.0, 1000.0, "boot-a")


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(str(tmp_path / "state.json"))


def later(seconds: float, moment: Moment = START) -> Moment:
    return moment._replace(unix=moment.unix + seconds, boottime=moment.boottime + seconds)


def reports(state: State, moment: Moment, plan: Plan = PLAN, hostname: str = "node-1") -> list[Due]:
    return due_reports(wanted_reports(plan, state, moment, hostname), PROBES)


def due(state: State, moment: Moment, plan: Plan = PLAN) -> list[tuple[str, list[str]]]:
    return [(one.cadence, [probe.name for probe in one.probes]) for one in reports(state, moment, plan)]


def run(state: State, moment: Moment, cadence: str = "tick", failed: set[str] | None = None, *probes: Probe) -> None:
    chosen = probes or ((FAST, RIDER) if cadence == "tick" else (SLOW,))
    covered = [item for probe in chosen for item in probe.items]
    note_outcome(state, Due(cadence, chosen), covered, failed or set(), moment)


def minutes(state: State, count: int) -> Iterator[tuple[int, bool]]:
    """Cron's minutes: whether a tick was due in each; one that was due is run."""
    for minute in range(count):
        moment = later(60.0 * minute)
        is_due = any(cadence == "tick" for cadence, _ in due(state, moment))
        if is_due:
            run(state, moment)
        yield minute, is_due


def test_a_new_node_measures_everything_at_once(state: State) -> None:
    assert due(state, START) == [("tick", ["fast", "rider"]), ("daily", ["slow"])]


def test_without_a_plan_every_probe_runs_at_its_own_cadence(state: State) -> None:
    assert due(state, START, Plan()) == [("tick", ["fast", "rider"]), ("daily", ["slow"])]


def test_what_the_plan_does_not_name_is_not_run(state: State) -> None:
    assert due(state, START, Plan(tick=(), daily=())) == []


def test_over_a_day_a_tick_comes_each_interval_and_never_late(state: State) -> None:
    ran = [minute for minute, is_due in minutes(state, 24 * 60) if is_due]

    gaps = [after - before for before, after in zip(ran, ran[1:])]  # noqa: B905, RUF007  (Python 3.9)
    assert len(ran) == pytest.approx(288, abs=1)
    assert max(gaps[1:]) == 5
    assert max(gaps) <= 7


@pytest.mark.parametrize("step", [-10 * 365 * 86400.0, -3600.0, 3600.0, 10 * 365 * 86400.0])
def test_a_step_of_the_wall_clock_runs_nothing_twice_and_nothing_late(state: State, step: float) -> None:
    run(state, START)
    ran = []
    for minute in range(1, 30):
        moment = later(60.0 * minute)._replace(unix=START.unix + step + 60.0 * minute)
        if any(cadence == "tick" for cadence, _ in due(state, moment)):
            ran.append(minute)
            run(state, moment)

    gaps = [after - before for before, after in zip([0, *ran], ran)]  # noqa: B905  (Python 3.9)
    assert min(gaps) >= 2.5
    assert max(gaps) <= 7.5


def test_after_a_reboot_everything_is_measured_again_when_it_is_old_enough(state: State) -> None:
    run(state, START)
    rebooted = Moment(START.unix + 600.0, 30.0, "boot-b")

    assert ("tick", ["fast", "rider"]) in due(state, rebooted)


def test_while_a_job_runs_all_nodes_measure_in_the_same_minute(tmp_path: Path) -> None:
    starts = []
    for hostname in ("node-1", "node-2", "node-3"):
        state = State(str(tmp_path / f"{hostname}.json"))
        run(state, START)
        state.set_number("job_running", 1)
        moments = (later(float(second)) for second in range(160, 700))
        starts.append(
            next(at.unix for at in moments if "tick" in {one.cadence for one in reports(state, at, PLAN, hostname)})
        )

    assert len(set(starts)) == 1


def test_an_item_that_failed_is_tried_again_after_5_10_20_40_and_then_each_60_minutes(state: State) -> None:
    run(state, START, "daily", {"s"})
    run(state, START)
    tried = []
    for minute in range(1, 200):
        moment = later(60.0 * minute)
        for cadence, names in due(state, moment):
            if cadence == "tick":
                run(state, moment)
            elif "slow" in names:
                tried.append(minute)
                run(state, moment, "check", {"s"}, SLOW)

    assert tried == [5, 15, 35, 75, 135, 195]


def test_an_item_that_was_measured_after_all_waits_for_its_own_time(state: State) -> None:
    run(state, START, "daily", {"s"})
    run(state, later(300), "check", set(), SLOW)

    assert state.failures() == {}


def test_an_item_that_does_not_apply_here_is_not_tried_again(state: State) -> None:
    run(state, START)
    run(state, START, "daily", {"s"})

    assert "check" not in [cadence for cadence, _ in due(state, later(299), PLAN._replace(daily=()))]


def test_a_requested_recheck_is_run_once(state: State) -> None:
    run(state, START)
    run(state, START, "daily")
    plan = PLAN._replace(rechecks=(("17", ("s",)),))

    (recheck,) = reports(state, later(60), plan)
    assert (recheck.cadence, recheck.probes, recheck.rechecks) == ("check", (SLOW,), ("17",))
    note_outcome(state, recheck, ["s"], set(), later(60))

    assert due(state, later(120), plan) == []


def test_the_plan_is_asked_for_when_it_is_due_and_nothing_else_talks_to_the_portal(state: State) -> None:
    assert should_ask(PLAN, state, START, is_anything_due=True)
    state.set_plan({"interval": 300})
    state.mark("asked", START)

    assert not should_ask(PLAN, state, later(30), is_anything_due=False)
    assert should_ask(PLAN, state, later(60), is_anything_due=False)
    assert not should_ask(PLAN, state, later(60), is_anything_due=True)


def test_a_plan_holds_names_and_bounded_numbers_only() -> None:
    plan = checked_plan(
        {
            "schemas": [1],
            "interval": 1,
            "poll_after": 10**9,
            "tick": ["one", {"run": "rm"}, 7],
            "daily": "everything",
            "command": "reboot",
            "recheck": [{"id": 4, "items": ["s"]}, "junk"],
        }
    )

    assert plan == Plan(interval=5.0, poll_after=3600.0, tick=("one",), daily=(), rechecks=(("4", ("s",)),))


def test_a_plan_for_other_agents_only_is_no_plan() -> None:
    assert checked_plan({"schemas": [2]}) is None


def test_the_jitter_of_a_node_is_its_own_and_stays() -> None:
    waits = {jitter(f"gpu{number:03d}", 30.0) for number in range(512)}

    assert jitter("gpu001", 30.0) == jitter("gpu001", 30.0)
    assert len(waits) > 450
    assert 0.0 <= min(waits) < 1.0
    assert 29.0 < max(waits) < 30.0


def test_a_damaged_state_file_means_measure_now(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"moments": {"tick": "yesterday"}, "plan": [], "failures"')

    state = State(str(tmp_path / "state.json"))

    assert state.age("tick", START) is None
    assert state.plan() == {}


@pytest.mark.parametrize("odd", ["soon", True, None, [], {}, float("nan"), float("inf"), float("-inf"), 10**400])
def test_a_number_that_is_none_leaves_the_usual_interval(odd: object) -> None:
    plan = checked_plan({"schemas": [1], "interval": odd, "poll_after": odd})

    assert plan is not None
    assert (plan.interval, plan.poll_after) == (300.0, 60.0)


@pytest.mark.parametrize(("interval", "seconds"), [(-1, 5.0), (0, 5.0), (10**12, 3600.0), (1e300, 3600.0), (60, 60.0)])
def test_an_interval_is_held_within_its_bounds(interval: float, seconds: float) -> None:
    plan = checked_plan({"schemas": [1], "interval": interval})

    assert plan is not None
    assert plan.interval == seconds


def test_a_plan_of_a_million_items_is_none() -> None:
    assert checked_plan({"schemas": [1], "tick": ["one"] * 1_000_000}) is None


def test_what_is_no_item_in_a_plan_names_none() -> None:
    raw = {"schemas": [1], "tick": ["one", 7, None, {"item": "two"}, "x" * 65], "daily": {"s": 1}, "command": "reboot"}

    plan = checked_plan(raw)

    assert plan is not None
    assert (plan.tick, plan.daily) == (("one",), ())


def test_a_path_in_a_plan_measures_nothing(state: State) -> None:
    plan = checked_plan({"schemas": [1], "tick": ["/etc/shadow", "../../bin/sh", "one; reboot"], "daily": []})

    assert plan is not None
    assert reports(state, START, plan) == []


def test_more_rechecks_than_are_remembered_are_not_run_for_ever(state: State) -> None:
    asked = [{"id": number, "items": ["one"]} for number in range(500)]
    plan = checked_plan({"schemas": [1], "tick": [], "daily": [], "recheck": asked})
    assert plan is not None
    (first,) = reports(state, START, plan)
    note_outcome(state, first, ["one"], set(), START)

    assert reports(state, later(60), plan) == []


def test_a_plan_that_was_kept_is_the_plan_that_was_sent() -> None:
    raw = {"schemas": [1], "interval": 60, "tick": ["one"], "recheck": [{"id": 7, "items": ["two"]}], "odd": "x" * 9999}

    plan = checked_plan(raw)

    assert plan is not None
    assert checked_plan(plan.as_sent()) == plan
    assert "odd" not in plan.as_sent()
