"""Which governor sets the frequency of each CPU."""

from __future__ import annotations

from typing import List

from readiness_agent.facts import NOT_CAPTURED, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.listing import listed
from readiness_agent.parsers.cpuinfo import is_guest
from readiness_agent.parsers.cpulist import parse_cpulist
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "cpu-governor"
ONLINE_CPUS = "/sys/devices/system/cpu/online"
GOVERNORS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"


def measure(source: Source, _: ProbeContext) -> ProbeResult:
    """Which governors there are, and how many CPUs have one at all."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        paths = _governors(source)
        findings.fact(ITEM, "cpufreq", "present" if paths else "absent", "text")
        if paths:
            findings.fact(ITEM, "cpus", _online(source), "count")
            findings.fact(ITEM, "governed_cpus", len(paths), "count")
            findings.fact(ITEM, "governors", listed(source.read(path).strip() for path in paths), "text")
    return findings.result()


def _governors(source: Source) -> List[str]:
    """Files of governors; empty means that the kernel has none, or that a capture shows a guest, which has none."""
    try:
        return source.glob(GOVERNORS)
    except CouldNotMeasure as error:
        if error.kind != NOT_CAPTURED or not is_guest(_cpu_description(source)):
            raise
        return []


def _cpu_description(source: Source) -> str:
    try:
        return source.read("/proc/cpuinfo")
    except CouldNotMeasure:
        return source.run(("lscpu",)).stdout


def _online(source: Source) -> int:
    cpus = len(parse_cpulist(source.read(ONLINE_CPUS)))
    if cpus == 0:
        raise Unreadable(f"{ONLINE_CPUS} lists no CPU")
    return cpus


CPUFREQ = Probe("cpufreq", (ITEM,), "tick", measure)
