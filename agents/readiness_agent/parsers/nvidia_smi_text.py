"""The report of ``nvidia-smi -q``, drivers 510 to 610, as people save it: an outline of ``Name : value`` lines.

It is read into the same elements as the XML report, so that one reader gives both their meaning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, Iterator, List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.nvidia_smi_cells import count, version
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from readiness_agent.parsers.nvidia_smi_xml import SmiLog, read_gpu

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_LINE = re.compile(r"(?P<indent> *)(?P<name>[^:\[\]]*[^:\[\] ]) *(?:: (?P<value>.*))?")
_HEAD = re.compile(r"GPU (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])")

_LINK = "pci/pci_gpu_link_info"
_VOLATILE, _AGGREGATE = "ecc_errors/volatile", "ecc_errors/aggregate"
_REASONS, _COUNTERS = "clocks_event_reasons/clocks_event_reason", "clocks_event_reasons_counters"

_POWER = "gpu_power_readings"
_HISTOGRAM = "remapped_rows/row_remapper_histogram/row_remapper_histogram"

ELEMENTS: Dict[str, str] = {
    "Product Name": "product_name",
    "Performance State": "performance_state",
    "PCI/Replays Since Reset": "pci/replay_counter",
    "PCI/GPU Link Info/PCIe Generation/Device Max": f"{_LINK}/pcie_gen/max_device_link_gen",
    "PCI/GPU Link Info/PCIe Generation/Host Max": f"{_LINK}/pcie_gen/max_host_link_gen",
    "Clocks Event Reasons/Idle": f"{_REASONS}_gpu_idle",
    "Clocks Event Reasons/SW Power Cap": f"{_REASONS}_sw_power_cap",
    "Clocks Event Reasons/SW Thermal Slowdown": f"{_REASONS}_sw_thermal_slowdown",
    "FB Memory Usage/Total": "fb_memory_usage/total",
    "ECC Errors/Aggregate/DRAM Correctable": f"{_AGGREGATE}/dram_correctable",
    "ECC Errors/Aggregate/DRAM Uncorrectable": f"{_AGGREGATE}/dram_uncorrectable",
    "Remapped Rows/Correctable Error": "remapped_rows/remapped_row_corr",
    "Remapped Rows/Uncorrectable Error": "remapped_rows/remapped_row_unc",
    "Remapped Rows/Bank Remap Availability Histogram/Max": f"{_HISTOGRAM}_max",
    "Remapped Rows/Bank Remap Availability Histogram/High": f"{_HISTOGRAM}_high",
    "Remapped Rows/Bank Remap Availability Histogram/Partial": f"{_HISTOGRAM}_partial",
    "Remapped Rows/Bank Remap Availability Histogram/Low": f"{_HISTOGRAM}_low",
    "Remapped Rows/Bank Remap Availability Histogram/None": f"{_HISTOGRAM}_none",
    "GPU Power Readings/Instantaneous Power Draw": f"{_POWER}/instant_power_draw",
    "GPU Power Readings/Average Power Draw": f"{_POWER}/average_power_draw",
    "GPU Power Readings/Power Draw": f"{_POWER}/power_draw",
    "GPU Power Readings/Current Power Limit": f"{_POWER}/current_power_limit",
    "GPU Power Readings/GPU Ceiling Power Limit/Current Power Limit": f"{_POWER}/current_power_limit",
    "Power Readings/Power Draw": "power_readings/power_draw",
    "Power Readings/Power Limit": "power_readings/power_limit",
    "Persistence Mode": "persistence_mode",
    "MIG Mode/Current": "mig_mode/current_mig",
    "GPU UUID": "uuid",
    "VBIOS Version": "vbios_version",
    "Board Part Number": "board_part_number",
    "GPU Part Number": "gpu_part_number",
    "Inforom Version/Image Version": "inforom_version/img_version",
    "GPU Reset Status/Reset Required": "gpu_reset_status/reset_required",
    "GPU Recovery Action": "gpu_recovery_action",
    "PCI/GPU Link Info/PCIe Generation/Max": f"{_LINK}/pcie_gen/max_link_gen",
    "PCI/GPU Link Info/PCIe Generation/Current": f"{_LINK}/pcie_gen/current_link_gen",
    "PCI/GPU Link Info/Link Width/Max": f"{_LINK}/link_widths/max_link_width",
    "PCI/GPU Link Info/Link Width/Current": f"{_LINK}/link_widths/current_link_width",
    "Fan Speed": "fan_speed",
    "Clocks Event Reasons/HW Slowdown": f"{_REASONS}_hw_slowdown",
    "Clocks Event Reasons/HW Slowdown/HW Thermal Slowdown": f"{_REASONS}_hw_thermal_slowdown",
    "Clocks Event Reasons/HW Slowdown/HW Power Brake Slowdown": f"{_REASONS}_hw_power_brake_slowdown",
    "Clocks Event Reasons Counters/SW Power Capping": f"{_COUNTERS}/{_COUNTERS}_sw_power_cap",
    "Clocks Event Reasons Counters/SW Thermal Slowdown": f"{_COUNTERS}/{_COUNTERS}_sw_therm_slowdown",
    "Clocks Event Reasons Counters/HW Thermal Slowdown": f"{_COUNTERS}/{_COUNTERS}_hw_therm_slowdown",
    "Clocks Event Reasons Counters/HW Power Braking": f"{_COUNTERS}/{_COUNTERS}_hw_power_brake",
    "FB Memory Usage/Reserved": "fb_memory_usage/reserved",
    "FB Memory Usage/Used": "fb_memory_usage/used",
    "Compute Mode": "compute_mode",
    "Utilization/GPU": "utilization/gpu_util",
    "Utilization/Gpu": "utilization/gpu_util",
    "ECC Mode/Current": "ecc_mode/current_ecc",
    "ECC Errors/Volatile/SRAM Correctable": f"{_VOLATILE}/sram_correctable",
    "ECC Errors/Volatile/SRAM Uncorrectable": f"{_VOLATILE}/sram_uncorrectable",
    "ECC Errors/Volatile/SRAM Uncorrectable Parity": f"{_VOLATILE}/sram_uncorrectable_parity",
    "ECC Errors/Volatile/SRAM Uncorrectable SEC-DED": f"{_VOLATILE}/sram_uncorrectable_secded",
    "ECC Errors/Volatile/DRAM Correctable": f"{_VOLATILE}/dram_correctable",
    "ECC Errors/Volatile/DRAM Uncorrectable": f"{_VOLATILE}/dram_uncorrectable",
    "ECC Errors/Volatile/Single Bit/Total": f"{_VOLATILE}/single_bit/total",
    "ECC Errors/Volatile/Double Bit/Total": f"{_VOLATILE}/double_bit/total",
    "ECC Errors/Aggregate/SRAM Uncorrectable": f"{_AGGREGATE}/sram_uncorrectable",
    "ECC Errors/Aggregate/SRAM Uncorrectable Parity": f"{_AGGREGATE}/sram_uncorrectable_parity",
    "ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED": f"{_AGGREGATE}/sram_uncorrectable_secded",
    "ECC Errors/Aggregate/SRAM Threshold Exceeded": f"{_AGGREGATE}/sram_threshold_exceeded",
    "Retired Pages/Single Bit ECC": "retired_pages/multiple_single_bit_retirement/retired_count",
    "Retired Pages/Double Bit ECC": "retired_pages/double_bit_retirement/retired_count",
    "Retired Pages/Pending Page Blacklist": "retired_pages/pending_blacklist",
    "Remapped Rows/Pending": "remapped_rows/remapped_row_pending",
    "Remapped Rows/Remapping Failure Occurred": "remapped_rows/remapped_row_failure",
    "Temperature/GPU Current Temp": "temperature/gpu_temp",
    "Temperature/GPU T.Limit Temp": "temperature/gpu_temp_tlimit",
    "Temperature/GPU Current T.Limit Temp": "temperature/gpu_temp_tlimit",
    "Clocks/SM": "clocks/sm_clock",
    "Fabric/State": "fabric/state",
    "Fabric/Status": "fabric/status",
    "Fabric/CliqueId": "fabric/cliqueId",
    "Fabric/ClusterUUID": "fabric/clusterUuid",
}
"""The outline's names, and the element of the XML report that says the same."""

