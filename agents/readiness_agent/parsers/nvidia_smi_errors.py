"""Sentences that nvidia-smi prints instead of its report, or beside it."""

from __future__ import annotations

import re
from typing import NamedTuple, Tuple

from readiness_agent.parsers.nvidia_smi_cells import bus_id

_LOST_HANDLE = re.compile(r"unable to determine the device handle for gpu\s*(?:[0-9]+\s*:)?\s*(\S*)", re.IGNORECASE)
_NO_DRIVER = re.compile(r"couldn't communicate with the NVIDIA driver|Failed to initialize NVML", re.IGNORECASE)
_NO_DEVICES = re.compile(r"^No devices were found", re.MULTILINE)
_LONGEST_SENTENCE = 200


class SmiErrors(NamedTuple):
    """What the sentences say about the GPUs of the node."""

    no_driver: bool
    """The driver does not answer: no GPU can be used."""
    no_devices: bool
    """The driver answers and has no GPU."""
    lost_handles: Tuple[str, ...]
    """PCI addresses of GPUs that could not be opened; an empty text for one that was not named."""
    sentence: str
    """The first line, to show to a person."""


def parse_smi_errors(text: str) -> SmiErrors:
    """Read what nvidia-smi printed outside of its report; text of another kind says nothing about GPUs."""
    handles = tuple(bus_id(found.group(1)) or "" for found in _LOST_HANDLE.finditer(text))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return SmiErrors(
        no_driver=bool(_NO_DRIVER.search(text)),
        no_devices=bool(_NO_DEVICES.search(text)),
        lost_handles=handles,
        sentence=lines[0][:_LONGEST_SENTENCE] if lines else "",
    )
