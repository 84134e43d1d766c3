"""What is asked of NVIDIA's management library: its structures, functions and field numbers (``nvml.h``, CUDA 13)."""

from __future__ import annotations

from ctypes import (
    Structure,
    Union,
    c_char,
    c_double,
    c_int,
    c_int64,
    c_long,
    c_longlong,
    c_ubyte,
    c_uint,
    c_ulong,
    c_ulonglong,
    c_ushort,
)
from typing import Any, Dict, NamedTuple, Tuple

DRAM, SRAM = 2, 7
LINK_COUNT, LINK_SPEED, LINK_STATE = 91, 164, 165
LINK_FIELDS = (LINK_STATE, LINK_SPEED, 161, 162, 163, 215, 220)
"""State, speed, replays, recoveries, CRC errors; on NVLink 5 all recovery events and the effective bit error ratio."""
GPU_FIELDS = (74, 269, 270, 271, 230, LINK_COUNT)
"""Time under the SW power cap, SW and HW thermal slowdown and power brake; recovery action; number of links."""


class PciInfo(Structure):
    """``nvmlPciInfo_t`` of version 3."""

    _fields_ = [
        ("legacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("device_id", c_uint),
        ("subsystem_id", c_uint),
        ("address", c_char * 32),
    ]


class Utilization(Structure):
    """``nvmlUtilization_t``."""

    _fields_ = [("gpu", c_uint), ("memory", c_uint)]


class Memory(Structure):
    """``nvmlMemory_v2_t``: the driver's reserve is told apart from what is used."""

    _fields_ = [
        ("version", c_uint),
        ("total", c_ulonglong),
        ("reserved", c_ulonglong),
        ("free", c_ulonglong),
        ("used", c_ulonglong),
    ]


class Margin(Structure):
    """``nvmlMarginTemperature_v1_t``: degrees left until the GPU slows down."""

    _fields_ = [("version", c_uint), ("margin", c_int)]


class Fabric(Structure):
    """``nvmlGpuFabricInfo_v2_t``."""

    _fields_ = [
        ("version", c_uint),
        ("cluster_uuid", c_ubyte * 16),
        ("status", c_uint),
        ("clique", c_uint),
        ("state", c_ubyte),
        ("health_mask", c_uint),
    ]


class SramErrors(Structure):
    """``nvmlEccSramErrorStatus_v1_t``."""

    _fields_ = [
        ("version", c_uint),
        ("aggregate_parity", c_ulonglong),
        ("aggregate_secded", c_ulonglong),
        ("aggregate_corrected", c_ulonglong),
        ("volatile_parity", c_ulonglong),
        ("volatile_secded", c_ulonglong),
        ("volatile_corrected", c_ulonglong),
        ("buckets", c_ulonglong * 5),
        ("threshold_exceeded", c_uint),
    ]


class Process(Structure):
    """``nvmlProcessInfo_v2_t``."""

    _fields_ = [("pid", c_uint), ("used", c_ulonglong), ("gpu_instance", c_uint), ("compute_instance", c_uint)]


class Value(Union):
    """``nvmlValue_t``."""

    _fields_ = [
        ("double", c_double),
        ("int", c_int),
        ("uint", c_uint),
        ("long", c_long),
        ("ulong", c_ulong),
        ("ulonglong", c_ulonglong),
        ("longlong", c_longlong),
        ("ushort", c_ushort),
    ]


VALUE_TYPES = ("double", "uint", "ulong", "ulonglong", "longlong", "int", "ushort")
"""Members of the union in the order of ``nvmlValueType_t``."""


class Field(Structure):
    """``nvmlFieldValue_t``."""

    _fields_ = [
        ("id", c_uint),
        ("scope", c_uint),
        ("timestamp", c_int64),
        ("latency", c_int64),
        ("value_type", c_uint),
        ("code", c_uint),
        ("value", Value),
    ]


class Query(NamedTuple):
    """A function of one GPU that answers with plain numbers."""

    function: str
    arguments: Tuple[int, ...]
    answers: Tuple[Any, ...]


NUMBERS: Dict[str, Query] = {
    "persistence_mode": Query("nvmlDeviceGetPersistenceMode", (), (c_uint,)),
    "compute_mode": Query("nvmlDeviceGetComputeMode", (), (c_uint,)),
    "mig_mode": Query("nvmlDeviceGetMigMode", (), (c_uint, c_uint)),
    "ecc_mode": Query("nvmlDeviceGetEccMode", (), (c_uint, c_uint)),
    "remapped_rows": Query("nvmlDeviceGetRemappedRows", (), (c_uint,) * 4),
    "retired_pages_pending": Query("nvmlDeviceGetRetiredPagesPendingStatus", (), (c_uint,)),
    "link_width": Query("nvmlDeviceGetCurrPcieLinkWidth", (), (c_uint,)),
    "link_width_max": Query("nvmlDeviceGetMaxPcieLinkWidth", (), (c_uint,)),
    "link_generation": Query("nvmlDeviceGetCurrPcieLinkGeneration", (), (c_uint,)),
    "link_generation_max": Query("nvmlDeviceGetMaxPcieLinkGeneration", (), (c_uint,)),
    "temperature": Query("nvmlDeviceGetTemperature", (0,), (c_uint,)),
    "sm_clock": Query("nvmlDeviceGetClockInfo", (1,), (c_uint,)),
    "clocks_event_reasons": Query("nvmlDeviceGetCurrentClocksEventReasons", (), (c_ulonglong,)),
    "volatile_corrected_dram": Query("nvmlDeviceGetMemoryErrorCounter", (0, 0, DRAM), (c_ulonglong,)),
    "volatile_uncorrected_dram": Query("nvmlDeviceGetMemoryErrorCounter", (1, 0, DRAM), (c_ulonglong,)),
}

SRAM_NUMBERS: Dict[str, Query] = {
    "volatile_corrected_sram": Query("nvmlDeviceGetMemoryErrorCounter", (0, 0, SRAM), (c_ulonglong,)),
    "volatile_uncorrected_sram": Query("nvmlDeviceGetMemoryErrorCounter", (1, 0, SRAM), (c_ulonglong,)),
    "aggregate_uncorrected_sram": Query("nvmlDeviceGetMemoryErrorCounter", (1, 1, SRAM), (c_ulonglong,)),
    "volatile_corrected_total": Query("nvmlDeviceGetTotalEccErrors", (0, 0), (c_ulonglong,)),
    "volatile_uncorrected_total": Query("nvmlDeviceGetTotalEccErrors", (1, 0), (c_ulonglong,)),
}
"""Asked only where the driver has no ``sram`` structure: each of these costs about 2 ms."""

TEXTS = {
    "uuid": "nvmlDeviceGetUUID",
    "name": "nvmlDeviceGetName",
    "vbios": "nvmlDeviceGetVbiosVersion",
    "inforom": "nvmlDeviceGetInforomImageVersion",
    "board_part_number": "nvmlDeviceGetBoardPartNumber",
}
LONGEST_TEXT = 96

STRUCTURES: Dict[str, Tuple[str, Any, int]] = {
    "pci": ("nvmlDeviceGetPciInfo_v3", PciInfo, 0),
    "utilization": ("nvmlDeviceGetUtilizationRates", Utilization, 0),
    "memory": ("nvmlDeviceGetMemoryInfo_v2", Memory, 2),
    "margin": ("nvmlDeviceGetMarginTemperature", Margin, 1),
    "fabric": ("nvmlDeviceGetGpuFabricInfoV", Fabric, 2),
    "sram": ("nvmlDeviceGetSramEccErrorStatus", SramErrors, 1),
}
"""Function, structure, and the version that stands in its first field (0: it has none)."""

PROCESSES = {
    "compute": "nvmlDeviceGetComputeRunningProcesses_v3",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses_v3",
}

EARLIER_NAMES = {"nvmlDeviceGetCurrentClocksEventReasons": "nvmlDeviceGetCurrentClocksThrottleReasons"}
"""What older libraries (before driver 535) call the same function."""
