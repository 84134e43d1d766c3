"""Names of GPUs: ``gpu0``, ``gpu1`` … in the order of their PCI addresses."""

from __future__ import annotations

from typing import Dict, Iterable, List, Tuple

from readiness_agent.facts import CouldNotMeasure
from readiness_agent.source import Source

PCI_DEVICES = "/sys/bus/pci/devices"
NVIDIA = "0x10de"
DISPLAY_CLASSES = ("0x0300", "0x0302")
"""VGA and 3D controllers; NVSwitches and the audio functions of GPUs have other classes."""

AMD = "0x1002"
ACCELERATOR_CLASSES = ("0x0302", "0x0380", "0x1200")
"""3D and display controllers and processing accelerators; the graphics unit of a processor is a VGA controller."""


def gpus_on_bus(source: Source) -> List[str]:
    """PCI addresses of the NVIDIA GPUs that the kernel sees, driver or no driver; empty where that cannot be told."""
    return _on_bus(source, NVIDIA, DISPLAY_CLASSES)


def accelerators_on_bus(source: Source) -> List[str]:
    """PCI addresses of AMD's accelerators; empty where that cannot be told."""
    return _on_bus(source, AMD, ACCELERATOR_CLASSES)


def _on_bus(source: Source, maker: str, classes: Tuple[str, ...]) -> List[str]:
    try:
        vendors = source.glob(f"{PCI_DEVICES}/*/vendor")
    except CouldNotMeasure:
        return []
    devices = [path.rpartition("/")[0] for path in vendors if _read(source, path) == maker]
    return [path.rpartition("/")[2] for path in devices if _read(source, f"{path}/class").startswith(classes)]


def bus_has_no_gpu(source: Source) -> bool:
    """Whether the bus was looked at, shows devices, and no GPU among them: more than not finding a tool."""
    try:
        shows_devices = bool(source.glob(f"{PCI_DEVICES}/*/vendor"))
        return shows_devices and not gpus_on_bus(source) and not accelerators_on_bus(source)
    except CouldNotMeasure:
        return False


def names_of_gpus(addresses: Iterable[str]) -> Dict[str, str]:
    """Address to name; a GPU that only the bus or only the driver knows takes part, so that the others keep theirs."""
    return {address: f"gpu{index}" for index, address in enumerate(sorted(set(addresses)))}


def _read(source: Source, path: str) -> str:
    try:
        return source.read(path).strip()
    except CouldNotMeasure:
        return ""
