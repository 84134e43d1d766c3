"""What a log says of itself in words: which attention kernel runs, and how long a checkpoint took."""

from __future__ import annotations

import re
from typing import Dict, Optional, Sequence, Tuple

FLASH, CUDNN, MATH, OTHER = "flash", "cudnn", "math", "memory_efficient"

_BACKENDS: Sequence[Tuple[str, re.Pattern[str]]] = (
    (MATH, re.compile(r"Running with Unfused|attn_implementation\W{1,4}eager|AttnBackend\.unfused", re.I)),
    (CUDNN, re.compile(r"Running with Fused|AttnBackend\.fused|attention[ _]backend\W{1,30}(?:fused|cudnn)\b", re.I)),
    (FLASH, re.compile(
        r"Running with Flash|attn_implementation\W{1,4}flash_attention|AttnBackend\.flash"
        r"|use_flash_attn\W{1,60}True|attention[ _]backend\W{1,30}flash\b|using flash.?attention", re.I,
    )),
    (MATH, re.compile(r"attention[ _]backend\W{1,30}(?:math|unfused|eager|local)\b", re.I)),
    (OTHER, re.compile(r"attention[ _]backend\W{1,30}(?:mem(?:ory)?[_-]?efficient|xformers)\b", re.I)),
)  # fmt: skip
_SAVE = re.compile(r"save-checkpoint[ .]*:\s*\(?([\d.]{1,20})(?:,\s*([\d.]{1,20}))?")
_TOOK = re.compile(
    r"(?:sav(?:ed|ing)|save_)[^\n]{0,80}checkpoint[^\n]{0,200}?\b(?:took|in)\s+([\d.]{1,20})\s*(ms|s|sec|seconds)\b",
    re.I,
)


class Said:
    """Collects both over a whole log."""

    def __init__(self) -> None:
        self.backends: Dict[str, str] = {}
        """Place of the first mention of each."""
        self.longest_save = 0.0
        self.save_place = ""

    def hear(self, text: str, place: str) -> None:
        """Listen to one line."""
        if "tt" in text:  # every spelling of attention and attn has it; most lines have not
            kind = next((kind for kind, said in _BACKENDS if said.search(text)), None)
            if kind is not None:
                self.backends.setdefault(kind, place)
        if "heckpoint" in text:
            seconds = _save_seconds(text)
            if seconds is not None and seconds > self.longest_save:
                self.longest_save, self.save_place = seconds, place


def _save_seconds(text: str) -> Optional[float]:
    timer, took = _SAVE.search(text), _TOOK.search(text)
    try:
        if timer:  # milliseconds: the fastest and the slowest rank
            return float(timer[2] or timer[1]) / 1000
        return float(took[1]) * (0.001 if took[2].lower() == "ms" else 1.0) if took else None
    except ValueError:
        return None