_RENAMED = {"Clocks Throttle Reasons": "Clocks Event Reasons"}
_PROCESS = {"Process ID": "pid", "Process ID/Type": "type", "Process ID/Used GPU Memory": "used_memory"}


class Outline(NamedTuple):
    """The report in the elements of the XML one."""

    head: Dict[str, Optional[str]]
    """Lines above the first GPU, by their names."""
    gpus: List[Element]


class _Entry(NamedTuple):
    """One line with the names of the lines above it that it belongs to."""

    path: str
    value: Optional[str]


def parse_smi_text(text: str) -> SmiLog:
    """Read one report, or a part of one. Never raises.

    A part that begins after the line with the GPU's address belongs to one GPU of no address.
    """
    errors = parse_smi_errors(text)
    outline = read_outline(text)
    driver = version(outline.head.get("Driver Version"))
    if not outline.gpus:
        return SmiLog(driver, None, (), errors.lost_handles, "there is no report of nvidia-smi -q in this text")
    attached = count(outline.head.get("Attached GPUs"))
    return SmiLog(driver, attached, tuple(map(read_gpu, outline.gpus)), errors.lost_handles, None)


def read_outline(text: str) -> Outline:
    """The report, or the part of one, in elements. Never raises."""
    head, gpus = _sections(text)
    return Outline({entry.path: entry.value for entry in head}, [_gpu(bus, lines) for bus, lines in gpus])


