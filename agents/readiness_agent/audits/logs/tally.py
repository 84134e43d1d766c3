"""What the steps of a log add up to, kept in a few numbers however long the log is."""

from __future__ import annotations

import math
from typing import List, Optional, Set, Tuple

from readiness_agent.audits.logs.steps import Step

WANTED = ("loss", "lr", "grad_norm", "throughput")
"""What each step should tell beside its number."""

_MOST_REMARKS = 20


class Tally:
    """Counts over all steps of one training's log."""

    def __init__(self) -> None:
        self.steps = 0
        """Different steps that have a line."""
        self.first: Optional[int] = None
        self.last: Optional[int] = None
        self.gaps = 0
        """Steps between two others of which there is no line."""
        self.seen: Set[str] = set()
        self.first_norm: Optional[Tuple[int, float]] = None
        """Step and norm of the first step that was not skipped, if that step tells a norm."""
        self.longest_save = 0.0
        self.remarks: List[Tuple[str, str]] = []
        self._unsaid = 0
        self._skips = 0
        self._skipped: Optional[int] = None
        self._highest: Optional[int] = None
        self._begun_at: Optional[int] = None

    def add(self, step: Step) -> None:
        """Take one step in; one that comes again after a restart is no new one."""
        if step.skips is not None:
            step = step._replace(is_skipped=step.is_skipped or step.skips > self._skips)
            self._skips = step.skips or 0
        self._skipped = step.number if step.is_skipped else self._skipped
        step = step._replace(is_skipped=step.number == self._skipped)
        self.seen |= step.values.keys()
        if self.last is None or step.number != self.last:
            if self.last is not None and step.number > self.last + 1:
                self.gaps += step.number - self.last - 1
                self._remark(step.place, f"there is no line of {step.number - self.last - 1} steps before this one")
            if self._highest is None or step.number > self._highest:
                self.steps, self._highest = self.steps + 1, step.number
            self.first = step.number if self.first is None else min(self.first, step.number)
            self.last = step.number
        self.longest_save = max(self.longest_save, _finite(step.values.get("save_seconds")) or 0.0)
        self._norm(step)
        self._loss(step)

    def missing(self) -> List[str]:
        """Fields that no step tells."""
        return [name for name in WANTED if name not in self.seen]

    def finish(self) -> None:
        """Say how much was left out of the remarks."""
        if self._unsaid:
            self.remarks.append(("log", f"{self._unsaid} more of these were left out"))

    def _norm(self, step: Step) -> None:
        """The norm of the first step that counts. DeepSpeed tells one step in two lines, so the same step may go on."""
        is_first = self._begun_at is None or (self.first_norm is None and step.number == self._begun_at)
        if step.is_skipped or not is_first:
            return
        if "grad_norm" in step.values:
            self.first_norm = (step.number, step.values["grad_norm"])
        if "loss" in step.values or "grad_norm" in step.values:
            self._begun_at = step.number

    def _loss(self, step: Step) -> None:
        loss = step.values.get("loss")
        if step.is_skipped:
            return
        if "loss" in step.lost or (loss is not None and not math.isfinite(loss)):
            self._remark(step.place, f"the loss of step {step.number} is no finite number, and it was not skipped")
        elif loss is None and "grad_norm" in step.values:
            self._remark(step.place, f"step {step.number} has a gradient norm and no loss: a NaN that was not printed")

    def _remark(self, place: str, said: str) -> None:
        if len(self.remarks) < _MOST_REMARKS:
            self.remarks.append((place, said))
        else:
            self._unsaid += 1


def _finite(value: Optional[float]) -> Optional[float]:
    return value if value is not None and math.isfinite(value) else None
