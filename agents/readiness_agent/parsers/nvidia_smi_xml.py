"""The report of ``nvidia-smi -q -x``, drivers 384 to 610.

A report that is not well-formed describes no GPU at all: half a report must never look like a healthy half.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple, Union

from readiness_agent.parsers.nvidia_smi_cells import (
    LOST_WORDS,
    bus_id,
    count,
    identifier,
    number,
    state,
    version,
)
from readiness_agent.parsers.nvidia_smi_ecc import (
    remap_failed,
    remap_pending,
    sram_uncorrectable,
    volatile_correctable,
    volatile_uncorrectable,
)
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_COMPUTE_MODES = ("Default", "Exclusive_Thread", "Exclusive_Process", "Prohibited")
_FABRIC_STATES = ("Not Started", "In Progress", "Completed")
_NO_RECOVERY = ("", "None", "N/A", "[N/A]", "Unknown Error")
_BEGIN = re.compile(r"<\?xml|<!DOCTYPE|<nvidia_smi_log")
_END = "</nvidia_smi_log>"
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class SmiProcess(NamedTuple):
    """One process on one GPU."""

    pid: Optional[int]
    kind: str
    """``C`` compute, ``G`` graphics, ``C+G``, ``M`` multi-process service."""
    used_memory: Optional[int]
    """MiB."""


class SmiGpu(NamedTuple):
    """One GPU. None always means: the report does not say."""

    bus_id: str
    uuid: Optional[str]
    persistence: Optional[bool]
    mig: Optional[bool]
    compute_mode: Optional[str]
    ecc_enabled: Optional[bool]
    volatile_uncorrectable: Optional[int]
    volatile_correctable: Optional[int]
    aggregate_sram_uncorrectable: Optional[int]
    sram_threshold_exceeded: Optional[bool]
    remap_pending: Optional[bool]
    remap_failed: Optional[bool]
    width: Optional[int]
    width_max: Optional[int]
    generation: Optional[int]
    generation_max: Optional[int]
    temperature: Optional[int]
    """Degrees Celsius."""
    tlimit: Optional[int]
    """Degrees left until the GPU slows down: less is hotter."""
    utilization: Optional[int]
    """Per cent of the last sample period in which a kernel ran."""
    sm_clock: Optional[int]
    """MHz."""
    hw_slowdown_active: Optional[bool]
    hw_thermal: Optional[int]
    """Microseconds since the driver was loaded; so are the next three."""
    power_brake: Optional[int]
    sw_thermal: Optional[int]
    sw_power_cap: Optional[int]
    memory_used: Optional[int]
    """MiB, without the driver's own reserve; None for old drivers, which do not tell the two apart."""
    fabric_state: Optional[str]
    fabric_status: Optional[str]
    clique: Optional[str]
    cluster_uuid: Optional[str]
    vbios: Optional[str]
    inforom: Optional[str]
    part_number: Optional[str]
    processes: Optional[Tuple[SmiProcess, ...]]
    lost: Optional[str]
    """The cell that says that this GPU cannot be read any more; its other cells prove nothing."""
    recovery: Optional[str]
    """The recovery that the driver asks for; its other cells say why."""


class SmiLog(NamedTuple):
    """A whole report."""

    driver_version: Optional[str]
    attached_gpus: Optional[int]
    gpus: Tuple[SmiGpu, ...]
    lost_handles: Tuple[str, ...]
    """PCI addresses of GPUs that the report says it could not open."""
    error: Optional[str]
    """Why the report could not be read; then it describes no GPU."""


def parse_smi_xml(text: str) -> SmiLog:
    """Read one report, with or without sentences before and after it. Never raises."""
    start, end = _report_within(text)
    outside = parse_smi_errors(text[:start] + "\n" + text[end:])
    root = _well_formed(text[start:end])
    if isinstance(root, str):
        return SmiLog(None, None, (), outside.lost_handles, root)
    gpus = tuple(read_gpu(element) for element in root.findall("gpu"))
    attached = count(root.findtext("attached_gpus"))
    return SmiLog(version(root.findtext("driver_version")), attached, gpus, outside.lost_handles, None)


