"""Shared memory where a job runs: its own /dev/shm, which in a container is not the node's."""

from __future__ import annotations

import os
from typing import Any, Optional

from readiness_agent.facts import MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.memory import parse_memory_total
from readiness_agent.probes.jobs import find_jobs
from readiness_agent.source import Json, Probe, ProbeContext, Source

ITEM = "shm-size"
JOB_SHM = "shared memory of jobs"
MIB = 1 << 20


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """The smallest /dev/shm of the running jobs, as a share of the node's memory."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        size = _smallest(source.call(JOB_SHM, lambda: _look(source, context.job_user)))
        if size is None:
            raise CouldNotMeasure(MISSING, "no job seen whose /dev/shm can be looked at")
        total = parse_memory_total(source.read("/proc/meminfo"))
        findings.fact(ITEM, "shm_share", 100 * size / MIB / total, "percent")
        findings.evidence(f"shared memory of the job: {size // MIB} MiB; memory of the node: {total} MiB", ITEM)
    return findings.result()


def _smallest(answer: Any) -> Optional[int]:
    if not isinstance(answer, list) or not all(isinstance(one, int) for one in answer):
        raise Unreadable("the sizes of /dev/shm were not saved as numbers")
    return min(answer, default=None)


def _look(source: Source, job_user: Optional[str]) -> Json:
    """Sizes in bytes, as each job's processes see them; one that ends meanwhile is passed over."""
    sizes = set()
    for pid in find_jobs(source, job_user):
        try:
            found = os.statvfs(os.path.join("/proc", str(pid), "root", "dev/shm"))
        except OSError:
            continue
        sizes.add(found.f_blocks * found.f_frsize)
    return [*sorted(sizes)]


SHM = Probe("shm", (ITEM,), "run", measure)
