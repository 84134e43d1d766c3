"""The table that ``nvidia-smi`` prints without options: two lines a GPU that matter."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional

from readiness_agent.parsers.nvidia_smi_cells import LOST_WORDS, bus_id
from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from readiness_agent.parsers.saved import Reading, Saved
from readiness_agent.parsers.terminal import finished_lines

_FIRST = re.compile(
    r"\|\s*([0-9]{1,3})  ?(\S.*?)\s+(On|Off|N/A|ERR!)\s*\|\s*([0-9A-Fa-f:.]+)\s+(On|Off|N/A|ERR!)\s*\|\s*(\S+)\s*\|"
)
_SECOND = re.compile(
    r"\|\s*(\S+?)\s+(\S+)\s+(\S+)\s+(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s+((?:E\. )?\S+)\s*\|"
)
_RULE = re.compile(r"\+[-=]{3,}")
_HEAD = re.compile(r"Driver Version: ([0-9.]+)\s+CUDA Version: ([0-9.]+)")
_LEFT_OUT = re.compile(r"^[ \t]*\[?(?:\.\.\.|…)\]?[ \t]*$", re.MULTILINE)
"""What people write in the place of lines that they left out."""
_NUMBER = re.compile(r"([0-9]{1,9})(?:C|W|%|MiB)")
_SAYS_NOTHING = ("N/A", "[N/A]")
_SWITCH = {"On": True, "Off": False}


class _Gpu(NamedTuple):
    first: re.Match[str]
    second: Optional[re.Match[str]]
    lines: List[str]


def read_smi_table(text: str) -> Saved:
    """The GPUs of the table. Never raises."""
    reading = Reading()
    gpus = _gpus(finished_lines(text))
    errors = parse_smi_errors(text)
    lost = [gpu for gpu in gpus if any(LOST_WORDS.search(line) for line in gpu.lines)]
    if gpus:
        reading.fact("gpus_shown", len(gpus), "count")
    if gpus or errors.lost_handles:
        reading.fact("gpus_lost", len(lost) + len(errors.lost_handles), "count")
    head = _HEAD.search(text)
    reading.fact("driver_version", head[1] if head else None, "text")
    reading.fact("cuda_version", head[2] if head else None, "text")
    for gpu in gpus:
        _one(reading, gpu)
    if gpus and (_breaks_off(text) or _is_torn(finished_lines(text), len(gpus))):
        reading.problem("the table is torn: it was cut, or a line of a GPU is missing")
    if gpus and _LEFT_OUT.search(text) and not reading.result().problems:
        reading.problem("lines of the table were left out, and what they say is not known")
    if not gpus:
        reading.problem(errors.sentence or "there is no table of nvidia-smi in this text")
    return reading.result()


def _gpus(lines: List[str]) -> List[_Gpu]:
    gpus = []
    for place, line in enumerate(lines):
        first = _FIRST.match(line)
        if first and bus_id(first[4]):
            below = lines[place + 1] if place + 1 < len(lines) else ""
            gpus.append(_Gpu(first, _SECOND.match(below), [line, *lines[place + 1 : place + 3]]))
    return gpus


def _breaks_off(text: str) -> bool:
    """Whether the last line is one of the table, and does not end."""
    return not text.endswith("\n") and text.rpartition("\n")[2].startswith(("|", "+"))


def _is_torn(lines: List[str], gpus: int) -> bool:
    """Whether there are more second lines of GPUs than first ones, or nothing that ends the last GPU."""
    seconds = sum(1 for line in lines if _SECOND.match(line) or (LOST_WORDS.search(line) and not _FIRST.match(line)))
    rules = [place for place, line in enumerate(lines) if _RULE.match(line)]
    last = max(place for place, line in enumerate(lines) if _FIRST.match(line))
    return seconds != gpus or not rules or rules[-1] < last


def _one(reading: Reading, gpu: _Gpu) -> None:
    subject = f"gpu{gpu.first[1]}"
    reading.fact("bus_id", bus_id(gpu.first[4]), "text", subject)
    reading.fact("persistence", _SWITCH.get(gpu.first[3]), "bool", subject)
    ecc = gpu.first[6]
    if ecc == "Off":
        reading.fact("ecc_enabled", False, "bool", subject)
    elif ecc.isdigit():
        reading.fact("ecc_enabled", True, "bool", subject)
        reading.fact("volatile_uncorrectable", int(ecc[:18]), "count", subject)
    words = [found[0] for found in map(LOST_WORDS.search, gpu.lines) if found]
    if words:
        reading.problem(f"{subject} at {bus_id(gpu.first[4])} shows {words[0]}")
    if gpu.second is None:
        reading.problem(f"{subject}: its second line is missing or damaged")
        return
    fan, temperature, performance, power, cap, used, total, utilization, mode = gpu.second.groups()
    amounts = (fan, temperature, power, cap, used, total, utilization)
    spoiled = [cell for cell in amounts if _number(cell) is None and cell not in _SAYS_NOTHING]
    if spoiled and not words:
        reading.problem(f"{subject}: {spoiled[0]} is no amount")
    reading.fact("fan", _number(fan), "percent", subject)
    reading.fact("temperature", _number(temperature), "celsius", subject)
    reading.fact("performance", performance if re.fullmatch(r"P[0-9]{1,2}", performance) else None, "text", subject)
    reading.fact("power", _number(power), "watts", subject)
    reading.fact("power_cap", _number(cap), "watts", subject)
    reading.fact("memory_used", _number(used), "MiB", subject)
    reading.fact("memory_total", _number(total), "MiB", subject)
    reading.fact("utilization", _number(utilization), "percent", subject)
    reading.fact("compute_mode", mode if mode.replace("E. ", "").isalpha() else None, "text", subject)


def _number(cell: str) -> Optional[int]:
    found = _NUMBER.fullmatch(cell)
    return int(found[1]) if found else None
