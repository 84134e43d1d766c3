"""``nvidia-smi nvlink -s`` (links and their speed) and ``nvidia-smi nvlink -e`` (their error counters)."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from readiness_agent.parsers.terminal import without_escapes

_GPU = re.compile(r"GPU ([0-9]{1,4}): .*\(UUID: ([^)\s]*)\)?")
_LINK = re.compile(r"Link ([0-9]{1,3}): (?:([0-9]{1,6}(?:\.[0-9]{1,6})?) GB/s|<?(inactive)>?)", re.IGNORECASE)
_COUNTER = re.compile(r"Link ([0-9]{1,3}): ([A-Za-z][A-Za-z ]*): (\S.*)")
_CUT = re.compile(r"\.{3,}|\[\.{3,}\]")
_ALL_INACTIVE = re.compile(r"all links are inactive", re.IGNORECASE)
_NO_NVLINK = re.compile(r"not have or support nvlink|nvlink[a-z ]* not supported|not support nvlink", re.IGNORECASE)
_BIT_ERRORS = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,6})?(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)

_NAMES = {
    "replay errors": "replay",
    "recovery errors": "recovery",
    "total link recovery events": "recovery",
    "crc errors": "crc",
}
_EFFECTIVE_BER = "effective ber"


class NvlinkLink(NamedTuple):
    """One link of one GPU."""

    number: int
    speed: Optional[float]
    """GB/s in one direction, as the driver states it; None for a link that is inactive."""


class NvlinkGpu(NamedTuple):
    """All links of one GPU."""

    place: int
    uuid: Optional[str]
    supported: Optional[bool]
    """False when the driver says that this GPU has no NVLink; None when it says nothing at all."""
    links: Tuple[NvlinkLink, ...]
    complete: bool
    """False when the text ends in the middle of this GPU's links, or a link is neither up nor inactive."""

    @property
    def links_up(self) -> Optional[int]:
        """Links with a speed; None where there are none to count."""
        return sum(1 for link in self.links if link.speed is not None) if self.supported else None

    @property
    def slowest(self) -> Optional[float]:
        """GB/s of the slowest link that is up."""
        return min((link.speed for link in self.links if link.speed is not None), default=None)


class NvlinkErrors(NamedTuple):
    """Errors of one GPU over all its links, since the driver was loaded. None: not told for every link."""

    place: int
    uuid: Optional[str]
    replay: Optional[int]
    recovery: Optional[int]
    crc: Optional[int]
    effective_ber: Optional[float]
    """The worst ratio of bit errors that error correction left, on parts that state it (NVLink 5)."""
    complete: bool


class _Block(NamedTuple):
    place: int
    uuid: Optional[str]
    lines: List[str]


def parse_nvlink_status(text: str) -> Tuple[NvlinkGpu, ...]:
    """The links of each GPU in the output of ``nvidia-smi nvlink -s``. Never raises."""
    return tuple(_status(block, text) for block in _blocks(text))


def parse_nvlink_errors(text: str) -> Tuple[NvlinkErrors, ...]:
    """The error counters of each GPU in the output of ``nvidia-smi nvlink -e``. Never raises."""
    return tuple(_errors(block, text) for block in _blocks(text))


def _blocks(text: str) -> List[_Block]:
    """Lines by the GPU that they stand below; what comes before the first GPU belongs to none."""
    blocks: List[_Block] = []
    for line in without_escapes(text).splitlines():
        found = _GPU.match(line.strip())
        if found:
            blocks.append(_Block(int(found[1]), found[2] if line.rstrip().endswith(")") else None, []))
        elif blocks and line.strip():
            blocks[-1].lines.append(line.strip())
    return blocks


def _status(block: _Block, text: str) -> NvlinkGpu:
    found = [_LINK.fullmatch(line) for line in block.lines]
    links = tuple(NvlinkLink(int(one[1]), float(one[2]) if one[2] else None) for one in found if one)
    said = "\n".join(block.lines)
    supported: Optional[bool] = True if links or _ALL_INACTIVE.search(said) else None
    if not links and _NO_NVLINK.search(said):
        supported = False
    all_known = all(one or not line.startswith("Link ") for one, line in zip(found, block.lines))  # noqa: B905 (of each)
    return NvlinkGpu(block.place, block.uuid, supported, links, all_known and _is_complete(block, text, _is_link))


def _is_link(line: str) -> bool:
    return bool(_LINK.fullmatch(line))


def _is_counter(line: str) -> bool:
    return bool(_COUNTER.fullmatch(line))


def _is_complete(block: _Block, text: str, is_whole: Callable[[str], bool]) -> bool:
    """Whether nothing shows that lines of this GPU are missing: dots, or a last line that breaks off."""
    if any(_CUT.fullmatch(line) for line in block.lines):
        return False
    last = block.lines[-1] if block.lines else ""
    breaks_off = not text.endswith("\n") and text.rstrip().endswith(last)
    may_be_a_link = last.startswith("Link") or "Link".startswith(last)
    return not (breaks_off and may_be_a_link) or is_whole(last)


def _errors(block: _Block, text: str) -> NvlinkErrors:
    cells: Dict[str, List[str]] = {}
    links = set()
    for line in block.lines:
        found = _COUNTER.fullmatch(line)
        if found:
            links.add(found[1])
            name = found[2].strip().lower()
            cells.setdefault(_NAMES.get(name, name), []).append(found[3].strip())
    counts = {name: _total(cells.get(name, []), len(links)) for name in ("replay", "recovery", "crc")}
    return NvlinkErrors(
        block.place,
        block.uuid,
        counts["replay"],
        counts["recovery"],
        counts["crc"],
        _worst(cells.get(_EFFECTIVE_BER, []), len(links)),
        _is_complete(block, text, _is_counter),
    )


def _total(cells: List[str], links: int) -> Optional[int]:
    """The sum over all links; None while one of them does not tell."""
    numbers = [int(cell) for cell in cells if re.fullmatch(r"[0-9]{1,18}", cell)]
    return sum(numbers) if numbers and len(numbers) == links else None


def _worst(cells: List[str], links: int) -> Optional[float]:
    ratios = [float(cell) for cell in cells if _BIT_ERRORS.fullmatch(cell)]
    return max(ratios) if ratios and len(ratios) == links else None