def _sections(text: str) -> Tuple[List[_Entry], List[Tuple[str, List[_Entry]]]]:
    """Lines before the first GPU, and those of each GPU under its address; an unfinished last line is left out."""
    head: List[str] = []
    gpus: List[Tuple[str, List[str]]] = []
    for line in text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]:
        found = _HEAD.fullmatch(line.rstrip())
        if found:
            gpus.append((found["bus"], []))
        else:
            (gpus[-1][1] if gpus else head).append(line)
    entries = list(_entries(head))
    if not gpus and any(entry.path in ELEMENTS for entry in entries):
        return [], [("", entries)]
    return entries, [(bus, list(_entries(lines))) for bus, lines in gpus]


def _entries(lines: List[str]) -> Iterator[_Entry]:
    """Each line with its path, by indentation; an excerpt may be indented as a whole."""
    above: List[Tuple[int, str]] = []
    for line in lines:
        found = _LINE.fullmatch(line.rstrip())
        if not found:
            continue
        indent = len(found["indent"])
        above = [one for one in above if one[0] < indent]
        above.append((indent, _RENAMED.get(found["name"], found["name"])))
        yield _Entry("/".join(name for _, name in above), found["value"])


def _gpu(bus: str, entries: List[_Entry]) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    gpu = Element("gpu", id=bus)
    for path, value in entries:
        if path in ELEMENTS and value is not None:
            _element_at(gpu, ELEMENTS[path]).text = value
        elif path == "MIG Device/GPU Instance ID" or path.endswith("/GPU Instance ID"):
            SubElement(_element_at(gpu, "mig_devices"), "mig_device")
        elif path == "Processes":
            SubElement(gpu, "processes").text = None if value in (None, "None") else value
        elif path.startswith("Processes/"):
            _add_process(gpu, path.partition("/")[2], value)
    return gpu


def _element_at(parent: Element, path: str) -> Element:
    from xml.etree.ElementTree import SubElement

    for tag in path.split("/"):
        child = parent.find(tag)
        parent = SubElement(parent, tag) if child is None else child
    return parent


def _add_process(gpu: Element, path: str, value: Optional[str]) -> None:
    """A process begins with its pid; type and memory stand below it."""
    from xml.etree.ElementTree import SubElement

    block = gpu.find("processes")
    if block is None or path not in _PROCESS:
        return
    if path == "Process ID":
        SubElement(block, "process_info")
    if len(block):
        SubElement(block[-1], _PROCESS[path]).text = value
