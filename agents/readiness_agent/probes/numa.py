"""How many NUMA nodes the machine has, said for each GPU; with more than one, whether ranks run beside theirs."""

from __future__ import annotations

from readiness_agent.facts import NOT_CAPTURED, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.cpulist import parse_cpulist
from readiness_agent.parsers.numactl import parse_numactl_nodes
from readiness_agent.probes.subjects import gpus_on_bus, names_of_gpus
from readiness_agent.source import Probe, ProbeContext, Source

ITEM = "numa-binding"
ONLINE_NODES = "/sys/devices/system/node/online"


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """One fact a GPU on the bus, or one of the whole node where none is seen."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        nodes = _count(source)
        gpus = names_of_gpus(gpus_on_bus(source))
        for subject in gpus.values() or ("",):
            findings.fact(ITEM, "numa_nodes", nodes, "count", subject)
        if nodes > 1 and gpus:
            from readiness_agent.probes.binding import measure_binding  # not on machines with nothing to bind

            measure_binding(findings, source, context, gpus)
    return findings.result()


def _count(source: Source) -> int:
    """From the kernel's file; from numactl where a capture holds only that."""
    try:
        nodes = len(parse_cpulist(source.read(ONLINE_NODES)))
    except CouldNotMeasure as error:
        if error.kind != NOT_CAPTURED:
            raise
        return parse_numactl_nodes(source.run(("numactl", "--hardware")).stdout)
    if nodes == 0:
        raise Unreadable(f"{ONLINE_NODES} lists no node")
    return nodes


NUMA = Probe("numa", (ITEM,), "run", measure)
