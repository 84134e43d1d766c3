"""Logs of lines: JSON Lines, Megatron's, DeepSpeed's, and lines of names and numbers that people write."""

from __future__ import annotations

import json
import re
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

from readiness_agent.audits.logs.steps import SKIPPED, Step, field_of, normal

LONGEST_LINE = 64 * 1024
"""Bytes; what is longer is cut, for a log of whatever size must fit into memory."""

_NUMBER = r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?|[+-]?nan|[+-]?inf(?:inity)?"
_MEGATRON = re.compile(r"iteration\s+(\d{1,12})/\s*\d{1,12} \|(.*)")
_STEP = re.compile(r"(?:^|[\s|,{\[(])(?:global_?step|steps?|iteration|iter)\s*[:=]?\s*(\d{1,12})\b", re.IGNORECASE)
_PAIR = re.compile(
    rf"([A-Za-z][A-Za-z_./]{{0,40}}(?: [a-z]{{1,20}})?(?: ?\([a-z]+\))?)\s*[:=]?\s*\[?({_NUMBER})(?![\w.])",
    re.IGNORECASE,
)
_OVERFLOW = re.compile(r"OVERFLOW|Skipping step", re.IGNORECASE)
_STEP_NAMES = ("step", "global_step", "iteration", "iter", "steps", "train_step")


class Line:
    """One line with its number and how many bytes it had."""

    __slots__ = ("number", "size", "text")

    def __init__(self, number: int, text: str, size: int) -> None:
        self.number, self.text, self.size = number, text, size


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """Lines in their order; each is cut at ``LONGEST_LINE``, and its whole size is counted."""
    number = 0
    while True:
        raw = file.readline(LONGEST_LINE)
        if not raw:
            return
        number, size = number + 1, len(raw)
        kept = raw
        while not raw.endswith(b"\n"):
            raw = file.readline(LONGEST_LINE)
            if not raw:
                break
            size += len(raw)
        yield Line(number, kept.decode("utf-8", "replace"), size)


def step_of(line: Line, name: str) -> Optional[Step]:
    """The step that *line* tells of; None for any other line."""
    text, place = line.text.strip(), f"{name}:{line.number}"
    if text.startswith("{"):
        return _of_json(text, place)
    megatron = _MEGATRON.search(text)
    if megatron:
        cells = [cell.partition(":") for cell in megatron[2].split("|")]
        return _made(int(megatron[1]), [(key, value) for key, colon, value in cells if colon], place)
    step = _STEP.search(text)
    if not step:
        return None
    pairs = [(found[1], found[2]) for found in _PAIR.finditer(text)]
    made = _made(int(step[1]), pairs, place)
    return made if made.values or made.lost else None


def is_overflow(line: Line) -> bool:
    """Whether the line says that a step was skipped because its gradients overflowed."""
    return bool(_OVERFLOW.search(line.text))


def _of_json(text: str, place: str) -> Optional[Step]:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict):
        return None
    flat = {**held, **{key: value for one in held.values() if isinstance(one, dict) for key, value in one.items()}}
    number = next((flat[key] for key in flat if normal(key) in _STEP_NAMES), None)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 10**15:
        return None
    return _made(number, list(flat.items()), place)


def _made(number: int, pairs: List[Tuple[str, Any]], place: str) -> Step:
    values: Dict[str, float] = {}
    lost: List[str] = []
    skipped, skips = False, None
    for key, raw in pairs:
        field, held = field_of(key), _float(raw)
        if normal(key) in SKIPPED or (normal(key) == "skipped" and isinstance(raw, bool)):
            skipped = skipped or raw is True or bool(held)
        elif normal(key) == "skipped" and held is not None:
            skips = int(held)  # DeepSpeed counts them
        elif field and held is None:
            lost.append(field)
        elif field and held is not None:
            values.setdefault(field, held)
    return Step(number, values, skipped, place, tuple(one for one in lost if one not in values), skips)


def _float(raw: Any) -> Optional[float]:
    if isinstance(raw, bool):
        return None
    try:
        return float(raw.strip().strip("[]()") if isinstance(raw, str) else raw)
    except (ValueError, TypeError, OverflowError):
        return None
