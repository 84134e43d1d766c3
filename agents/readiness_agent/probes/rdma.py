"""Links and drops of the network cards that carry RDMA."""

from __future__ import annotations

from typing import Dict, Optional

from readiness_agent.facts import CouldNotMeasure, Findings, ProbeResult
from readiness_agent.parsers.infiniband import parse_counter, parse_rate, parse_state
from readiness_agent.probes import nic
from readiness_agent.probes.rdma_devices import RdmaPort, training_ports
from readiness_agent.source import Probe, ProbeContext, Source

LINK = "rdma-link"
UP = "LinkUp"
COUNTERS = {"link_downed": "link_downed", "symbol_errors": "symbol_error"}
"""Facts, and the files of a port that hold them."""


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """Both items for every card that takes part in training."""
    findings = Findings(source.now_boottime())
    with findings.attempt(LINK, nic.DROPS):
        ports = training_ports(source)
        for name, port in ports.items():
            with findings.attempt(LINK, subject=name):
                _link(findings, source, port, name)
        nic.measure_drops(findings, source, context, ports)
        findings.evidence(_evidence(source, ports), LINK, nic.DROPS)
    return findings.result()


def _link(findings: Findings, source: Source, port: RdmaPort, name: str) -> None:
    findings.fact(LINK, "device", port.key, "text", name)
    findings.fact(LINK, "state", parse_state(source.read(f"{port.directory}/state")), "text", name)
    physical = parse_state(source.read(f"{port.directory}/phys_state"))
    findings.fact(LINK, "physical_state", physical, "text", name)
    if physical == UP:  # the rate of a link that is down means nothing
        findings.fact(LINK, "rate", parse_rate(source.read(f"{port.directory}/rate")), "Gb/s", name)
    for column, file in COUNTERS.items():
        count = _counter(source, f"{port.directory}/counters/{file}")
        if count is not None:
            findings.fact(LINK, column, count, "count", name)


def _counter(source: Source, path: str) -> Optional[int]:
    """None where the hardware has no such counter."""
    try:
        return parse_counter(source.read(path))
    except CouldNotMeasure:
        return None


def _evidence(source: Source, ports: Dict[str, RdmaPort]) -> str:
    lines = []
    for name, port in ports.items():
        words = [_word(source, f"{port.directory}/{file}") for file in ("state", "phys_state", "rate")]
        lines.append(f"{name} {port.key} {port.model} {port.link_layer} {', '.join(words)}")
    return "\n".join(lines)


def _word(source: Source, path: str) -> str:
    try:
        return source.read(path).strip()
    except CouldNotMeasure as error:
        return error.kind


RDMA = Probe("rdma", (LINK, nic.DROPS), "tick", measure)
