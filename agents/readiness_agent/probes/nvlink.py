"""NVLinks of each GPU and their errors, by the UUID that the report of the GPU and the list of its links share."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence, TypeVar

from readiness_agent.facts import MISSING, UNREADABLE, Findings
from readiness_agent.parsers.nvidia_smi_xml import SmiGpu
from readiness_agent.parsers.nvlink import NvlinkErrors, NvlinkGpu
from readiness_agent.probes.gpu_report import GpuReport
from readiness_agent.source import Source

LINKS, ERRORS = "gpu-nvlink-links", "gpu-nvlink-errors"
ITEMS = (LINKS, ERRORS)

Listed = TypeVar("Listed", NvlinkGpu, NvlinkErrors)


def measure_links(
    findings: Findings, source: Source, report: GpuReport, gpus: Sequence[SmiGpu], names: Mapping[str, str]
) -> None:
    """Both items for each of *gpus*; *names* gives their names by PCI address."""
    with findings.attempt(LINKS):
        links = report.links(source)
        for gpu in gpus:
            _links(findings, _of(links, gpu), gpu, names[gpu.bus_id])
    with findings.attempt(ERRORS):
        errors = report.link_errors(source)
        for gpu in gpus:
            _errors(findings, _of(errors, gpu), gpu, names[gpu.bus_id])


def _of(listed: Sequence[Listed], gpu: SmiGpu) -> Optional[Listed]:
    return next((one for one in listed if one.uuid is not None and one.uuid == gpu.uuid), None)


def _links(findings: Findings, found: Optional[NvlinkGpu], gpu: SmiGpu, name: str) -> None:
    if found is not None and found.supported is False:
        findings.problem(LINKS, MISSING, f"the driver says that the GPU at {gpu.bus_id} has no NVLink", name)
        return
    if found is None or found.links_up is None or not found.complete:
        findings.problem(LINKS, UNREADABLE, f"the links of the GPU at {gpu.bus_id} are not all told", name)
        return
    findings.fact(LINKS, "links_up", found.links_up, "count", name)
    findings.fact(LINKS, "links", len(found.links), "count", name)
    if found.slowest is not None:
        findings.fact(LINKS, "link_speed_min", found.slowest, "GB/s", name)


def _errors(findings: Findings, found: Optional[NvlinkErrors], gpu: SmiGpu, name: str) -> None:
    counts = {} if found is None or not found.complete else {
        "recovery_errors": found.recovery, "replay_errors": found.replay, "crc_errors": found.crc,
    }  # fmt: skip
    known = {column: count for column, count in counts.items() if count is not None}
    for column, count in known.items():
        findings.fact(ERRORS, column, count, "count", name)
    if found is not None and found.complete and found.effective_ber is not None:
        findings.fact(ERRORS, "effective_ber", found.effective_ber, "ratio", name)
    elif not known:
        findings.problem(ERRORS, UNREADABLE, f"no error counter of the links of the GPU at {gpu.bus_id} is told", name)
        return
    if gpu.utilization is not None:
        findings.fact(ERRORS, "utilization", gpu.utilization, "percent", name)
