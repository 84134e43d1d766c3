"""Answers of ``amd-smi … --json`` (ROCm 6 and 7) as the records that NVIDIA's reports give.

Each answer lists GPUs by number, bare or below ``gpu_data``. A value is a number, ``{"value": 57, "unit": "C"}``, or a
text such as ``N/A``, which is never a zero. What AMD has no word for (persistence mode, compute mode, NVLink, fabric)
stays unknown.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.nvidia_smi_cells import bus_id, identifier, version
from readiness_agent.parsers.nvidia_smi_xml import SmiGpu, SmiLog, SmiProcess
from readiness_agent.parsers.pcie import WIDTHS, generation_of_speed

NOT_PARTITIONED = "SPX"
"""The compute partition of a GPU that is one device."""

_MEBIBYTE = 1 << 20
_UNITS = {"B": 1, "KB": 1 << 10, "MB": _MEBIBYTE, "GB": 1 << 30}
"""amd-smi says MB and counts in powers of two."""
_SLOWDOWNS = ("prochot", "socket_thermal", "vr_thermal", "hbm_thermal")
"""Violations that the hardware itself answers with a lower clock; the power limit (ppt) is none of them."""
_NO_PAGES = "no bad pages found"
_NO_PROCESS = "no running process"
_LONGEST = 15


class AmdAnswers(NamedTuple):
    """What was asked; all but *static* may be missing, and then what they tell is unknown."""

    static: str
    metric: Optional[str]
    process: Optional[str]
    bad_pages: Optional[str]


def parse_amd_smi(answers: AmdAnswers) -> SmiLog:
    """The GPUs of one node.

    Raises:
        Unreadable: the static answer lists no GPU, or one without its PCI address.
    """
    static = _by_gpu(answers.static)
    if not static:
        raise Unreadable("amd-smi static lists no GPU")
    others = [_by_gpu_or_none(text) for text in (answers.metric, answers.process, answers.bad_pages)]
    gpus = tuple(_gpu(place, own, *(other.get(place, {}) for other in others)) for place, own in static.items())
    if not all(gpu.bus_id for gpu in gpus):
        raise Unreadable("amd-smi static shows a GPU without its PCI address")
    drivers = [version(_text(own, "driver", "version")) for own in static.values()]
    return SmiLog(next((one for one in drivers if one), None), len(gpus), gpus, (), None)


def _by_gpu(text: str) -> Dict[int, Dict[str, Any]]:
    """Entries by the number of their GPU. Warnings may stand before the JSON."""
    start = min((place for place in (text.find("["), text.find("{")) if place >= 0), default=-1)
    try:
        raw = json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        raise Unreadable("the answer of amd-smi is not JSON") from None
    entries = raw.get("gpu_data") if isinstance(raw, dict) else raw
    if not isinstance(entries, list):
        raise Unreadable("the answer of amd-smi lists no GPU")
    numbered = [one for one in entries if isinstance(one, dict) and isinstance(one.get("gpu"), int)]
    return {one["gpu"]: one for one in numbered}


def _by_gpu_or_none(text: Optional[str]) -> Dict[int, Dict[str, Any]]:
    try:
        return {} if text is None else _by_gpu(text)
    except Unreadable:
        return {}


_NOTHING_TOLD = SmiGpu._make([None] * len(SmiGpu._fields))
"""What this tool has no word for stays unknown."""


def _gpu(
    place: int,
    static: Mapping[str, Any],
    metric: Mapping[str, Any],
    process: Mapping[str, Any],
    pages: Mapping[str, Any],
) -> SmiGpu:
    hotspot = _number(metric, "temperature", "hotspot")
    limit = _number(static, "limit", "slowdown_hotspot_temperature")
    processes = _processes(process)
    return _NOTHING_TOLD._replace(
        bus_id=bus_id(_text(static, "bus", "bdf")) or "",
        uuid=identifier(_text(static, "asic", "asic_serial")),
        mig=_partitioned(static),
        ecc_enabled=_memory_protected(static),
        volatile_uncorrectable=_count(metric, "ecc", "total_uncorrectable_count"),
        volatile_correctable=_count(metric, "ecc", "total_correctable_count"),
        remap_pending=_pages(pages, "pending"),
        remap_failed=_pages(pages, "un_res"),
        width=_width(metric, "pcie", "width"),
        width_max=_width(static, "bus", "max_pcie_width"),
        generation=_generation(metric, "pcie", "speed"),
        generation_max=_generation(static, "bus", "max_pcie_speed"),
        temperature=hotspot if hotspot is not None else _number(metric, "temperature", "edge"),
        tlimit=limit - hotspot if limit is not None and hotspot is not None else None,
        utilization=_count(metric, "usage", "gfx_activity"),
        sm_clock=_count(metric, "clock", "gfx_0", "clk"),
        hw_slowdown_active=_slowed(metric),
        memory_used=_held(processes),
        vbios=identifier(_text(static, "vbios", "version")) or identifier(_text(static, "ifwi", "version")),
        part_number=identifier(_text(static, "board", "model_number")),
        processes=processes,
    )


def _at(entry: Mapping[str, Any], *path: str) -> Any:
    found: Any = entry
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _text(entry: Mapping[str, Any], *path: str) -> Optional[str]:
    found = _at(entry, *path)
    return found if isinstance(found, str) else None


def _number(entry: Mapping[str, Any], *path: str) -> Optional[int]:
    """A whole number, bare or with a unit."""
    found = _at(entry, *path)
    found = found.get("value") if isinstance(found, dict) else found
    good = isinstance(found, int) and not isinstance(found, bool) and abs(found) < 10**_LONGEST
    return found if good else None


def _count(entry: Mapping[str, Any], *path: str) -> Optional[int]:
    found = _number(entry, *path)
    return found if found is not None and found >= 0 else None


def _width(entry: Mapping[str, Any], *path: str) -> Optional[int]:
    found = _number(entry, *path)
    return found if found in WIDTHS else None


def _generation(entry: Mapping[str, Any], *path: str) -> Optional[int]:
    speed, unit = _at(entry, *path, "value"), _text(entry, *path, "unit")
    return generation_of_speed(f"{speed} {unit}") if isinstance(speed, (int, float)) else None


def _partitioned(static: Mapping[str, Any]) -> Optional[bool]:
    mode = _text(static, "partition", "compute_partition")
    return None if mode is None or not mode.isalpha() else mode != NOT_PARTITIONED


def _memory_protected(static: Mapping[str, Any]) -> Optional[bool]:
    """Whether errors of the memory controller are corrected; older versions list blocks, newer ones name them."""
    blocks = _at(static, "ras", "ecc_block_state")
    if isinstance(blocks, list):
        blocks = {one.get("block"): one.get("status") for one in blocks if isinstance(one, dict)}
    told = blocks.get("UMC") if isinstance(blocks, dict) else None
    return {"ENABLED": True, "DISABLED": False}.get(told) if isinstance(told, str) else None


def _pages(pages: Mapping[str, Any], kind: str) -> Optional[bool]:
    """Whether there are pages of that kind: *pending* wait for a reset, *un_res* could not be taken out."""
    told = pages.get(kind)
    if isinstance(told, str):
        return False if _NO_PAGES in told.lower() else None
    return bool(told) if isinstance(told, list) else None


def _slowed(metric: Mapping[str, Any]) -> Optional[bool]:
    throttle = metric.get("throttle")
    told = [_text(throttle, f"{name}_violation_status") for name in _SLOWDOWNS] if isinstance(throttle, dict) else []
    if "ACTIVE" in told:
        return True
    return False if told and all(one == "NOT ACTIVE" for one in told) else None


def _processes(entry: Mapping[str, Any]) -> Optional[Tuple[SmiProcess, ...]]:
    """Processes of one GPU; None while one entry is neither a process nor the sentence that there is none."""
    listed = entry.get("process_list")
    if not isinstance(listed, list):
        return None
    found: List[SmiProcess] = []
    for one in listed:
        told = one.get("process_info", one) if isinstance(one, dict) else one
        if isinstance(told, str) and _NO_PROCESS in told.lower():
            continue
        if not isinstance(told, dict):
            return None
        found.append(SmiProcess(_count(told, "pid"), "C", _memory(told)))
    return tuple(found)


def _memory(told: Mapping[str, Any]) -> Optional[int]:
    """MiB of the GPU's memory, rounded up."""
    amount = _at(told, "memory_usage", "vram_mem") or told.get("vram_mem") or told.get("mem_usage")
    value, unit = (amount.get("value"), amount.get("unit")) if isinstance(amount, dict) else (None, None)
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**_LONGEST
    return -(-value * _UNITS[unit] // _MEBIBYTE) if good and unit in _UNITS and value is not None else None


def _held(processes: Optional[Tuple[SmiProcess, ...]]) -> Optional[int]:
    """What processes hold together: the total that amd-smi shows has the driver's own reserve in it."""
    parts = [one.used_memory for one in processes] if processes is not None else [None]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
