"""What probes keep from one tick to the next, in a real directory and with real processes."""

from __future__ import annotations

import mmap
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from readiness_agent.probes import jobs
from readiness_agent.probes.driver import DRIVER
from readiness_agent.probes.rdma import RDMA
from readiness_agent.probes.xid import XID
from readiness_agent.source import Json, LiveSource, ProbeContext
from tests.agents.probes.fake_source import FakeSource, problems, values
from tests.agents.probes.test_rdma import port
from tests.agents.probes.test_xid import FAULT, FROM_BOOT
from tests.agents.whoami import ME

BOOT_ID = "/proc/sys/kernel/random/boot_id"
FIRST_BOOT, SECOND_BOOT = {BOOT_ID: "1\n"}, {BOOT_ID: "2\n"}
LATER = "[ 4000.700000] eth0: link up\n"

LOADED = """
import mmap, sys
file = open(sys.argv[1], "rb")
library = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print(flush=True)
sys.stdin.read()
"""


class CallingSource(FakeSource):
    """Files and commands in memory; calls happen."""

    def call(self, name: str, function: Callable[[], Json]) -> Json:
        return LiveSource().call(name, function) if name != "nvml" else super().call(name, function)


@pytest.fixture
def memory(tmp_path: Path) -> ProbeContext:
    return ProbeContext(memory_dir=str(tmp_path))


def test_an_event_that_the_ring_buffer_has_lost_is_remembered(memory: ProbeContext) -> None:
    XID.run(CallingSource(FIRST_BOOT, {"dmesg": FROM_BOOT + FAULT}), memory)

    later = XID.run(CallingSource(FIRST_BOOT, {"dmesg": FAULT + LATER}), memory)
    gone = XID.run(CallingSource(FIRST_BOOT, {"dmesg": LATER}), memory)

    assert values(later, "gpu-xid")["xids"] == "79"
    assert later.problems == ()
    assert values(gone, "gpu-xid")["xids"] == "79"


def test_another_boot_begins_anew(memory: ProbeContext) -> None:
    XID.run(CallingSource(FIRST_BOOT, {"dmesg": FROM_BOOT + FAULT}), memory)

    after = XID.run(CallingSource(SECOND_BOOT, {"dmesg": FROM_BOOT}), memory)

    assert values(after, "gpu-xid")["xids"] == "none"


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"boot_id": "1", "look": 3}', '{"boot_id": "1"}', "[" * 200_000, '{"a":' * 200_000]
)
def test_a_damaged_memory_is_none(memory: ProbeContext, damage: str) -> None:
    (Path(str(memory.memory_dir)) / "driver-log.json").write_text(damage)

    result = XID.run(CallingSource(FIRST_BOOT, {"dmesg": LATER}), memory)

    assert problems(result, "gpu-xid")


def test_drops_are_counted_from_one_tick_to_the_next(memory: ProbeContext) -> None:
    before = port("mlx5_0", ports__1__counters__port_rcv_packets="1000000\n")
    after = port(
        "mlx5_0", ports__1__counters__port_rcv_packets="3000000\n", ports__1__counters__port_xmit_discards="20\n"
    )

    first = RDMA.run(CallingSource(before | FIRST_BOOT), memory)
    second = RDMA.run(CallingSource(after | FIRST_BOOT), memory)
    rebooted = RDMA.run(CallingSource(after | SECOND_BOOT), memory)

    assert "drop_share" not in values(first, "nic-drop-rate", "nic0")
    assert values(second, "nic-drop-rate", "nic0")["drop_share"] == 0.001
    assert "drop_share" not in values(rebooted, "nic-drop-rate", "nic0")


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has a file of the name of CUDA's runtime mapped."""
    library = tmp_path / "libcudart.so.12"
    library.write_bytes(b"\0" * mmap.PAGESIZE)
    process = subprocess.Popen(
        [sys.executable, "-c", LOADED, str(library)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


def test_the_runtime_of_a_job_is_that_of_its_process_and_stays_known_after_it(
    memory: ProbeContext, trainer: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_PROCESSES", 1_000_000)
    files = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24\n"}
    context = memory._replace(job_user=ME)

    during = DRIVER.run(CallingSource(files), context)
    trainer.kill()
    trainer.wait()
    after = DRIVER.run(CallingSource(files), context)

    assert values(during, "driver-cuda-match")["environment"] == "job"
    assert values(during, "driver-cuda-match")["cuda_runtime"] == "12"
    assert values(after, "driver-cuda-match")["environment"] == "last job"
    assert values(after, "driver-cuda-match")["user_driver"] == "535.161.08"
