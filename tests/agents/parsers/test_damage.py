"""Damaged text: no parser ever stops on it, and none reads out of it what it does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.clock import parse_adjtimex, parse_chrony_tracking, parse_timesync_status
from readiness_agent.parsers.cpuinfo import is_guest
from readiness_agent.parsers.cpulist import parse_cpulist
from readiness_agent.parsers.kernel_log import oom_kills, parse_kernel_log
from readiness_agent.parsers.limits import (
    Account,
    parse_limits_conf,
    parse_process_limits,
    parse_ulimit,
    parse_unit_limits,
    resolve_limits,
)
from readiness_agent.parsers.memory import parse_memory_total, parse_oom_kill_count
from readiness_agent.parsers.mountinfo import mount_of, parse_mountinfo
from readiness_agent.parsers.numactl import parse_numactl_nodes
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from readiness_agent.parsers.nvidia_smi_text import parse_smi_text
from readiness_agent.parsers.nvidia_smi_xml import SmiGpu, parse_smi_xml
from readiness_agent.parsers.process import job_of_cgroup, parse_switches, parse_task_stat
from readiness_agent.parsers.softnet import parse_softnet_dropped
from readiness_agent.parsers.swaps import parse_swap_count
from readiness_agent.parsers.sysctl import (
    ConfFile,
    effective_setting,
    files_of_grep,
    parse_sysctl_dump,
    parse_sysctl_file,
)
from tests.agents.parsers.inputs import SHARED

EXAMPLE = Path(__file__).resolve().parents[3] / "tests" / "captures" / "example-2gpu"
LOADED = (EXAMPLE / "commands" / "smi-q-x.load2.xml").read_text()
FILES = EXAMPLE / "files"
TRAINER = Account("trainer", 2001, 2001, ("trainer",))
ADJTIMEX = '{"ret": 0, "offset": 2500, "maxerror": 1, "esterror": 1, "status": 1}'
TIMESYNC = "       Server: 10.0.0.1\n       Offset: +1min 2.5s\n        Delay: 1.2ms\n"
ULIMIT = "open files                          (-n) 1048576\nmax locked memory           (kbytes, -l) unlimited\n"
UNIT = "LoadState=loaded\nLimitNOFILE=9\nLimitNOFILESoft=9\nLimitMEMLOCK=infinity\nLimitMEMLOCKSoft=infinity\n"
STAT = "4711 (python) D 1 4711 4711 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 0 0\n"
STATUS = "Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n"
LOG = "[ 9000.500100] Out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB\n"
CPUINFO = "processor\t: 0\nflags\t\t: fpu vme hypervisor\n"

OUTLINE = """Driver Version                            : 550.54.15
Attached GPUs                             : 1
GPU 00000000:10:1C.0
    Persistence Mode                      : Enabled
    ECC Errors
        Volatile
            SRAM Uncorrectable            : 0
            DRAM Uncorrectable            : 0
    Remapped Rows
        Pending                           : No
    Processes
        Process ID                        : 77
            Type                          : C
            Used GPU Memory               : 9 MiB
