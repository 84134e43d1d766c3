"""NUMA, CPU frequency, clock and memory."""

from __future__ import annotations

import json

import pytest

from readiness_agent.facts import EVERY_SUBJECT, HUNG, MISSING, NOT_CAPTURED, UNREADABLE, CouldNotMeasure
from readiness_agent.probes.clock import CLOCK
from readiness_agent.probes.cpufreq import CPUFREQ
from readiness_agent.probes.memory import MEMORY
from readiness_agent.probes.numa import NUMA
from readiness_agent.source import Json, ProbeContext
from tests.agents.parsers.inputs import SHARED, shared
from tests.agents.probes.fake_source import NOW, FakeSource, ended, files_below, problems, values
from tests.agents.probes.test_gpu import pci

NONE = ProbeContext()
SYNCHRONIZED: Json = {"ret": 0, "offset": 0, "maxerror": 500, "esterror": 0, "status": 8192}
TRACKING = "System time     : 0.000412345 seconds slow of NTP time\nLeap status     : Normal\n"
VMSTAT, MEMINFO = "/proc/vmstat", "/proc/meminfo"


def test_a_machine_with_one_numa_node_says_so_for_each_gpu() -> None:
    if not SHARED.exists():
        pytest.skip("../shared is not here")

    result = NUMA.run(FakeSource(files_below(SHARED / "captures/h200x2-burn/files")), NONE)

    assert [values(result, "numa-binding", gpu) for gpu in ("gpu0", "gpu1", "gpu2")] == [
        {"numa_nodes": 1}, {"numa_nodes": 1}, {},
    ]  # fmt: skip


def test_without_a_gpu_the_number_of_numa_nodes_is_the_nodes() -> None:
    result = NUMA.run(FakeSource({"/sys/devices/system/node/online": "0-1\n"}), NONE)

    assert values(result, "numa-binding") == {"numa_nodes": 2}


def test_numactl_answers_where_the_file_was_not_captured() -> None:
    source = FakeSource(commands={"numactl --hardware": shared("captures/h200x2/numactl.txt")}, absent=NOT_CAPTURED)

    assert values(NUMA.run(source, NONE), "numa-binding") == {"numa_nodes": 1}


def test_other_pci_devices_are_no_gpus() -> None:
    files = {**pci("0000:00:06.0"), "/sys/devices/system/node/online": "0\n"}
    files["/sys/bus/pci/devices/0000:00:09.0/vendor"] = "0x10de\n"
    files["/sys/bus/pci/devices/0000:00:09.0/class"] = "0x068000\n"  # an NVSwitch

    result = NUMA.run(FakeSource(files), NONE)

    assert {one.subject for one in result.facts} == {"gpu0"}


def governors(*names: str) -> dict[str, str]:
    files = {f"/sys/devices/system/cpu/cpu{i}/cpufreq/scaling_governor": f"{name}\n" for i, name in enumerate(names)}
    return {"/sys/devices/system/cpu/online": f"0-{len(names) - 1}\n", **files}


def test_the_governors_of_all_cpus_are_told_once_each() -> None:
    assert values(CPUFREQ.run(FakeSource(governors("performance", "performance")), NONE), "cpu-governor") == {
        "cpufreq": "present", "cpus": 2, "governed_cpus": 2, "governors": "performance",
    }  # fmt: skip


def test_one_cpu_that_saves_power_is_named() -> None:
    assert values(CPUFREQ.run(FakeSource(governors("performance", "powersave")), NONE), "cpu-governor") == {
        "cpufreq": "present", "cpus": 2, "governed_cpus": 2, "governors": "performance, powersave",
    }  # fmt: skip


def test_a_cpu_without_a_governor_is_missing_among_those_that_have_one() -> None:
    files = governors("performance", "performance")
    files["/sys/devices/system/cpu/online"] = "0-2\n"

    facts = values(CPUFREQ.run(FakeSource(files), NONE), "cpu-governor")
    assert (facts["cpus"], facts["governed_cpus"]) == (3, 2)


def test_a_kernel_without_cpufreq_sends_no_count_that_would_pass() -> None:
    source = FakeSource({"/sys/devices/system/cpu/online": "0-31\n"})

    assert values(CPUFREQ.run(source, NONE), "cpu-governor") == {"cpufreq": "absent"}


def test_an_unsynchronised_kernel_clock_needs_no_second_opinion() -> None:
    source = FakeSource(calls={"adjtimex": json.loads(shared("captures/h200x2-burn/commands/adjtimex"))})

    result = CLOCK.run(source, NONE)

    assert values(result, "clock-sync") == {"synchronized": False, "source": "kernel"}
    assert source.asked == ["adjtimex"]


def test_chrony_gives_the_offset_of_a_synchronised_clock() -> None:
    result = CLOCK.run(FakeSource(commands={"chronyc -n tracking": TRACKING}, calls={"adjtimex": SYNCHRONIZED}), NONE)

    assert values(result, "clock-sync") == {"synchronized": True, "offset": pytest.approx(0.412), "source": "chrony"}