def xml_report(text: str) -> Union[Element, str]:
    """The root of the report in *text*, or the sentence that says why there is none. Never raises."""
    start, end = _report_within(text)
    return _well_formed(text[start:end])


def _report_within(text: str) -> Tuple[int, int]:
    """Where the report begins and ends; a report without its last tag ends with the text."""
    begin = _BEGIN.search(text)
    end = text.rfind(_END)
    return begin.start() if begin else len(text), len(text) if end < 0 else end + len(_END)


def _well_formed(report: str) -> Union[Element, str]:
    """The root of the report, or the sentence that says why there is none."""
    from xml.etree.ElementTree import ParseError, fromstring

    if not report:
        return "there is no report of nvidia-smi in this text"
    if "<!ENTITY" in report:
        return "the report declares an XML entity, which nvidia-smi never does"
    try:
        root = fromstring(_encoded(report))  # noqa: S314 (entities are refused above; a DTD is never fetched)
    except ParseError:
        try:
            root = fromstring(_encoded(_without_process_names(report)))  # noqa: S314
        except ParseError as error:
            return f"the report is not well-formed XML at byte {_byte_of(report, error.position)}: {error}"
    return root if root.tag == "nvidia_smi_log" else f"the report is a <{root.tag}>, not a <nvidia_smi_log>"


def _encoded(report: str) -> bytes:
    return re.sub(r"^<\?xml[^>]*\?>", "", report).encode("utf-8", "replace")


def _without_process_names(report: str) -> str:
    """nvidia-smi does not escape the names of processes; they are the one thing in a report that anybody can write."""
    return re.sub(r"<process_name>[^\n]*</process_name>", "<process_name/>", report)


def _byte_of(report: str, position: Tuple[int, int]) -> int:
    """Where in *report* the parser stopped, given its line and column in the report without its XML declaration."""
    line, column = position
    before = report.split("\n")[: line - 1]
    return len("\n".join([*before, ""]).encode("utf-8", "replace")) + column


def read_gpu(gpu: Element) -> SmiGpu:
    """What one ``<gpu>`` element says."""
    clocks = _Reasons(gpu)
    link, widths = "pci/pci_gpu_link_info/pcie_gen/", "pci/pci_gpu_link_info/link_widths/"
    return SmiGpu(
        bus_id=bus_id(gpu.get("id")) or bus_id(gpu.findtext("pci/pci_bus_id")) or "",
        uuid=identifier(gpu.findtext("uuid")),
        persistence=state(gpu.findtext("persistence_mode")),
        mig=state(gpu.findtext("mig_mode/current_mig")),
        compute_mode=_one_of(_COMPUTE_MODES, gpu.findtext("compute_mode")),
        ecc_enabled=state(gpu.findtext("ecc_mode/current_ecc")),
        volatile_uncorrectable=volatile_uncorrectable(gpu),
        volatile_correctable=volatile_correctable(gpu),
        aggregate_sram_uncorrectable=sram_uncorrectable(gpu, "aggregate"),
        sram_threshold_exceeded=state(gpu.findtext("ecc_errors/aggregate/sram_threshold_exceeded")),
        remap_pending=remap_pending(gpu),
        remap_failed=remap_failed(gpu),
        width=count(gpu.findtext(widths + "current_link_width"), "x"),
        width_max=count(gpu.findtext(widths + "max_link_width"), "x"),
        generation=count(gpu.findtext(link + "current_link_gen")),
        generation_max=count(gpu.findtext(link + "max_link_gen")),
        temperature=number(gpu.findtext("temperature/gpu_temp"), "C"),
        tlimit=number(gpu.findtext("temperature/gpu_temp_tlimit"), "C"),
        utilization=count(gpu.findtext("utilization/gpu_util"), "%"),
        sm_clock=count(gpu.findtext("clocks/sm_clock"), "MHz"),
        hw_slowdown_active=clocks.hardware_slowdown(),
        hw_thermal=clocks.counter("hw_therm_slowdown"),
        power_brake=clocks.counter("hw_power_brake"),
        sw_thermal=clocks.counter("sw_therm_slowdown"),
        sw_power_cap=clocks.counter("sw_power_cap"),
        memory_used=_memory_used(gpu),
        fabric_state=_one_of(_FABRIC_STATES, gpu.findtext("fabric/state")),
        fabric_status=_fabric_status(gpu.findtext("fabric/status")),
        clique=_digits(gpu.findtext("fabric/cliqueId")),
        cluster_uuid=_uuid(gpu.findtext("fabric/clusterUuid")),
        vbios=identifier(gpu.findtext("vbios_version")),
        inforom=identifier(gpu.findtext("inforom_version/img_version")),
        part_number=identifier(gpu.findtext("board_part_number")) or identifier(gpu.findtext("gpu_part_number")),
        processes=_processes(gpu.find("processes")),
        lost=_lost(gpu),
        recovery=_recovery(gpu),
    )