"""

Parser = Callable[[str], object]


def text(path: str) -> str:
    return (FILES / path).read_text()


def setting(conf: str) -> object:
    return effective_setting([ConfFile("/etc/sysctl.d/a.conf", conf)], "vm.swappiness")


PARSERS: dict[str, tuple[Parser, str]] = {
    "nvidia-smi": (parse_smi_xml, LOADED),
    "nvidia-smi text": (parse_smi_text, OUTLINE),
    "nvidia-smi sentences": (parse_smi_errors, "Unable to determine the device handle for GPU0000:01:00.0: Unknown"),
    "sysctl file": (parse_sysctl_file, "5000\n"),
    "sysctl dump": (parse_sysctl_dump, "net.core.somaxconn = 65535\nvm.swappiness = 10\n"),
    "sysctl conf": (setting, text("etc/sysctl.d/90-training.conf")),
    "sysctl grep": (files_of_grep, "/etc/sysctl.d/a.conf:vm.swappiness = 1\n"),
    "limits": (parse_process_limits, text("proc/JOB/limits")),
    "limits.conf": (
        lambda conf: resolve_limits(parse_limits_conf(conf), TRAINER), text("etc/security/limits.d/90-training.conf"),
    ),
    "ulimit": (parse_ulimit, ULIMIT),
    "unit": (parse_unit_limits, UNIT),
    "cpulist": (parse_cpulist, "0-31,64\n"),
    "numactl": (parse_numactl_nodes, "available: 2 nodes (0-1)\nnode 0 cpus: 0\n"),
    "meminfo": (parse_memory_total, text("proc/meminfo")),
    "vmstat": (parse_oom_kill_count, text("proc/vmstat")),
    "softnet": (parse_softnet_dropped, text("proc/net/softnet_stat")),
    "swaps": (parse_swap_count, text("proc/swaps")),
    "mountinfo": (lambda table: mount_of(parse_mountinfo(table), "/checkpoints/runs"), text("proc/self/mountinfo")),
    "stat": (parse_task_stat, STAT),
    "status": (parse_switches, STATUS),
    "cgroup": (job_of_cgroup, text("proc/JOB/cgroup")),
    "adjtimex": (parse_adjtimex, ADJTIMEX),
    "chrony": (parse_chrony_tracking, (EXAMPLE / "commands" / "chronyc-tracking").read_text()),
    "timesyncd": (parse_timesync_status, TIMESYNC),
    "kernel log": (lambda log: oom_kills(parse_kernel_log(log)), LOG),
    "cpuinfo": (is_guest, CPUINFO),
}  # fmt: skip

ANY_CUT = (
    "sysctl file", "sysctl dump", "limits", "cpulist", "numactl", "meminfo", "vmstat", "status", "adjtimex", "chrony",
)  # fmt: skip
"""Inputs of which any part gives the same answer as the whole, an emptier one, or none."""

DEEP = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def answer(parser: Parser, damaged: str) -> object:
    """What *parser* reads; None when it refuses. Any other exception fails the test."""
    try:
        return parser(damaged)
    except Unreadable:
        return None


@st.composite
def damaged(draw: st.DrawFn, original: str) -> str:
    """*original* with up to three runs of bytes replaced, dropped or doubled, decoded as a source decodes it."""
    raw = bytearray(original.encode())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(raw) - 1, 0)))
        length = draw(st.integers(0, 40))
        raw[at : at + length] = draw(st.binary(max_size=12) | st.just(bytes(raw[at : at + length]) * 2))
    return raw.decode("utf-8", "replace")


@pytest.mark.parametrize("name", PARSERS)
@DEEP
@given(data=st.data())
def test_no_damage_stops_a_parser(name: str, data: st.DataObject) -> None:
    parser, original = PARSERS[name]

    answer(parser, data.draw(damaged(original)))


@pytest.mark.parametrize("name", PARSERS)
@DEEP
@given(anything=st.text(max_size=200))
def test_no_text_of_another_kind_stops_a_parser(name: str, anything: str) -> None:
    answer(PARSERS[name][0], anything)


@pytest.mark.parametrize("name", PARSERS)
def test_numbers_of_5000_digits_and_nests_of_5000_brackets_stop_no_parser(name: str) -> None:
    parser, original = PARSERS[name]

    answer(parser, re.sub(r"[0-9]+", "9" * 5000, original))
    answer(parser, "[" * 5000)


@pytest.mark.parametrize("name", ANY_CUT)
def test_a_cut_text_gives_the_whole_answer_or_less_and_never_another_value(name: str) -> None:
    parser, original = PARSERS[name]
    whole = parser(original)

    for end in range(len(original)):
        got = answer(parser, original[:end])
        held = got is None or got == whole
        assert held or (isinstance(got, dict) and isinstance(whole, dict) and got.items() <= whole.items()), end


def test_a_cut_report_describes_no_gpu_wherever_it_is_cut() -> None:
    last = LOADED.rindex("</nvidia_smi_log>") + len("</nvidia_smi_log>")

    for end in range(0, last, 7):
        log = parse_smi_xml(LOADED[:end])
        assert (log.gpus, log.attached_gpus) == ((), None)
        assert log.error


def test_a_cut_table_of_mounts_never_shows_a_better_mount() -> None:
    parser, original = PARSERS["mountinfo"]
    whole = parser(original)

    for end in range(len(original)):
        mount = answer(parser, original[:end])
        assert mount is None or mount == whole or getattr(mount, "point", "") == "/"


MAY_CHANGE = ("bus_id", "processes", "lost", "recovery", "fabric_status")
"""Fields in which damage shows as something worse, not as nothing."""


def changed_fields(before: SmiGpu, after: SmiGpu) -> list[str]:
    """Fields that say something else than before, unknown aside."""
    fields = [name for name in SmiGpu._fields if name not in MAY_CHANGE]
    return [name for name in fields if getattr(after, name) not in (None, getattr(before, name))]


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_spoiled_character_makes_a_field_unknown_and_never_another_value(data: st.DataObject) -> None:
    spoiled = list(LOADED)
    for _ in range(data.draw(st.integers(1, 4))):
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.sampled_from("?~\x00\x07\ufffd<>&;"))

    before, after = parse_smi_xml(LOADED), parse_smi_xml("".join(spoiled))

    assert len(after.gpus) in (0, 2)
    for old, new in zip(before.gpus, after.gpus):  # noqa: B905  (Python 3.9)
        assert changed_fields(old, new) == []


@pytest.mark.skipif(not SHARED.exists(), reason="../shared is not here")
@pytest.mark.parametrize("end", range(1, 60))
def test_real_reports_cut_anywhere_describe_no_gpu(end: int) -> None:
    for file in sorted((SHARED / "cases" / "smi_xml").glob("*.xml")):
        whole = file.read_text()
        log = parse_smi_xml(whole[: len(whole) * end // 61])
        assert (log.gpus, bool(log.error)) == ((), True), file.name
