"""Raw answers of NVIDIA's management library as the records that the reports of nvidia-smi give.

An answer is there, or its error code is: *not supported* (3), *not in this library* (13) and every other failure leave
the value unknown; only *lost* (15) and *reset required* (16) say something about the GPU itself.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.nvidia_smi_cells import bus_id, identifier, version
from readiness_agent.parsers.nvidia_smi_xml import SmiGpu, SmiLog, SmiProcess
from readiness_agent.parsers.nvlink import NvlinkErrors, NvlinkGpu, NvlinkLink

NOT_SUPPORTED = 3
GONE = {15: "GPU is lost", 16: "GPU requires reset"}
"""Error codes after which the other answers of a GPU prove nothing."""

COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
FABRIC_STATES = {1: "Not Started", 2: "In Progress", 3: "Completed"}
RECOVERY_ACTIONS = {
    1: "GPU reset",
    2: "node reboot",
    3: "drain of peer-to-peer traffic",
    4: "drain and reset",
    5: "recovery of the IMEX domain",
    6: "bus reset",
    7: "system reboot",
}
HARDWARE_SLOWDOWN = 0x8 | 0x40 | 0x80
"""Reasons: HW slowdown, HW thermal slowdown, HW power brake."""

_SW_POWER_CAP, _SW_THERMAL, _HW_THERMAL, _POWER_BRAKE = 74, 269, 270, 271
_RECOVERY_ACTION, _LINK_COUNT = 230, 91
_STATE, _SPEED, _REPLAY, _RECOVERY, _CRC, _RECOVERY_EVENTS, _EFFECTIVE_BER = 165, 164, 161, 162, 163, 215, 220
_MOST_LINKS = 36
_MEBIBYTE = 1 << 20
_UNKNOWN_MEMORY = (1 << 64) - 1


class NvmlLog(NamedTuple):
    """Everything that one session with the driver told."""

    smi: SmiLog
    links: Tuple[NvlinkGpu, ...]
    link_errors: Tuple[NvlinkErrors, ...]


class _Answers:
    """The answers about one GPU; what is absent or of another kind is None."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        values, errors = raw.get("values"), raw.get("errors")
        if not isinstance(values, dict) or not isinstance(errors, dict):
            raise Unreadable("NVML's answer about a GPU has neither values nor errors")
        self.values: Dict[str, Any] = values
        self.errors: Dict[str, Any] = errors

    def count(self, name: str, part: str = "") -> Optional[int]:
        """A whole number from 0 on; *part* names a member of a structure."""
        value = self.number(name, part)
        return value if value is not None and value >= 0 else None

    def number(self, name: str, part: str = "") -> Optional[int]:
        value = self.values.get(name)
        if part:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def numbers(self, name: str, length: int) -> Tuple[int, ...]:
        """*length* numbers, or none at all."""
        value = self.values.get(name)
        good = isinstance(value, list) and len(value) == length and all(isinstance(one, int) for one in value)
        return tuple(value) if good and isinstance(value, list) else ()

    def text(self, name: str, part: str = "") -> Optional[str]:
        value = self.values.get(name)
        if part:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None

    def field(self, number: int) -> Optional[int]:
        return self.count(f"field {number}")

    def microseconds(self, number: int) -> Optional[int]:
        """A time that the driver counts in nanoseconds."""
        nanoseconds = self.field(number)
        return None if nanoseconds is None else nanoseconds // 1000


def parse_nvml(raw: Any) -> NvmlLog:
    """The records in the answers.

    Raises:
        Unreadable: they are no answers of NVML.
    """
    gpus = raw.get("gpus") if isinstance(raw, dict) else None
    if not isinstance(gpus, list) or not all(isinstance(one, dict) for one in gpus):
        raise Unreadable("the saved answer of NVML is none")
    node, described = _Answers(raw), [_Answers(one) for one in gpus]
    known = [one for one in described if bus_id(one.text("pci", "address"))]
    lost = [""] * (len(described) - len(known))
    smi = SmiLog(
        version(node.text("driver")), node.count("count"), tuple(_gpu(one) for one in known), tuple(lost), None
    )
    links = tuple(_links(place, one) for place, one in enumerate(known))
    errors = tuple(_link_errors(place, one) for place, one in enumerate(known))
    return NvmlLog(smi, links, errors)


