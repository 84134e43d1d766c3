"""What a saved report of ``nvidia-smi -q``, in XML or in plain text, says beyond the checklist's own facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.nvidia_smi_cells import bus_id, count, state, version
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from readiness_agent.parsers.nvidia_smi_text import read_outline
from readiness_agent.parsers.nvidia_smi_xml import xml_report
from readiness_agent.parsers.saved import Reading, Saved, Value, decimal

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_LINK = "pci/pci_gpu_link_info/pcie_gen"
_HISTOGRAM = "remapped_rows/row_remapper_histogram/row_remapper_histogram"
_WORDS = ("N/A", "[N/A]", "Unknown", "", "Not Supported", "Requested functionality has been deprecated")


class _Report(NamedTuple):
    driver: Optional[str]
    cuda: Optional[str]
    attached: Optional[int]
    gpus: List[Element]


def read_smi_details(text: str) -> Saved:
    """Product, state, power, links and reasons of each GPU, and the versions of the node. Never raises."""
    reading = Reading()
    report = _of_xml(text) or _of_outline(text)
    if report is None:
        return reading.result()  # the probe that reads the same text says why
    reading.fact("driver_version", report.driver, "text")
    reading.fact("cuda_version", report.cuda, "text")
    reading.fact("attached_gpus", report.attached, "count")
    reading.fact("gpus_described", len(report.gpus), "count")
    if report.attached is not None and report.attached != len(report.gpus):
        reading.problem(f"the report speaks of {report.attached} attached GPUs and describes {len(report.gpus)}")
    instances = sum(len(gpu.findall("mig_devices/mig_device")) for gpu in report.gpus)
    reading.fact("mig_instances", instances or None, "count")
    for place, gpu in enumerate(report.gpus):
        reading.fact("bus_id", bus_id(gpu.get("id")), "text", f"gpu{place}")
        for name, (unit, paths, read) in DETAILS_OF_A_GPU.items():
            values = (read(_cell(gpu, path)) for path in paths)
            reading.fact(name, next((one for one in values if one is not None), None), unit, f"gpu{place}")
    return reading.result()


def read_smi_sentence(text: str) -> Saved:
    """The addresses in the sentences that nvidia-smi prints instead of its report. Never raises."""
    reading = Reading()
    addresses = [address for address in parse_smi_errors(text).lost_handles if address]
    reading.fact("lost_bus_ids", " ".join(dict.fromkeys(addresses)) or None, "text")
    return reading.result()


def _of_xml(text: str) -> Optional[_Report]:
    root = xml_report(text)
    if isinstance(root, str):
        return None
    return _Report(
        version(root.findtext("driver_version")),
        version(root.findtext("cuda_version")),
        count(root.findtext("attached_gpus")),
        root.findall("gpu"),
    )


def _of_outline(text: str) -> Optional[_Report]:
    outline = read_outline(text)
    if not outline.gpus:
        return None
    head = outline.head
    attached = count(head.get("Attached GPUs"))
    return _Report(version(head.get("Driver Version")), version(head.get("CUDA Version")), attached, outline.gpus)


def _cell(gpu: Element, path: str) -> Optional[str]:
    """A cell; the block of reasons has two names, *event* since driver 535."""
    found = gpu.findtext(path)
    return found if found is not None else gpu.findtext(path.replace("clocks_event", "clocks_throttle"))


def _word(cell: Optional[str]) -> Optional[str]:
    text = (cell or "").strip()
    return None if text in _WORDS else text[:128]


def _amount(unit: str) -> Callable[[Optional[str]], Optional[float]]:
    def read(cell: Optional[str]) -> Optional[float]:
        number, _, found = (cell or "").strip().partition(" ")
        value = decimal(number) if found == unit else None
        return int(value) if value is not None and value.is_integer() and abs(value) < 2**63 else value

    return read


def _banks(cell: Optional[str]) -> Optional[int]:
    return count(cell, "bank(s)")


_Cell = Callable[[Optional[str]], Optional[Value]]

DETAILS_OF_A_GPU: Dict[str, Tuple[str, Tuple[str, ...], _Cell]] = {
    "product": ("text", ("product_name",), _word),
    "uuid": ("text", ("uuid",), _word),
    "performance": ("text", ("performance_state",), _word),
    "persistence": ("bool", ("persistence_mode",), state),
    "mig": ("bool", ("mig_mode/current_mig",), state),
    "recovery_action": ("text", ("gpu_recovery_action",), _word),
    "reset_required": ("bool", ("gpu_reset_status/reset_required",), state),
    "device_generation_max": ("count", (f"{_LINK}/max_device_link_gen",), count),
    "host_generation_max": ("count", (f"{_LINK}/max_host_link_gen",), count),
    "pcie_replays": ("count", ("pci/replay_counter",), count),
    "dram_correctable": ("count", ("ecc_errors/volatile/dram_correctable",), count),
    "aggregate_dram_correctable": ("count", ("ecc_errors/aggregate/dram_correctable",), count),
    "aggregate_dram_uncorrectable": ("count", ("ecc_errors/aggregate/dram_uncorrectable",), count),
    "remapped_correctable": ("count", ("remapped_rows/remapped_row_corr",), count),
    "remapped_uncorrectable": ("count", ("remapped_rows/remapped_row_unc",), count),
    "retired_pages_single_bit": ("count", ("retired_pages/multiple_single_bit_retirement/retired_count",), count),
    "retired_pages_double_bit": ("count", ("retired_pages/double_bit_retirement/retired_count",), count),
    "remap_banks_max": ("count", (f"{_HISTOGRAM}_max",), _banks),
    "remap_banks_high": ("count", (f"{_HISTOGRAM}_high",), _banks),
    "remap_banks_partial": ("count", (f"{_HISTOGRAM}_partial",), _banks),
    "remap_banks_low": ("count", (f"{_HISTOGRAM}_low",), _banks),
    "remap_banks_none": ("count", (f"{_HISTOGRAM}_none",), _banks),
    "power": (
        "watts",
        (
            "gpu_power_readings/instant_power_draw",
            "gpu_power_readings/power_draw",
            "power_readings/power_draw",
            "gpu_power_readings/average_power_draw",
        ),
        _amount("W"),
    ),
    "power_limit": (
        "watts",
        ("gpu_power_readings/current_power_limit", "power_readings/power_limit"),
        _amount("W"),
    ),
    "memory_total": ("MiB", ("fb_memory_usage/total",), _amount("MiB")),
    "idle": ("bool", ("clocks_event_reasons/clocks_event_reason_gpu_idle",), state),
    "sw_power_cap_active": ("bool", ("clocks_event_reasons/clocks_event_reason_sw_power_cap",), state),
    "sw_thermal_active": ("bool", ("clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown",), state),
    "hw_slowdown_active": ("bool", ("clocks_event_reasons/clocks_event_reason_hw_slowdown",), state),
    "hw_thermal_active": ("bool", ("clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown",), state),
    "power_brake_active": ("bool", ("clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown",), state),
}
"""Fact, unit, where it stands in reports of different drivers, and how its cell is read."""
