"""``lspci -vv`` and ``-vvv``: each device with its own PCIe link.

A healthy node shows many *downgraded* links of bridges and switches, so that a link means nothing without its device.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.pcie import WIDTHS, generation_of_speed
from readiness_agent.parsers.terminal import finished_lines

_DEVICE = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:]+): (.*)", re.IGNORECASE)
_CAPABLE = re.compile(r"LnkCap:\s+(?:Port #[0-9]+, )?Speed ([^,]+), Width x([0-9]+)[ ,]")
_STATUS = re.compile(r"LnkSta:\s+Speed ([^,(]+?)(?: \((\w+)\))?, Width x([0-9]+)(?: \((\w+)\))?(?=[\s,]|$)")
_NUMA = re.compile(r"NUMA node: ([0-9]{1,4})")
_ACS = re.compile(r"ACSCtl:\s+SrcValid([+-])")
_GPU_KINDS = ("3D controller", "VGA compatible controller", "Display controller")
_ACCELERATOR = "Processing accelerators"
_DOWNGRADED = "downgraded"


class LspciDevice(NamedTuple):
    """One device. None: lspci does not say, or says that there is no link."""

    address: str
    """Empty in an excerpt that begins below the device's own line."""
    kind: str
    name: str
    width: Optional[int]
    width_max: Optional[int]
    generation: Optional[int]
    generation_max: Optional[int]
    downgraded: Optional[bool]
    """Whether its link is slower or narrower than the device could; older lspci does not mark it."""
    numa_node: Optional[int]
    acs_enabled: Optional[bool]
    """Whether a bridge checks the source of requests (Access Control Services), which sends GPU traffic round."""

    @property
    def is_gpu(self) -> bool:
        """An NVIDIA GPU, neither one of its NVSwitches nor an audio function of it, or an accelerator of AMD's."""
        kind = self.kind.partition(" [")[0]
        is_amd = "Advanced Micro Devices" in self.name or "[1002:" in self.name
        is_nvidia = "NVIDIA" in self.name or "[10de:" in self.name
        return (kind in _GPU_KINDS and is_nvidia) or (kind == _ACCELERATOR and is_amd)

    @property
    def is_nvswitch(self) -> bool:
        """A switch of NVIDIA's between GPUs, which the bus shows as a bridge."""
        return self.kind.partition(" [")[0] == "Bridge" and "NVIDIA" in self.name


def parse_lspci(text: str) -> Tuple[LspciDevice, ...]:
    """All devices in the text, in its order. Never raises."""
    blocks: List[Tuple[str, List[str]]] = []
    for line in finished_lines(text):
        if _DEVICE.match(line):
            blocks.append((line, []))
        elif line.strip():
            if not blocks:
                blocks.append(("", []))
            blocks[-1][1].append(line.strip())
    devices = [_device(head, lines) for head, lines in blocks]
    return tuple(one for one in devices if one.address or one.width_max or one.width)


def _device(head: str, lines: List[str]) -> LspciDevice:
    found = _DEVICE.match(head)
    body = "\n".join(lines)
    capable, status, numa, acs = (pattern.search(body) for pattern in (_CAPABLE, _STATUS, _NUMA, _ACS))
    return LspciDevice(
        address=f"{int(found[1] or '0', 16):04x}:{found[2]}".lower() if found else "",
        kind=found[3] if found else "",
        name=found[4].strip() if found else "",
        width=_width(status[3]) if status else None,
        width_max=_width(capable[2]) if capable else None,
        generation=generation_of_speed(status[1]) if status else None,
        generation_max=generation_of_speed(capable[1]) if capable else None,
        downgraded=_is_downgraded(status, capable) if status else None,
        numa_node=int(numa[1]) if numa else None,
        acs_enabled=acs[1] == "+" if acs else None,
    )


def _is_downgraded(status: re.Match[str], capable: Optional[re.Match[str]]) -> bool:
    marks = (status[2], status[4])
    if any(marks) or capable is None:
        return _DOWNGRADED in marks
    speed, speed_max = generation_of_speed(status[1]), generation_of_speed(capable[1])
    width, width_max = _width(status[3]), _width(capable[2])
    return (speed or 0) < (speed_max or 0) or (width or 0) < (width_max or 0)


def _width(lanes: str) -> Optional[int]:
    return int(lanes) if len(lanes) < 3 and int(lanes) in WIDTHS else None
