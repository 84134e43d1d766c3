"""Audits: files of a run (configuration, dataset, tokenizer, logs) become facts. Nothing here judges.

One module a kind, each with ``add_arguments(parser)`` and ``audit(arguments) -> AuditResult``; ``arguments.paths`` are
the files and folders to read. Only the one that runs is imported.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

from readiness_agent.facts import PROBLEM_KINDS, Value

KINDS: Dict[str, str] = {
    "config": "how a run is configured: DeepSpeed, Megatron, launch scripts and training code",
    "dataset": "what a dataset holds: format, shards, encoding, duplicates, sensitive texts",
    "tokenizer": "whether two tokenizers are the same, in their files and in what they do",
    "checkpoint": "how large the checkpoints of a run really are",
    "log": "what a training wrote: its first gradient norm, and how much it logs",
}
"""Kinds of audits, and what each looks at."""

AUDIT_PROBLEM_KINDS = tuple(kind for kind in PROBLEM_KINDS if kind != "hung")
"""Why an audit could not tell; it runs in the foreground, where a person ends what hangs."""

MAX_EVIDENCE_TEXT = 4096
"""Characters of one text."""


class AuditFact(NamedTuple):
    """One value that the files state: ``amp-config · precision · bf16 · text``, by the catalogue's names and units."""

    item: str
    name: str
    value: Value
    unit: str


class AuditProblem(NamedTuple):
    """Why (a part of) an item could not be told from the files: it is *unknown*, never a pass."""

    item: str
    kind: str
    """One of ``AUDIT_PROBLEM_KINDS``."""
    detail: str


class Finding(NamedTuple):
    """What a person should look at, and where. It is shown and kept as evidence, and never judged."""

    item: str
    place: str
    """``train.py:41``."""
    said: str
    """One sentence."""


class AuditText(NamedTuple):
    """Raw text behind the facts of *items*."""

    probe: str
    text: str
    items: Tuple[str, ...]


class Artefact(NamedTuple):
    """One file that was read, by its digest, so that it can be compared with what is signed."""

    name: str
    digest: str
    """``sha256:…``."""


class AuditResult(NamedTuple):
    """All that one audit found out."""

    covered: Tuple[str, ...]
    """Items that were looked at: one without a fact and without a problem is *unknown*."""
    facts: Tuple[AuditFact, ...]
    problems: Tuple[AuditProblem, ...]
    findings: Tuple[Finding, ...]
    evidence: Tuple[AuditText, ...]
    artefacts: Tuple[Artefact, ...]


class Notes:
    """Collects what an audit finds.

    >>> notes = Notes("amp-config")
    >>> notes.fact("amp-config", "precision", "bf16", "text")
    >>> notes.result().facts[0].value
    'bf16'
    """

    def __init__(self, *covered: str) -> None:
        self._covered = covered
        self._facts: List[AuditFact] = []
        self._problems: List[AuditProblem] = []
        self._findings: List[Finding] = []
        self._evidence: List[AuditText] = []
        self._artefacts: List[Artefact] = []

    def fact(self, item: str, name: str, value: Value, unit: str) -> None:
        """Add one value."""
        self._facts.append(AuditFact(item, name, value, unit))

    def problem(self, item: str, kind: str, detail: str) -> None:
        """Say that *item* could not be told, and why, in one sentence."""
        self._problems.append(AuditProblem(item, kind, detail))

    def finding(self, item: str, place: str, said: str) -> None:
        """Point at a place, for people."""
        self._findings.append(Finding(item, place, said))

    def evidence(self, probe: str, text: str, *items: str) -> None:
        """Keep raw *text* that supports the facts of *items*; what is longer than a report takes is cut."""
        self._evidence.append(AuditText(probe, text[:MAX_EVIDENCE_TEXT], items))

    def artefact(self, name: str, digest: str) -> None:
        """Name a file that was read."""
        self._artefacts.append(Artefact(name, digest))

    def result(self) -> AuditResult:
        """What was found so far."""
        return AuditResult(
            tuple(self._covered), tuple(self._facts), tuple(self._problems), tuple(self._findings),
            tuple(self._evidence), tuple(self._artefacts),
        )  # fmt: skip