def _gpu(gpu: _Answers) -> SmiGpu:
    remapped = gpu.numbers("remapped_rows", 4)
    reasons = gpu.count("clocks_event_reasons")
    fabric_state = FABRIC_STATES.get(gpu.count("fabric", "state") or 0)
    return SmiGpu(
        bus_id=bus_id(gpu.text("pci", "address")) or "",
        uuid=identifier(gpu.text("uuid")),
        persistence=_switch(gpu.count("persistence_mode")),
        mig=_switch(_first(gpu.numbers("mig_mode", 2))),
        compute_mode=COMPUTE_MODES.get(_or_minus_one(gpu.count("compute_mode"))),
        ecc_enabled=_switch(_first(gpu.numbers("ecc_mode", 2))),
        volatile_uncorrectable=_volatile_uncorrectable(gpu),
        volatile_correctable=_volatile_correctable(gpu),
        aggregate_sram_uncorrectable=_sram(gpu, "aggregate"),
        sram_threshold_exceeded=_switch(gpu.count("sram", "threshold_exceeded")),
        remap_pending=bool(remapped[2]) if remapped else _switch(gpu.count("retired_pages_pending")),
        remap_failed=bool(remapped[3]) if remapped else None,
        width=gpu.count("link_width"),
        width_max=gpu.count("link_width_max"),
        generation=gpu.count("link_generation"),
        generation_max=gpu.count("link_generation_max"),
        temperature=gpu.count("temperature"),
        tlimit=gpu.number("margin", "margin"),
        utilization=gpu.count("utilization", "gpu"),
        sm_clock=gpu.count("sm_clock"),
        hw_slowdown_active=None if reasons is None else bool(reasons & HARDWARE_SLOWDOWN),
        hw_thermal=gpu.microseconds(_HW_THERMAL),
        power_brake=gpu.microseconds(_POWER_BRAKE),
        sw_thermal=gpu.microseconds(_SW_THERMAL),
        sw_power_cap=gpu.microseconds(_SW_POWER_CAP),
        memory_used=_mebibytes(gpu.count("memory", "used")),
        fabric_state=fabric_state,
        fabric_status=_fabric_status(gpu) if fabric_state == "Completed" else None,
        clique=_written(gpu.count("fabric", "clique")) if fabric_state else None,
        cluster_uuid=_uuid(gpu.text("fabric", "cluster_uuid")) if fabric_state else None,
        vbios=identifier(gpu.text("vbios")),
        inforom=identifier(gpu.text("inforom")),
        part_number=identifier(gpu.text("board_part_number")),
        processes=_processes(gpu),
        lost=_lost(gpu),
        recovery=_recovery(gpu.field(_RECOVERY_ACTION)),
    )


def _switch(value: Optional[int]) -> Optional[bool]:
    return {0: False, 1: True}.get(_or_minus_one(value))


def _or_minus_one(value: Optional[int]) -> int:
    return -1 if value is None else value


def _first(values: Tuple[int, ...]) -> Optional[int]:
    return values[0] if values else None


def _written(value: Optional[int]) -> Optional[str]:
    return None if value is None else str(value)


