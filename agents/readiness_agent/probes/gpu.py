"""GPUs of the node, from one report of NVML, ``nvidia-smi`` or ``amd-smi``."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from readiness_agent.facts import (
    ERROR,
    MISSING,
    UNREADABLE,
    CouldNotMeasure,
    Findings,
    ProbeResult,
    Unreadable,
)
from readiness_agent.listing import listed
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from readiness_agent.parsers.nvidia_smi_xml import SmiGpu, SmiLog
from readiness_agent.probes import nvlink
from readiness_agent.probes.gpu_report import GpuReport, ask_for_report
from readiness_agent.probes.jobs import is_job
from readiness_agent.probes.pcie import link_on_bus
from readiness_agent.probes.subjects import bus_has_no_gpu, names_of_gpus
from readiness_agent.source import CommandResult, Probe, ProbeContext, Source

Columns = Tuple[Tuple[str, str], ...]

GPU_ITEMS: Dict[str, Columns] = {
    "gpu-ecc": (
        ("ecc_enabled", "bool"),
        ("volatile_uncorrectable", "count"),
        ("volatile_correctable", "count"),
        ("aggregate_sram_uncorrectable", "count"),
        ("sram_threshold_exceeded", "bool"),
        ("remap_pending", "bool"),
        ("remap_failed", "bool"),
    ),
    "gpu-temperature": (("temperature", "celsius"), ("tlimit", "celsius"), ("utilization", "percent")),
    "gpu-clock-throttle": (
        ("hw_slowdown_active", "bool"),
        ("hw_thermal", "microseconds"),
        ("power_brake", "microseconds"),
        ("sw_thermal", "microseconds"),
        ("sw_power_cap", "microseconds"),
        ("sm_clock", "MHz"),
        ("utilization", "percent"),
    ),
    "gpu-pcie-width": (("width", "lanes"), ("width_max", "lanes")),
    "gpu-pcie-generation": (("generation", "count"), ("generation_max", "count"), ("utilization", "percent")),
    "gpu-firmware": (("vbios", "text"), ("inforom", "text"), ("part_number", "text")),
}
"""Facts of one GPU that stand in the report as they are: item, then name (also the field's) and unit."""

PCIE_COLUMNS = ("width", "width_max", "generation", "generation_max")
EACH_GPU = ("gpu-clean", *GPU_ITEMS, *nvlink.ITEMS)
ITEMS = ("gpu-present", *EACH_GPU, "gpu-fabric", "persistence-mode")


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """All GPU items at once."""
    findings = Findings(source.now_boottime())
    with findings.attempt(*ITEMS):
        report = _ask(findings, source)
        findings.evidence(report.evidence, *ITEMS)
        if report.log.error is not None and report.result is not None:
            _no_report(findings, report.result, report.log.error)
        else:
            _report(findings, source, context, report)
    return findings.result()


def _ask(findings: Findings, source: Source) -> GpuReport:
    """The report; where neither library nor tool is there, the bus may still prove that there is no GPU."""
    try:
        return ask_for_report(source)
    except CouldNotMeasure as error:
        if error.kind == MISSING and bus_has_no_gpu(source):
            findings.fact("gpu-present", "gpus_visible", 0, "count")
        raise


def _no_report(findings: Findings, result: CommandResult, error: str) -> None:
    """There are only sentences: they may still prove that GPUs are gone."""
    errors = parse_smi_errors(f"{result.stdout}\n{result.stderr}")
    if errors.no_driver or errors.no_devices:
        findings.fact("gpu-present", "gpus_visible", 0, "count")
    elif errors.lost_handles:
        findings.fact("gpu-present", "gpus_lost", len(errors.lost_handles), "count")
    else:
        raise Unreadable(f"nvidia-smi ended with {result.exit_code}: {error}")
    for item in ITEMS:
        if item != "gpu-present":
            findings.problem(item, ERROR, errors.sentence)


def _report(findings: Findings, source: Source, context: ProbeContext, report: GpuReport) -> None:
    log = report.log
    addresses = [gpu.bus_id for gpu in log.gpus]
    if "" in addresses or len(set(addresses)) != len(addresses):
        raise Unreadable("the driver shows two GPUs at one PCI address, or one without an address")
    on_bus = report.on_bus(source)
    names = names_of_gpus([*addresses, *on_bus])
    absent = [address for address in on_bus if address not in addresses]
    with findings.attempt("gpu-present", subject=""):
        _presence(findings, log, absent)
    _fabric(findings, log.gpus)
    with findings.attempt("persistence-mode", subject=""):
        without = _how_many(log.gpus, lambda gpu: gpu.persistence, "persistence mode")
        findings.fact("persistence-mode", "gpus_without_persistence", without, "count")
    for gpu in log.gpus:
        _one_gpu(findings, source, context, gpu, names[gpu.bus_id])
    nvlink.measure_links(findings, source, report, [gpu for gpu in log.gpus if not gpu.lost], names)
    for address in absent:
        _absent_gpu(findings, source, address, names[address])


def _presence(findings: Findings, log: SmiLog, absent: Sequence[str]) -> None:
    """What is attached and not described, on the bus and not shown, or described as lost: all count as lost."""
    if log.attached_gpus is None or log.attached_gpus < len(log.gpus):
        raise Unreadable(f"the driver says {log.attached_gpus} attached GPUs and describes {len(log.gpus)}")
    unseen = max(log.attached_gpus - len(log.gpus), len({*log.lost_handles, *absent}))
    broken = sum(1 for gpu in log.gpus if gpu.lost or gpu.recovery)
    findings.fact("gpu-present", "gpus_visible", len(log.gpus), "count")
    findings.fact("gpu-present", "gpus_lost", unseen + broken, "count")


def _fabric(findings: Findings, gpus: Sequence[SmiGpu]) -> None:
    _words(findings, "fabric_states", [gpu.fabric_state for gpu in gpus])
    _words(findings, "fabric_statuses", [gpu.fabric_status for gpu in gpus])
    if all(gpu.clique is not None and gpu.cluster_uuid is not None for gpu in gpus):
        findings.fact("gpu-fabric", "cliques", listed(str(gpu.clique) for gpu in gpus), "text")
        findings.fact("gpu-fabric", "cluster_uuids", listed(str(gpu.cluster_uuid) for gpu in gpus), "text")


def _words(findings: Findings, name: str, words: Sequence[Optional[str]]) -> None:
    """What the GPUs say, each word once; a GPU that says nothing is a problem beside it."""
    known = [word for word in words if word is not None]
    if known:
        findings.fact("gpu-fabric", name, listed(known), "text")
    if len(known) < len(words) or not words:
        detail = f"the driver does not show the {name.replace('_', ' ')} of every GPU"
        findings.problem("gpu-fabric", UNREADABLE, detail, subject="")


def _how_many(gpus: Sequence[SmiGpu], is_good: Callable[[SmiGpu], Optional[bool]], what: str) -> int:
    """GPUs that are not good. A zero needs an answer from every GPU; one bad GPU is enough for more."""
    answers = [is_good(gpu) for gpu in gpus]
    bad = answers.count(False)
    if not answers or (bad == 0 and None in answers):
        raise Unreadable(f"the driver does not show the {what} of every GPU")
    return bad


def _one_gpu(findings: Findings, source: Source, context: ProbeContext, gpu: SmiGpu, name: str) -> None:
    if gpu.lost:
        for item in EACH_GPU:
            findings.problem(item, ERROR, f"the GPU at {gpu.bus_id} cannot be read ({gpu.lost})", name)
        return
    if gpu.width is None or gpu.generation is None:
        told = {column: value for column in PCIE_COLUMNS if (value := getattr(gpu, column)) is not None}
        gpu = gpu._replace(**{**link_on_bus(source, gpu.bus_id), **told})
    for item, columns in GPU_ITEMS.items():
        _columns(findings, item, columns, gpu, name)
    with findings.attempt("gpu-clean", subject=name):
        _cleanness(findings, source, context, gpu, name)


def _absent_gpu(findings: Findings, source: Source, address: str, name: str) -> None:
    """A GPU that only the bus shows: its link can still be told."""
    link = link_on_bus(source, address)
    for column, unit in GPU_ITEMS["gpu-pcie-width"]:
        if column in link:
            findings.fact("gpu-pcie-width", column, link[column], unit, name)
    for item in EACH_GPU:
        detail = f"the GPU at {address} is on the PCI bus, and the driver does not show it"
        findings.problem(item, MISSING, detail, name)


def _columns(findings: Findings, item: str, columns: Columns, gpu: SmiGpu, name: str) -> None:
    known = [(column, unit) for column, unit in columns if getattr(gpu, column) is not None]
    for column, unit in known:
        findings.fact(item, column, getattr(gpu, column), unit, name)
    if {column for column, _ in known} <= {"utilization"}:
        findings.problem(item, UNREADABLE, f"the driver says nothing about it for the GPU at {gpu.bus_id}", name)


def _cleanness(findings: Findings, source: Source, context: ProbeContext, gpu: SmiGpu, name: str) -> None:
    """Foreign processes and memory; nothing at all while one process is neither known as a job's nor as foreign."""
    if gpu.processes is None:
        raise Unreadable(f"the driver does not list the processes of the GPU at {gpu.bus_id}")
    jobs = _jobs(source, context, [one.pid for one in gpu.processes])
    findings.fact("gpu-clean", "foreign_processes", len(gpu.processes) - jobs, "count", name)
    findings.fact("gpu-clean", "job_processes", jobs, "count", name)
    if gpu.memory_used is not None:
        findings.fact("gpu-clean", "memory_used", gpu.memory_used, "MiB", name)
    if gpu.mig is not None:
        findings.fact("gpu-clean", "mig_enabled", gpu.mig, "bool", name)
    if gpu.compute_mode is not None:
        findings.fact("gpu-clean", "compute_mode", gpu.compute_mode, "text", name)


def _jobs(source: Source, context: ProbeContext, pids: List[Optional[int]]) -> int:
    """How many of *pids* are jobs."""
    count = 0
    for pid in pids:
        if pid is None:
            raise Unreadable("the driver shows a process without its pid")
        try:
            count += is_job(source, pid, context.job_user)
        except CouldNotMeasure as error:
            detail = f"process {pid} uses the GPU, and nothing tells whether it is a job's: {error.detail}"
            raise CouldNotMeasure(error.kind, detail) from error
    return count


GPU = Probe("gpu", ITEMS, "tick", measure)
