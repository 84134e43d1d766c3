"""Reads the scratch array at full speed with fio, past the page cache, from files of our own: never from a device."""

from __future__ import annotations

import os
from typing import Dict, NamedTuple, Tuple

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, ProbeResult, Value
from readiness_agent.offline.bench import Bench, OfflineProbe, make_work_directory, remove_work_directory
from readiness_agent.parsers.fio import read_fio

ITEM = "nvme-fio"
GIB = 1024**3
JOBS = 16
JOB_SIZE = 10 * GIB
"""``--size`` of fio is that of one job."""
FREE_BEFORE = 200 * GIB
FULL_AFTER = 0.8
FULL_SECONDS = 300.0
LEAST_JOB_SIZE = 16 * 1024 * 1024
SHORTEST_JOB_SIZE = 64 * 1024 * 1024
LAYOUT_SECONDS = 900.0
"""For writing the files once, before the first read."""

_TAKEN: Tuple[Tuple[str, str, str], ...] = (
    ("read_bandwidth", "read_bandwidth", "GB/s"),
    ("read_iops", "read_iops", "IOPS"),
    ("direct", "direct", "bool"),
    ("read_seconds", "duration", "seconds"),
)


class Room(NamedTuple):
    """Bytes of one job's file, and why that is less than it should be (empty: it is not)."""

    job_size: int
    short: str


def measure_reads(bench: Bench) -> ProbeResult:
    """One random read of the whole set; what is read for a shorter time, or from less, says so in its facts."""
    parent = bench.config.fio_dir
    if not parent:
        raise CouldNotMeasure(MISSING, "agent.json names no fio_dir: name a directory on the scratch array")
    room = room_in(os.statvfs(parent)) if _is_directory(parent) else Room(0, f"{parent} is no directory")
    if room.job_size < LEAST_JOB_SIZE:
        raise CouldNotMeasure(ERROR, room.short)
    room = room._replace(job_size=min(room.job_size, size_for(bench.seconds)))
    directory = make_work_directory(parent)
    try:
        answer = bench.source.run(command(directory, room.job_size, bench.seconds), bench.seconds + LAYOUT_SECONDS)
    finally:
        remove_work_directory(directory)
    return _result(bench, answer.stdout + ("\n" + answer.stderr if answer.exit_code else ""), answer.exit_code, room)


def command(directory: str, job_size: int, seconds: float) -> Tuple[str, ...]:
    """The command line of fio: the catalogue's parameters, with this size and time."""
    return (
        "fio", "--name=read", f"--directory={directory}", "--ioengine=libaio", "--direct=1", "--rw=randread",
        "--bs=128k", "--iodepth=32", f"--numjobs={JOBS}", f"--size={job_size}", f"--runtime={max(1, int(seconds))}",
        "--time_based", "--group_reporting", "--output-format=json",
    )  # fmt: skip


def size_for(seconds: float) -> int:
    """Bytes of one job's file: a run that is cut short need not write the whole set before it reads."""
    return max(SHORTEST_JOB_SIZE, int(JOB_SIZE * min(1.0, seconds / FULL_SECONDS)) // 4096 * 4096)


def room_in(disk: os.statvfs_result) -> Room:
    """The largest files that leave the file system below four fifths, and whether they are as large as they should."""
    free, total = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    used = total - disk.f_bfree * disk.f_frsize
    may_take = max(0, min(free // 2 if free < FREE_BEFORE else free, int(total * FULL_AFTER) - used))
    job_size = min(JOB_SIZE, may_take // JOBS // 4096 * 4096)
    if job_size == JOB_SIZE and free >= FREE_BEFORE:
        return Room(job_size, "")
    return Room(job_size, f"too little space: {free / GIB:.1f} of {FREE_BEFORE // GIB} GiB are free, "
                          f"{used / max(total, 1):.0%} are used")  # fmt: skip


def _is_directory(path: str) -> bool:
    return os.path.isabs(path) and os.path.isdir(path) and not os.path.islink(path)


def _result(bench: Bench, text: str, code: int, room: Room) -> ProbeResult:
    findings = Findings(bench.source.now_boottime())
    saved = read_fio(text)
    told: Dict[str, Value] = {fact.name: fact.value for fact in saved.facts}
    for name, ours, unit in _TAKEN:
        if name in told:
            findings.fact(ITEM, ours, told[name], unit)
    if "read_bandwidth" in told:
        findings.fact(ITEM, "size", room.job_size * JOBS, "bytes")
    for sentence in saved.problems:
        findings.problem(ITEM, ERROR, f"fio: {sentence}")
    if code and not saved.problems:
        findings.problem(ITEM, ERROR, f"fio ended with {code}")
    if room.short:
        findings.problem(ITEM, ERROR, room.short)
    findings.evidence(text, ITEM)
    return findings.result()


FIO = OfflineProbe("fio", (ITEM,), FULL_SECONDS, measure_reads, overhead=LAYOUT_SECONDS + 60.0)
