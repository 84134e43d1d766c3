"""Out-of-memory kills in the kernel's log."""

from __future__ import annotations

import pytest

from readiness_agent.parsers.kernel_log import GLOBAL, MEMCG, REAPER, oom_kills, parse_kernel_log
from tests.agents.parsers.inputs import shared

GLOBAL_KILL = (
    "[ 9000.500000] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
    "task_memcg=/user.slice,task=python,pid=4711,uid=1001\n"
    "[ 9000.500100] Out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB\n"
    "[ 9001.000000] oom_reaper: reaped process 4711 (python), now anon-rss:0kB\n"
)


def test_seven_records_of_a_real_log_are_about_memory() -> None:
    records = parse_kernel_log(shared("cases/dmesg/oom_iso.log"))

    kinds = [one.kind for one in oom_kills(records)]

    assert kinds == [REAPER, MEMCG, GLOBAL, GLOBAL, GLOBAL, MEMCG, GLOBAL]


def test_a_log_without_such_records_has_no_kill() -> None:
    assert oom_kills(parse_kernel_log(shared("cases/dmesg/xid119_gsp_timeout.log"))) == ()


def test_one_global_kill_in_three_lines_is_one_event() -> None:
    kills = oom_kills(parse_kernel_log(GLOBAL_KILL))

    assert [(one.kind, one.pid) for one in kills] == [(GLOBAL, 4711)]


def test_a_kill_inside_the_memory_cgroup_of_a_job_is_not_global() -> None:
    text = (
        "[ 5.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/slurm/job_7,task=python,pid=9,uid=1\n"
        "[ 5.1] Memory cgroup out of memory: Killed process 9 (python) total-vm:1kB\n"
    )

    assert [one.kind for one in oom_kills(parse_kernel_log(text))] == [MEMCG]


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("[ 1843.308145] NVRM: text", 1843.308145),
        ("[12.5] text", 12.5),
        ("kern  :warn  : [ 1843.308145] text", 1843.308145),
        ("[ 1843.308145] node1 kernel: text", 1843.308145),
        ("6,1234,1843308145,-;text", 1843.308145),
    ],
)
def test_a_time_after_boot_is_found_in_every_format(line: str, seconds: float) -> None:
    (record,) = parse_kernel_log(line + "\n")

    assert record.after_boot == pytest.approx(seconds)


def test_a_time_of_the_wall_clock_is_found_with_its_comma() -> None:
    record = parse_kernel_log(shared("cases/dmesg/oom_iso.log"))[17]

    assert record.unix == pytest.approx(1737448890.287197)  # 2025-01-21 08:41:30 UTC


def test_a_line_without_a_time_belongs_to_the_time_before_it() -> None:
    records = parse_kernel_log(shared("cases/dmesg/fallen_off_bus_no_xid.log"))

    assert [one.after_boot for one in records[:3]] == [1843.308145, 1843.308145, 1843.308145]
