"""Probes run in processes of their own, and nothing that hangs reaches the agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from readiness_agent.facts import ERROR, HUNG, MISSING, UNREADABLE, CouldNotMeasure, Fact, ProbeResult, Problem
from readiness_agent.processes import Stuck, start_time
from readiness_agent.runner import Outcome, run_probes
from readiness_agent.source import LiveSource, Probe, ProbeContext, Source
from readiness_agent.stuck import StuckRegister, split
from tests.agents.conftest import missing_tool_probe, uptime_probe

BOOT = "5a056caf-a3c8-4468-8c6f-c74542528cdb"


def shell_probe(script: str, deadline: float = 0.3) -> Probe:
    """A probe that is one shell script."""

    def run(source: Source, context: ProbeContext) -> ProbeResult:
        result = source.run(["sh", "-c", script], deadline=30)
        return ProbeResult((Fact("shell", "", "out", result.stdout, "text", 0.0),), (), ())

    return Probe("shell", ("shell",), "tick", run, deadline)


def run(*probes: Probe, ceiling: float = 5.0) -> list[Outcome]:
    return run_probes(probes, LiveSource, ProbeContext(), ceiling)


def problems_of(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [(one.item, one.subject, one.kind) for one in outcome.result.problems]


def processes_with(argument: str) -> list[int]:
    """Living processes that carry *argument* on their command line."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = argument.encode() in (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_ours and start_time(int(directory.name)) is not None:
            found.append(int(directory.name))
    return found


def test_the_facts_of_a_probe_come_back_from_its_process() -> None:
    (outcome,) = run(uptime_probe("uptime", "up"))

    (fact,) = outcome.result.facts
    assert (fact.item, fact.name, fact.unit) == ("up", "uptime", "seconds")
    assert 0 <= float(Path("/proc/uptime").read_text().split()[0]) - float(fact.value) < 30


def test_a_missing_tool_is_a_problem_of_its_item() -> None:
    (outcome,) = run(missing_tool_probe("absent", "fabric"))

    assert problems_of(outcome) == [("fabric", "*", MISSING)]
    assert outcome.result.facts == ()


def test_a_defect_in_one_probe_costs_its_own_items_only() -> None:
    def broken(source: Source, context: ProbeContext) -> ProbeResult:
        raise KeyError("gpu7")

    outcomes = run(Probe("broken", ("a", "b"), "tick", broken), uptime_probe("uptime", "up"))

    by_name = {outcome.probe.name: outcome for outcome in outcomes}
    assert problems_of(by_name["broken"]) == [("a", "*", ERROR), ("b", "*", ERROR)]
    assert "KeyError" in by_name["broken"].result.problems[0].detail
    assert len(by_name["uptime"].result.facts) == 1


def test_a_probe_whose_process_dies_is_a_problem() -> None:
    def crash(source: Source, context: ProbeContext) -> ProbeResult:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    (outcome,) = run(Probe("crash", ("gpu-ecc",), "tick", crash))

    assert problems_of(outcome) == [("gpu-ecc", "*", ERROR)]


def test_a_probe_that_hangs_is_given_up_and_its_neighbour_is_measured() -> None:
    started = time.monotonic()

    outcomes = run(shell_probe("sleep 7311"), uptime_probe("uptime", "up"))

    by_name = {outcome.probe.name: outcome for outcome in outcomes}
    assert problems_of(by_name["shell"]) == [("shell", "*", HUNG)]
    assert len(by_name["uptime"].result.facts) == 1
    assert time.monotonic() - started < 4
    assert processes_with("7311") == []


def test_a_tool_that_ignores_term_is_killed() -> None:
    (outcome,) = run(shell_probe("trap '' TERM; sleep 7312; sleep 7312"))

    assert problems_of(outcome) == [("shell", "*", HUNG)]
    assert processes_with("7312") == []


def test_a_stopped_tool_is_hung_and_ended() -> None:
    (outcome,) = run(shell_probe("kill -STOP $$; echo 7313"))

    assert problems_of(outcome) == [("shell", "*", HUNG)]
    assert outcome.stuck == ()


def test_a_background_child_that_keeps_the_output_open_delays_nothing_and_is_ended() -> None:
    (outcome,) = run(shell_probe("(sleep 7314 &) ; echo done", deadline=4.0))

    assert [fact.value for fact in outcome.result.facts] == ["done\n"]
    assert outcome.seconds < 2
    assert processes_with("7314") == []


def test_a_probe_for_which_no_time_is_left_is_hung_and_not_passed_over() -> None:
    slow = [shell_probe("sleep 7315", deadline=9.0)._replace(name=f"slow{number}") for number in range(4)]

    outcomes = run(*slow, uptime_probe("uptime", "up"), ceiling=0.3)

    assert {problem for outcome in outcomes for problem in problems_of(outcome)} == {
        ("shell", "*", HUNG), ("up", "*", HUNG),
    }  # fmt: skip


