"""Real fio on a real file system, and how much room it may take."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from readiness_agent.config import Config
from readiness_agent.facts import CouldNotMeasure
from readiness_agent.offline import fio
from readiness_agent.offline.bench import WORK, Bench, make_work_directory
from readiness_agent.offline.fio import GIB, JOBS, command, measure_reads, room_in, size_for
from readiness_agent.source import LiveSource

MIB = 1024**2


@pytest.fixture
def scratch() -> Iterator[str]:
    """A directory on a disk, for a real fio: what lies in memory takes no direct I/O."""
    if shutil.which("fio") is None:
        pytest.fail("No fio on PATH: run tests/install-tools.", pytrace=False)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="countersign-fio-") as place:
        yield place


def bench(directory: str, seconds: float = 1.0) -> Bench:
    return Bench(LiveSource(), Config(portal="", fio_dir=directory), seconds, "")


def disk(*, total: float, free: float) -> os.statvfs_result:
    """A file system of so many GiB."""
    blocks, left = int(total * GIB / 4096), int(free * GIB / 4096)
    return os.statvfs_result((4096, 4096, blocks, left, left, 0, 0, 0, 0, 255))


def test_an_empty_array_is_read_in_full() -> None:
    assert room_in(disk(total=14000, free=13000)) == (10 * GIB, "")


def test_too_little_space_is_said_and_leaves_room_for_others() -> None:
    room = room_in(disk(total=400, free=100))

    assert room.short == "too little space: 100.0 of 200 GiB are free, 75% are used"
    assert room.job_size * JOBS <= 20 * GIB  # to four fifths


def test_a_disk_that_is_nearly_full_is_not_written_to(monkeypatch: pytest.MonkeyPatch, scratch: str) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: disk(total=400, free=70))

    with pytest.raises(CouldNotMeasure, match=r"too little space: 70\.0 of 200 GiB"):
        measure_reads(bench(scratch))
    assert not any(Path(scratch).iterdir())


def test_without_a_directory_in_the_configuration_nothing_is_written() -> None:
    with pytest.raises(CouldNotMeasure, match=r"agent\.json names no fio_dir"):
        measure_reads(bench(""))


def test_a_link_in_the_place_of_our_directory_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("kept")
    (tmp_path / WORK).symlink_to(precious)

    with pytest.raises(CouldNotMeasure, match="move it away"):
        make_work_directory(str(tmp_path))
    assert (precious / "data").read_text() == "kept"


def test_a_run_that_is_cut_short_writes_less() -> None:
    assert size_for(300.0) == size_for(900.0) == 10 * GIB
    assert size_for(3.0) * JOBS < 2 * GIB


def test_real_reads_are_told_with_their_time_and_size_and_leave_no_file(
    scratch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fio, "JOB_SIZE", 4 * MIB)
    monkeypatch.setattr(fio, "LEAST_JOB_SIZE", MIB)
    monkeypatch.setattr(fio, "SHORTEST_JOB_SIZE", 4 * MIB)
    result = measure_reads(bench(scratch))
    told = {fact.name: fact.value for fact in result.facts}

    assert told["direct"] is True
    assert told["size"] == 64 * MIB
    assert 0.9 <= float(told["duration"]) <= 5
    assert float(told["read_bandwidth"]) > 0
    assert float(told["read_iops"]) * 131072 / 1e9 == pytest.approx(float(told["read_bandwidth"]), rel=0.02)
    assert not any(Path(scratch).iterdir())


def test_direct_reads_reach_the_disk_and_those_through_the_page_cache_do_not(scratch: str) -> None:
    """What flatters without ``--direct=1``: reads of files that were just written ask the disk for next to nothing."""
    ours = [one for one in command(scratch, 4 * MIB, 1.0) if not one.startswith(("--output", "--ioengine"))]
    direct = _blocks_read(ours)
    cached = _blocks_read([one.replace("--direct=1", "--direct=0") for one in ours] + ["--invalidate=0"])

    assert direct >= 64 * MIB / 512
    assert cached < direct / 10


def _blocks_read(argv: list[str]) -> int:
    """512-byte blocks that the kernel fetched for fio, by the block layer's own account."""
    done = subprocess.run(
        [*argv, "--ioengine=psync", "--output-format=json"], capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout[done.stdout.index("{") :])
    return sum(one["read_ios"] * 256 for one in report.get("disk_util", []))