def _mebibytes(size: Optional[int]) -> Optional[int]:
    """MiB, rounded up: a byte that is used is not none."""
    return None if size is None else -(-size // _MEBIBYTE)


def _sum(*parts: Optional[int]) -> Optional[int]:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _sram(gpu: _Answers, period: str) -> Optional[int]:
    """Uncorrectable errors in SRAM, of both kinds; one counter before driver 550."""
    both = _sum(gpu.count("sram", f"{period}_parity"), gpu.count("sram", f"{period}_secded"))
    return gpu.count(f"{period}_uncorrected_sram") if both is None else both


def _volatile_uncorrectable(gpu: _Answers) -> Optional[int]:
    """SRAM and DRAM; where one is unknown, the driver's own total, or what is known if that is bad enough."""
    sram, dram = _sram(gpu, "volatile"), gpu.count("volatile_uncorrected_dram")
    known = _sum(sram, dram)
    total = gpu.count("volatile_uncorrected_total") if known is None else known
    return total if total is not None else (sram or dram or None)


def _volatile_correctable(gpu: _Answers) -> Optional[int]:
    sram = gpu.count("sram", "volatile_corrected")
    sram = gpu.count("volatile_corrected_sram") if sram is None else sram
    known = _sum(sram, gpu.count("volatile_corrected_dram"))
    return gpu.count("volatile_corrected_total") if known is None else known


def _fabric_status(gpu: _Answers) -> Optional[str]:
    status = gpu.count("fabric", "status")
    return None if status is None else "Success" if status == 0 else f"error {status}"


def _uuid(digits: Optional[str]) -> Optional[str]:
    if digits is None or len(digits) != 32:
        return None
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _processes(gpu: _Answers) -> Optional[Tuple[SmiProcess, ...]]:
    """Processes of both kinds, each once; None while one of the two lists is not known."""
    lists = [gpu.values.get(kind) for kind in ("compute", "graphics")]
    if not isinstance(lists[0], list) or (lists[1] is None and gpu.errors.get("graphics") != NOT_SUPPORTED):
        return None
    kinds: Dict[Optional[int], List[str]] = {}
    memory: Dict[Optional[int], Optional[int]] = {}
    for letter, entries in zip("CG", lists):  # noqa: B905 (Python 3.9; both are of length 2)
        for entry in entries if isinstance(entries, list) else ():
            pid = entry.get("pid") if isinstance(entry, dict) else None
            pid = pid if isinstance(pid, int) else None
            kinds.setdefault(pid, []).append(letter)
            used = entry.get("used") if isinstance(entry, dict) else None
            memory.setdefault(pid, used if isinstance(used, int) and 0 <= used < _UNKNOWN_MEMORY else None)
    return tuple(SmiProcess(pid, "+".join(kinds[pid]), _mebibytes(memory[pid])) for pid in kinds)


def _lost(gpu: _Answers) -> Optional[str]:
    for name, code in gpu.errors.items():
        if code in GONE:
            return f"{name}: {GONE[code]}"
    return None


def _recovery(action: Optional[int]) -> Optional[str]:
    return f"recovery action: {RECOVERY_ACTIONS.get(action, action)}" if action else None


def _link_numbers(gpu: _Answers) -> range:
    return range(min(gpu.field(_LINK_COUNT) or 0, _MOST_LINKS))


def _links(place: int, gpu: _Answers) -> NvlinkGpu:
    count = gpu.field(_LINK_COUNT)
    uuid = identifier(gpu.text("uuid"))
    if not count:
        has_none = count == 0 or gpu.errors.get(f"field {_LINK_COUNT}") == NOT_SUPPORTED
        return NvlinkGpu(place, uuid, False if has_none else None, (), True)
    states = {link: gpu.count(f"field {_STATE} link {link}") for link in _link_numbers(gpu)}
    speeds = {link: gpu.count(f"field {_SPEED} link {link}") for link in states}
    links = tuple(NvlinkLink(link, _gigabytes(state, speeds[link])) for link, state in states.items())
    complete = all(state is not None and (not state or speeds[link]) for link, state in states.items())
    return NvlinkGpu(place, uuid, True, links, complete)


def _gigabytes(state: Optional[int], speed: Optional[int]) -> Optional[float]:
    """GB/s of a link that is active; its speed is told in MB/s."""
    return speed / 1000 if state == 1 and speed else None


def _link_errors(place: int, gpu: _Answers) -> NvlinkErrors:
    recovery = _over_links(gpu, _RECOVERY)
    ratios = [_bit_error_ratio(gpu.count(f"field {_EFFECTIVE_BER} link {link}")) for link in _link_numbers(gpu)]
    known = [ratio for ratio in ratios if ratio is not None]
    return NvlinkErrors(
        place,
        identifier(gpu.text("uuid")),
        _over_links(gpu, _REPLAY),
        _over_links(gpu, _RECOVERY_EVENTS) if recovery is None else recovery,
        _over_links(gpu, _CRC),
        max(known) if known and len(known) == len(ratios) else None,
        True,
    )


def _over_links(gpu: _Answers, number: int) -> Optional[int]:
    counts = [gpu.count(f"field {number} link {link}") for link in _link_numbers(gpu)]
    return _sum(*counts) if counts else None


def _bit_error_ratio(encoded: Optional[int]) -> Optional[float]:
    """Four bits of mantissa above eight of a negative decimal exponent."""
    return None if encoded is None else float(f"{encoded >> 8 & 0xF}e-{encoded & 0xFF}")