def test_a_probe_with_a_process_still_stuck_is_not_started_again(tmp_path: Path) -> None:
    path, probe = str(tmp_path / "stuck.json"), uptime_probe("uptime", "up")
    me = Stuck(os.getpid(), start_time(os.getpid()) or 0)
    register = StuckRegister(path, BOOT)
    register.remember([Outcome(probe, ProbeResult((), (), ()), 1.0, (me,), ())])

    free, blocked = split(StuckRegister(path, BOOT), [probe])

    assert free == []
    assert problems_of(blocked[0]) == [("up", "*", HUNG)]
    assert str(os.getpid()) in blocked[0].result.problems[0].detail


def test_a_pid_that_another_process_took_over_blocks_nothing(tmp_path: Path) -> None:
    path, probe = str(tmp_path / "stuck.json"), uptime_probe("uptime", "up")
    reused = Stuck(os.getpid(), 1)
    StuckRegister(path, BOOT).remember([Outcome(probe, ProbeResult((), (), ()), 1.0, (reused,), ())])

    assert split(StuckRegister(path, BOOT), [probe]).free == [probe]


def test_a_stuck_process_of_an_earlier_boot_blocks_nothing(tmp_path: Path) -> None:
    path, probe = str(tmp_path / "stuck.json"), uptime_probe("uptime", "up")
    me = Stuck(os.getpid(), start_time(os.getpid()) or 0)
    StuckRegister(path, BOOT).remember([Outcome(probe, ProbeResult((), (), ()), 1.0, (me,), ())])

    assert split(StuckRegister(path, "another-boot"), [probe]).free == [probe]


def test_a_file_that_cannot_be_read_says_why() -> None:
    def read_directory(source: Source, context: ProbeContext) -> ProbeResult:
        problems = []
        for path in ("/proc/no-such-file", "/proc"):
            try:
                source.read(path)
            except CouldNotMeasure as error:
                problems.append(Problem("file", path, error.kind, error.detail))
        return ProbeResult((), tuple(problems), ())

    (outcome,) = run(Probe("files", ("file",), "tick", read_directory))

    assert [one.kind for one in outcome.result.problems] == ["missing", "unreadable"]


def wait_until_gone(argument: str) -> list[int]:
    """What is left of the processes with *argument*, after at most five seconds."""
    end = time.monotonic() + 5
    while processes_with(argument) and time.monotonic() < end:
        time.sleep(0.02)
    return processes_with(argument)


def test_a_tool_that_detaches_itself_delays_nothing_and_does_not_stay() -> None:
    (outcome,) = run(shell_probe("setsid setsid sleep 7316 & sleep 0.1; echo done", deadline=4.0))

    assert [fact.value for fact in outcome.result.facts] == ["done\n"]
    assert wait_until_gone("7316") == []


def test_a_hung_tool_in_a_session_of_its_own_is_ended_with_its_probe() -> None:
    (outcome,) = run(shell_probe("setsid sleep 7317 & sleep 0.1; setsid sleep 7317"))

    assert problems_of(outcome) == [("shell", "*", HUNG)]
    assert processes_with("7317") == []


def test_a_tool_that_changed_its_process_group_is_ended_at_the_commands_deadline() -> None:
    def measure(source: Source, context: ProbeContext) -> ProbeResult:
        move = "import os; os.setpgid(0, 0); os.execvp('sleep', ['sleep', '7318'])"
        source.run(["sh", "-c", f'{sys.executable} -c "{move}" & sleep 7318'], deadline=1.0)
        raise AssertionError

    (outcome,) = run(Probe("shell", ("shell",), "tick", measure, 6.0))

    assert problems_of(outcome) == [("shell", "*", HUNG)]
    assert outcome.seconds < 5
    assert processes_with("7318") == []


def test_a_tool_that_floods_its_output_is_unreadable_and_not_half_read() -> None:
    (outcome,) = run(shell_probe("head -c 9000000 /dev/zero", deadline=4.0))

    assert problems_of(outcome) == [("shell", "*", UNREADABLE)]


def test_a_tool_that_floods_for_ever_is_ended_long_before_it_fills_the_memory() -> None:
    (outcome,) = run(shell_probe("exec cat /dev/zero", deadline=4.0))

    assert problems_of(outcome) == [("shell", "*", UNREADABLE)]


def test_a_file_that_is_too_long_is_unreadable_and_not_half_read(tmp_path: Path) -> None:
    long = tmp_path / "long.conf"
    long.write_bytes(b"#" * (8 * 1024 * 1024 + 1))

    def measure(source: Source, context: ProbeContext) -> ProbeResult:
        source.read(str(long))
        raise AssertionError

    (outcome,) = run(Probe("file", ("file",), "tick", measure, 4.0))

    assert problems_of(outcome) == [("file", "*", UNREADABLE)]
    assert "longer than 8 MiB" in outcome.result.problems[0].detail


def test_a_tool_does_not_outlive_an_agent_that_was_killed() -> None:
    script = (
        "from tests.agents.test_runner import run, shell_probe\n"
        "run(shell_probe('sleep 7319', deadline=9.0), ceiling=9.0)"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'agents'}"}
    agent = subprocess.Popen([sys.executable, "-c", script], env=environment)
    end = time.monotonic() + 20
    while not processes_with("7319") and time.monotonic() < end:
        time.sleep(0.02)

    agent.kill()
    agent.wait()

    assert wait_until_gone("7319") == []