class _Reasons:
    """Why the clocks are low; drivers before 535 call the block *throttle*, later ones *event*."""

    def __init__(self, gpu: Element) -> None:
        self._gpu = gpu
        self._name = "throttle" if gpu.find("clocks_throttle_reasons") is not None else "event"

    def _reason(self, reason: str) -> Optional[bool]:
        return state(self._gpu.findtext(f"clocks_{self._name}_reasons/clocks_{self._name}_reason_{reason}"))

    def hardware_slowdown(self) -> Optional[bool]:
        """True when the hardware slows down for heat or power; False only when the general reason says so."""
        general = self._reason("hw_slowdown")
        causes = [self._reason("hw_thermal_slowdown"), self._reason("hw_power_brake_slowdown")]
        return True if True in [general, *causes] else general

    def counter(self, name: str) -> Optional[int]:
        block = f"clocks_{self._name}_reasons_counters"
        return count(self._gpu.findtext(f"{block}/{block}_{name}"), "us")


def _one_of(words: Tuple[str, ...], cell: Optional[str]) -> Optional[str]:
    word = (cell or "").strip()
    return word if word in words else None


def _fabric_status(cell: Optional[str]) -> Optional[str]:
    """``Success`` or the driver's own words for what went wrong."""
    word = (cell or "").strip()
    return None if word in ("", "N/A", "[N/A]", "Not Supported") else word


def _digits(cell: Optional[str]) -> Optional[str]:
    value = count(cell)
    return None if value is None else str(value)


def _uuid(cell: Optional[str]) -> Optional[str]:
    text = (cell or "").strip()
    return text.lower() if _UUID.fullmatch(text) else None


def _memory_used(gpu: Element) -> Optional[int]:
    if count(gpu.findtext("fb_memory_usage/reserved"), "MiB") is None:
        return None
    return count(gpu.findtext("fb_memory_usage/used"), "MiB")


def _processes(block: Optional[Element]) -> Optional[Tuple[SmiProcess, ...]]:
    if block is None or (block.text or "").strip():
        return None
    return tuple(
        SmiProcess(
            pid=count(one.findtext("pid")),
            kind=(one.findtext("type") or "").strip(),
            used_memory=count(one.findtext("used_memory"), "MiB"),
        )
        for one in block.findall("process_info")
    )


def _lost(gpu: Element) -> Optional[str]:
    for cell in gpu.iter():
        if cell.tag != "process_name" and cell.text and LOST_WORDS.search(cell.text):
            return f"{cell.tag}: {cell.text.strip()}"
    return None


def _recovery(gpu: Element) -> Optional[str]:
    """What the driver asks for: a reset (535 to 570), or the recovery action that took its place."""
    if state(gpu.findtext("gpu_reset_status/reset_required")):
        return "reset required"
    action = (gpu.findtext("gpu_recovery_action") or "").strip()
    return None if action in _NO_RECOVERY or "deprecated" in action else f"recovery action: {action}"
