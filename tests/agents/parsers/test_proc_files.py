"""Small files of /proc and /sys, as this project's captures and an ordinary Linux show them."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.cpulist import parse_cpulist
from readiness_agent.parsers.memory import parse_memory_total, parse_oom_kill_count
from readiness_agent.parsers.mountinfo import mount_of, parse_mountinfo
from readiness_agent.parsers.numactl import parse_numactl_nodes
from readiness_agent.parsers.process import job_of_cgroup, parse_switches, parse_task_stat
from readiness_agent.parsers.softnet import parse_softnet_dropped
from readiness_agent.parsers.swaps import parse_swap_count
from tests.agents.parsers.inputs import shared

MOUNTS = (
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
    "23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n"
    "90 27 0:50 / /mnt/check\\040points rw,noatime shared:9 - xfs /dev/md0 rw,attr2\n"
    "91 27 0:51 / /mnt/old ro,relatime - nfs4 filer:/old rw,vers=4.2\n"
    "92 27 0:52 / /mnt/strict rw,nosuid - ext4 /dev/sdb1 ro\n"
)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-31\n", range(32)), ("0\n", [0]), ("0-1,4,6-7\n", [0, 1, 4, 6, 7]), ("\n", [])],
)
def test_a_list_of_cpus_or_nodes_is_spelled_out(text: str, cpus: range | list[int]) -> None:
    assert parse_cpulist(text) == tuple(cpus)


@pytest.mark.parametrize("text", ["0-", "a", "3-1", "0--1", "0-99999999"])
def test_a_broken_list_of_cpus_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_cpulist(text)


def test_numactl_counts_the_nodes_it_found() -> None:
    assert parse_numactl_nodes(shared("captures/h200x2/numactl.txt")) == 1
    assert parse_numactl_nodes("available: 2 nodes (0-1)\nnode 0 cpus: 0 1\n") == 2


def test_a_machine_without_numa_has_no_number_of_nodes() -> None:
    with pytest.raises(Unreadable):
        parse_numactl_nodes("No NUMA available on this system\n")


def test_memory_is_counted_in_whole_mib() -> None:
    assert parse_memory_total(shared("captures/h200x2-burn/files/proc/meminfo")) == 257811  # 263998500 kB


def test_no_process_was_killed_since_boot() -> None:
    assert parse_oom_kill_count(shared("captures/h200x2-burn/files/proc/vmstat")) == 0


def test_a_kernel_that_does_not_count_kills_is_unreadable_and_not_zero() -> None:
    with pytest.raises(Unreadable):
        parse_oom_kill_count("nr_free_pages 1\noom_kill_disable 0\n")


def test_dropped_packets_are_the_second_column_in_hex_over_all_cpus() -> None:
    text = "0000a000 00000010 00000001\n0000b000 0000000a 00000000\n"

    assert parse_softnet_dropped(text) == 26


def test_no_packet_was_dropped_on_the_32_cpus_of_the_h200_node() -> None:
    assert parse_softnet_dropped(shared("captures/h200x2-burn/files/proc/net/softnet_stat")) == 0


@pytest.mark.parametrize("text", ["", "0000a000\n", "0000a000 0000001\n", "0000a000 0000xx10 00000001\n"])
def test_a_broken_row_of_softnet_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_softnet_dropped(text)


def test_a_header_alone_means_no_swap_device() -> None:
    assert parse_swap_count(shared("captures/h200x2-burn/files/proc/swaps")) == 0


def test_each_row_after_the_header_is_a_swap_device() -> None:
    text = "Filename\tType\tSize\tUsed\tPriority\n/swap.img file 8388604 0 -2\n/dev/sda2 partition 1 0 -3\n"

    assert parse_swap_count(text) == 2


def test_a_file_without_that_header_does_not_prove_that_there_is_no_swap() -> None:
    with pytest.raises(Unreadable):
        parse_swap_count("")


def test_the_longest_mount_point_above_a_directory_holds_it() -> None:
    mount = mount_of(parse_mountinfo(MOUNTS), "/mnt/check points/run7")

    assert mount is not None
    assert (mount.point, mount.device, mount.fstype, mount.atime, mount.read_only) == (
        "/mnt/check points", "/dev/md0", "xfs", "noatime", False,
    )  # fmt: skip


def test_a_name_that_only_begins_alike_is_another_directory() -> None:
    mount = mount_of(parse_mountinfo(MOUNTS), "/mnt/olden")

    assert mount is not None
    assert mount.point == "/"


@pytest.mark.parametrize(("path", "atime"), [("/mnt/old", "relatime"), ("/mnt/strict", "strictatime")])
def test_a_mount_without_a_word_about_atime_updates_it_always(path: str, atime: str) -> None:
    mount = mount_of(parse_mountinfo(MOUNTS), path)

    assert mount is not None
    assert mount.atime == atime


@pytest.mark.parametrize("path", ["/mnt/old", "/mnt/strict"])
def test_a_mount_is_read_only_when_it_or_its_file_system_is(path: str) -> None:
    mount = mount_of(parse_mountinfo(MOUNTS), path)

    assert mount is not None
    assert mount.read_only is True


def test_what_was_mounted_last_on_a_point_covers_the_rest() -> None:
    again = MOUNTS + "99 27 0:60 / /mnt/old rw,noatime - tmpfs tmpfs rw\n"

    mount = mount_of(parse_mountinfo(again), "/mnt/old")

    assert mount is not None
    assert mount.fstype == "tmpfs"


def test_a_table_without_a_root_is_cut_short() -> None:
    with pytest.raises(Unreadable):
        parse_mountinfo(MOUNTS.split("\n", 1)[1])


def test_the_state_of_a_task_is_found_behind_any_name() -> None:
    task = parse_task_stat("4711 (D) R (x) D 1 4711 4711 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 0 0\n")

    assert (task.pid, task.name, task.state, task.started) == (4711, "D) R (x", "D", 987654)


def test_context_switches_of_both_kinds_add_up() -> None:
    assert parse_switches("Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n") == 42


@pytest.mark.parametrize(
    ("cgroup", "job"),
    [
        ("0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n", "slurm 123"),
        ("4:memory:/slurm/uid_1001/job_77/step_batch/task_0\n1:cpu:/system.slice/slurmd.service\n", "slurm 77"),
        ("4:memory:/slurm_gpu01/uid_1001/job_77/step_0\n", "slurm 77"),
        ("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda8697f49_441d.slice/cri-containerd-3f.scope\n",
         "pod a8697f49_441d"),
        ("11:cpu:/kubepods/besteffort/pod5f3c-11/abc\n", "pod 5f3c-11"),
        ("0::/system.slice/slurmstepd.scope/system\n", None),
        ("0::/user.slice/user-1001.slice/session-4.scope\n", None),
        ("0::/system.slice/my-job_7.service\n", None),
    ],
)  # fmt: skip
def test_a_job_is_known_by_the_cgroup_of_its_scheduler(cgroup: str, job: str | None) -> None:
    assert job_of_cgroup(cgroup) == job
