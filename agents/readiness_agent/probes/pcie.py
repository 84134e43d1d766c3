"""The PCIe link of one device as the kernel sees it, with or without a driver."""

from __future__ import annotations

from typing import Dict, Optional

from readiness_agent.facts import CouldNotMeasure
from readiness_agent.parsers.pcie import generation_of_speed, parse_width
from readiness_agent.probes.subjects import PCI_DEVICES
from readiness_agent.source import Source


def link_on_bus(source: Source, address: str) -> Dict[str, int]:
    """``width``, ``width_max``, ``generation`` and ``generation_max``, as far as the kernel tells them."""
    directory = f"{PCI_DEVICES}/{address}"
    found = {
        "width": _width(source, f"{directory}/current_link_width"),
        "width_max": _width(source, f"{directory}/max_link_width"),
        "generation": _generation(source, f"{directory}/current_link_speed"),
        "generation_max": _generation(source, f"{directory}/max_link_speed"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _width(source: Source, path: str) -> Optional[int]:
    try:
        return parse_width(source.read(path))
    except CouldNotMeasure:
        return None


def _generation(source: Source, path: str) -> Optional[int]:
    try:
        return generation_of_speed(source.read(path))
    except CouldNotMeasure:
        return None
