"""The probes on whole captures of real nodes. What must come out is stated by those who took them."""

from __future__ import annotations

import pytest

from readiness_agent.capture import read_capture
from readiness_agent.facts import NOT_CAPTURED, ProbeResult
from readiness_agent.probes import PROBES
from readiness_agent.replaying import ReplaySource
from tests.agents.parsers.inputs import SHARED
from tests.agents.probes.fake_source import problems, values

LIVE = {
    "sysctl-swappiness": 60,
    "sysctl-somaxconn": 4096,
    "sysctl-syn-backlog": 4096,
    "sysctl-netdev-backlog": 1000,
    "sysctl-file-max": 26396503,
}


def replay(name: str, snapshot: int) -> ProbeResult:
    """Everything that all probes say about one snapshot."""
    path = SHARED / "captures" / name
    if not path.exists():
        pytest.skip(f"../shared/captures/{name} is not here")
    capture = read_capture(str(path))
    results = [probe.run(ReplaySource(capture.snapshots[snapshot]), capture.context) for probe in PROBES]
    return ProbeResult(
        tuple(fact for result in results for fact in result.facts),
        tuple(problem for result in results for problem in result.problems),
        (),
    )


@pytest.mark.parametrize("name", ["h200x2", "h200x2-burn"])
@pytest.mark.parametrize(("item", "live"), LIVE.items())
def test_live_settings_are_those_of_the_node(name: str, item: str, live: int) -> None:
    assert values(replay(name, 0), item)["live"] == live


@pytest.mark.parametrize("item", LIVE)
def test_files_that_were_captured_and_set_nothing_leave_a_setting_unset(item: str) -> None:
    assert values(replay("h200x2-burn", 0), item)["configured_state"] == "unset"


@pytest.mark.parametrize("item", LIVE)
def test_files_that_were_not_captured_say_nothing_about_the_next_boot(item: str) -> None:
    assert "configured_state" not in values(replay("h200x2", 0), item)


def test_a_header_without_rows_proves_that_there_is_no_swap() -> None:
    assert values(replay("h200x2-burn", 0), "sysctl-swappiness")["swap_devices"] == 0


def test_swap_that_was_not_captured_is_not_none() -> None:
    assert "swap_devices" not in values(replay("h200x2", 0), "sysctl-swappiness")


@pytest.mark.parametrize("name", ["h200x2", "h200x2-burn"])
def test_the_limits_of_the_job_count_and_not_those_of_the_agent(name: str) -> None:
    result = replay(name, 0)

    assert values(result, "ulimit-nofile") == {"soft": 20000, "hard": 20000, "context": "job"}
    assert values(result, "ulimit-memlock") == {"soft": "unlimited", "hard": "unlimited", "context": "job"}


@pytest.mark.parametrize(("snapshot", "temperature", "utilization"), [(2, 59, 99), (5, 61, 99)])
def test_each_snapshot_shows_its_own_load(snapshot: int, temperature: int, utilization: int) -> None:
    facts = values(replay("h200x2-burn", snapshot), "gpu-temperature", "gpu0")

    assert (facts["temperature"], facts["utilization"]) == (temperature, utilization)


def test_the_clock_of_that_node_was_not_synchronised() -> None:
    assert values(replay("h200x2-burn", 0), "clock-sync") == {"synchronized": False, "source": "kernel"}


def test_a_clock_that_was_not_captured_is_not_captured() -> None:
    assert [kind for _, kind in problems(replay("h200x2", 0), "clock-sync")] == [NOT_CAPTURED]


@pytest.mark.parametrize("name", ["h200x2", "h200x2-burn"])
def test_a_virtual_machine_has_no_cpufreq(name: str) -> None:
    assert values(replay(name, 0), "cpu-governor") == {"cpufreq": "absent"}


def test_one_numa_node_is_found_with_and_without_the_files_of_the_kernel() -> None:
    assert values(replay("h200x2", 0), "numa-binding") == {"numa_nodes": 1}
    assert values(replay("h200x2-burn", 0), "numa-binding", "gpu1") == {"numa_nodes": 1}


def test_memory_and_its_kills_are_read_where_they_were_captured() -> None:
    assert values(replay("h200x2-burn", 0), "mem-oom") == {"global_oom_kills_24h": 0, "memory_total": 257811}


@pytest.mark.parametrize(("snapshot", "jobs"), [(0, 0), (3, 1)])
def test_the_process_on_the_gpu_is_that_of_the_job_whose_limits_were_saved(snapshot: int, jobs: int) -> None:
    facts = values(replay("h200x2-burn", snapshot), "gpu-clean", "gpu0")

    assert (facts["job_processes"], facts["foreign_processes"]) == (jobs, 0)


@pytest.mark.parametrize("item", ["hung-io", "checkpoint-mount"])
def test_tasks_and_mounts_were_left_out_of_these_captures(item: str) -> None:
    result = replay("h200x2-burn", 0)

    assert values(result, item) == {}
    assert problems(result, item)
