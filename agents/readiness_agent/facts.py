"""What a probe hands back: facts, problems and evidence. Nothing here judges.

Tuples rather than dataclasses: they are as readable, and importing ``dataclasses`` alone would cost a fifth of the
start of a tick.
"""

from __future__ import annotations

from types import TracebackType
from typing import List, NamedTuple, Optional, Tuple, Type, Union

Value = Union[bool, int, float, str]

MISSING = "missing"
"""The file, tool or library is not there."""
HUNG = "hung"
"""It did not answer before its deadline."""
DENIED = "denied"
"""The agent is not allowed to read or run it."""
UNREADABLE = "unreadable"
"""It answered, and the answer does not have the shape that is promised."""
NOT_CAPTURED = "not_captured"
"""A replayed capture does not hold it: nobody looked, so nobody may say that it is absent."""
ERROR = "error"
"""It answered with an error of its own."""

PROBLEM_KINDS = (MISSING, HUNG, DENIED, UNREADABLE, NOT_CAPTURED, ERROR)

EVERY_SUBJECT = "*"
"""Subject of a problem that holds for every GPU or NIC of the item, known or not."""


class Fact(NamedTuple):
    """One measured value: ``gpu-pcie-width · gpu3 · width · 8 · lanes``."""

    item: str
    subject: str
    name: str
    value: Value
    unit: str
    observed_at: float
    """CLOCK_BOOTTIME seconds of the boot in which it was read."""


class Problem(NamedTuple):
    """Why an item could not be measured. The portal turns it into *unknown*, never into *pass* or *na*."""

    item: str
    subject: str
    kind: str
    detail: str


class Evidence(NamedTuple):
    """Raw text behind the facts of *items*; the runner cuts it to 4 kB and decides when it is sent."""

    text: str
    items: Tuple[str, ...]


class ProbeResult(NamedTuple):
    """All that one run of one probe found out."""

    facts: Tuple[Fact, ...]
    problems: Tuple[Problem, ...]
    evidence: Tuple[Evidence, ...]


class CouldNotMeasure(Exception):
    """Something a probe needs could not be had; *kind* is one of ``PROBLEM_KINDS``."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class Unreadable(CouldNotMeasure):
    """A parser met text that does not have the shape its tool promises."""

    def __init__(self, detail: str) -> None:
        super().__init__(UNREADABLE, detail)


class Findings:
    """Collects what a probe finds. All facts carry the moment at which the probe began to read.

    >>> findings = Findings(observed_at=12.5)
    >>> with findings.attempt("gpu-ecc", "gpu-present"):    # CouldNotMeasure in here -> one problem for each item
    ...     findings.fact("gpu-present", "gpus_visible", 2, "count")
    >>> findings.result().facts[0].value
    2
    """

    def __init__(self, observed_at: float) -> None:
        self._observed_at = observed_at
        self._facts: List[Fact] = []
        self._problems: List[Problem] = []
        self._evidence: List[Evidence] = []

    def fact(self, item: str, name: str, value: Value, unit: str, subject: str = "") -> None:
        """Add one measured value; *subject* is empty for a fact about the whole node."""
        self._facts.append(Fact(item, subject, name, value, unit, self._observed_at))

    def problem(self, item: str, kind: str, detail: str, subject: str = EVERY_SUBJECT) -> None:
        """Say that *item* could not be measured, and why, in one sentence."""
        self._problems.append(Problem(item, subject, kind, detail))

    def evidence(self, text: str, *items: str) -> None:
        """Keep raw *text* that supports the facts of *items*."""
        self._evidence.append(Evidence(text, items))

    def attempt(self, *items: str, subject: str = EVERY_SUBJECT) -> Attempt:
        """A block in which ``CouldNotMeasure`` becomes one problem for each of *items*, and the probe goes on."""
        return Attempt(self, items, subject)

    def result(self) -> ProbeResult:
        """What was found so far."""
        return ProbeResult(tuple(self._facts), tuple(self._problems), tuple(self._evidence))


class Attempt:
    """See :meth:`Findings.attempt`. Any other exception passes: it is a defect, and the runner reports it."""

    def __init__(self, findings: Findings, items: Tuple[str, ...], subject: str) -> None:
        self._findings = findings
        self._items = items
        self._subject = subject

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> bool:
        if not isinstance(error, CouldNotMeasure):
            return False
        for item in self._items:
            self._findings.problem(item, error.kind, error.detail, self._subject)
        return True
