"""GPUs, network adapters, their firmware and drivers, and what the machine's own firmware says of itself."""

from __future__ import annotations

import re
from typing import Dict, List, Optional

from readiness_agent.facts import CouldNotMeasure
from readiness_agent.fingerprint.reading import names_in, text_of, together, value_of
from readiness_agent.source import Source

Found = Dict[str, Optional[str]]

NVIDIA = "/proc/driver/nvidia"
RDMA = "/sys/class/infiniband"
NETWORK = "/sys/class/net"
DMI = "/sys/class/dmi/id"

GPU_FIELDS = {"Model": "model", "Video BIOS": "vbios", "GPU Firmware": "firmware", "GPU Excluded": "excluded"}
RDMA_FILES = ("fw_ver", "hca_type", "board_id")
DMI_FILES = (
    "bios_vendor", "bios_version", "bios_date", "bios_release", "board_vendor", "board_name", "board_version",
    "product_name", "product_version", "sys_vendor", "ec_firmware_release",
)  # fmt: skip
"""No serial and no UUID: those name one machine."""

_VERSION = re.compile(r"(?:Module|Kernel Module)\D*\s(\d+(?:\.\d+)+)")


def read_driver(source: Source) -> Found:
    """Version and parameters of the NVIDIA driver."""
    found: Found = {}
    version = _VERSION.search(text_of(source, f"{NVIDIA}/version"))
    if version:
        found["nvidia"] = version[1]
    for line in text_of(source, f"{NVIDIA}/params").splitlines():
        name, separator, value = line.partition(":")
        if separator:
            found[f"nvidia.{name.strip()}"] = value.strip()
    return found


def read_gpus(source: Source) -> Found:
    """What all GPUs of the node say of themselves, together."""
    said: Dict[str, List[str]] = {}
    for address in names_in(source, f"{NVIDIA}/gpus"):
        for line in text_of(source, f"{NVIDIA}/gpus/{address}/information").splitlines():
            field, _, value = line.partition(":")
            if field.strip() in GPU_FIELDS:
                said.setdefault(GPU_FIELDS[field.strip()], []).append(value.strip())
    return {name: together(values) for name, values in said.items()}


def read_nics(source: Source) -> Found:
    """Firmware and kind of each RDMA device, and the MTU of each interface that has hardware behind it."""
    found: Found = {}
    for device in names_in(source, RDMA):
        for name in RDMA_FILES:
            value = _if_there(source, f"{RDMA}/{device}/{name}")
            if value is not None:
                found[f"{device}.{name}"] = value
    for interface in names_in(source, NETWORK):
        if _is_hardware(source, interface):
            found[f"{interface}.mtu"] = value_of(source, f"{NETWORK}/{interface}/mtu")
    return found


def read_dmi(source: Source) -> Found:
    """BIOS and board."""
    there = set(names_in(source, DMI))
    return {name: value_of(source, f"{DMI}/{name}") for name in DMI_FILES if name in there}


def _if_there(source: Source, path: str) -> Optional[str]:
    try:
        return text_of(source, path).strip() or None
    except CouldNotMeasure:
        return None


def _is_hardware(source: Source, interface: str) -> bool:
    return source.exists(f"{NETWORK}/{interface}/device")