def test_chrony_that_lost_its_source_beats_the_kernel() -> None:
    text = TRACKING.replace("Normal", "Not synchronised")

    result = CLOCK.run(FakeSource(commands={"chronyc -n tracking": text}, calls={"adjtimex": SYNCHRONIZED}), NONE)

    assert values(result, "clock-sync") == {"synchronized": False, "source": "chrony"}


def test_timesyncd_gives_the_offset_where_chrony_is_not_installed() -> None:
    commands = {"timedatectl timesync-status": "  Server: 10.0.0.1\n  Offset: -1.5ms\n"}

    result = CLOCK.run(FakeSource(commands=commands, calls={"adjtimex": SYNCHRONIZED}), NONE)

    assert values(result, "clock-sync") == {"synchronized": True, "offset": 1.5, "source": "timesyncd"}


def test_the_phase_loop_of_the_kernel_gives_the_offset_where_nobody_else_does() -> None:
    answer: Json = {"ret": 0, "offset": 2500, "status": 1}

    result = CLOCK.run(FakeSource(calls={"adjtimex": answer}), NONE)

    assert values(result, "clock-sync") == {"synchronized": True, "offset": 2.5, "source": "kernel"}


@pytest.mark.parametrize("tool", ["chronyc -n tracking", "timedatectl timesync-status"])
def test_a_clock_tool_that_hangs_is_said_to_hang_and_not_to_be_missing(tool: str) -> None:
    hung = CouldNotMeasure(HUNG, f"{tool} did not end within 3 s")

    result = CLOCK.run(FakeSource(commands={tool: hung}, calls={"adjtimex": SYNCHRONIZED}), NONE)

    assert problems(result, "clock-sync") == [("", "hung")]


def test_a_synchronised_clock_of_unknown_offset_sends_no_offset() -> None:
    result = CLOCK.run(FakeSource(calls={"adjtimex": SYNCHRONIZED}), NONE)

    assert values(result, "clock-sync") == {"synchronized": True, "source": "kernel"}
    assert problems(result, "clock-sync") == [("", MISSING)]


def test_a_clock_that_nobody_can_ask_is_a_problem() -> None:
    result = CLOCK.run(FakeSource(absent=NOT_CAPTURED), NONE)

    assert result.facts == ()
    assert problems(result, "clock-sync") == [(EVERY_SUBJECT, NOT_CAPTURED)]


def test_a_counter_at_zero_proves_that_nothing_was_killed() -> None:
    if not SHARED.exists():
        pytest.skip("../shared is not here")
    source = FakeSource(files_below(SHARED / "captures/h200x2-burn/files"))

    result = MEMORY.run(source, NONE)

    assert values(result, "mem-oom") == {"global_oom_kills_24h": 0, "memory_total": 257811}
    assert source.asked == []


def killed(log: str, boottime: float = NOW) -> dict[str, object]:
    files = {VMSTAT: "oom_kill 2\n", MEMINFO: "MemTotal:       1048576 kB\n"}
    source = FakeSource(files, {"dmesg": log, "journalctl -k -b -q --no-pager -o short-monotonic": ended("", 1)})
    source.now_boottime = lambda: boottime  # type: ignore[method-assign]
    return values(MEMORY.run(source, NONE), "mem-oom")


def test_global_kills_are_counted_and_those_of_a_job_are_not() -> None:
    log = (
        "[    0.000000] Linux version 6.8\n"
        "[  100.000000] Out of memory: Killed process 5 (python) total-vm:1kB\n"
        "[  200.000000] Memory cgroup out of memory: Killed process 6 (python) total-vm:1kB\n"
    )

    assert killed(log) == {"global_oom_kills_24h": 1, "memory_total": 1024}


def test_a_kill_of_the_day_before_yesterday_is_over() -> None:
    log = "[    0.000000] Linux version 6.8\n[  100.000000] Out of memory: Killed process 5 (python)\n"

    assert killed(log, boottime=100_000.0)["global_oom_kills_24h"] == 0  # 99,900 s ago; a day has 86,400


def test_a_log_that_does_not_reach_back_a_day_does_not_prove_zero() -> None:
    assert killed("[ 90000.000000] something\n", boottime=100_000.0) == {"memory_total": 1024}


def test_a_log_that_does_not_reach_back_a_day_still_proves_what_it_shows() -> None:
    log = "[ 90000.000000] Out of memory: Killed process 5 (python)\n"

    assert killed(log, boottime=100_000.0)["global_oom_kills_24h"] == 1


def test_a_cut_meminfo_sends_no_total() -> None:
    result = MEMORY.run(FakeSource({VMSTAT: "oom_kill 0\n", MEMINFO: "MemTotal:       26399"}), NONE)

    assert values(result, "mem-oom") == {"global_oom_kills_24h": 0}
    assert problems(result, "mem-oom") == [("", UNREADABLE)]
