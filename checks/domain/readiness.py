"""The gate's decision, from summaries and a few bad rows: nothing is measured or judged here, and the clock is given.

A node is *not_ready* when a fresh row fails; else *unknown* when anything is unknown, stale or unproved; else *ready*.
Several nodes are *not_ready* as soon as one is, else *unknown* as soon as one is or is not known at all, else *ready*.
Both block. Beyond the rows:

- no node asked is *unknown*; a start or restart without a run is *unknown*, always; one with a run is *unknown* while
  no signature is known for it;
- a node judged by other rules than those in force is *unknown* (`rejudging`), and none of its rows is believed;
- a node whose evidence of a cadence has ended is *unknown* (`stale`), even where a dead worker noticed nothing: the
  clock is applied here. A row that failed on ended evidence is stale, and no longer a failure;
- every asked node needs at least one *pass* in the physical and one in the system layer: a node to which nothing
  applies proves nothing (`nothing_proved`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from checks.domain.answers import NO_MAINTENANCE, Answer, Maintenance, Why, etag
from checks.domain.freshness import is_stale
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import Cadence, Decision, Layer, Owner, Purpose, Reason, Verdict

__all__ = [
    "Answer",
    "BadRow",
    "Clean",
    "Maintenance",
    "NodeSummary",
    "Question",
    "Why",
    "answer_at",
    "decide",
    "etag",
    "expires_at",
]

#: The most reasons in one answer, and the longest that one may be kept.
REASONS_SHOWN = 100
LONGEST_TTL = timedelta(seconds=300)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. Nodes that nobody enrolled stand in ``unknown_nodes``; the others come as summaries."""

    purpose: Purpose
    cluster: str
    run: str | None = None
    catalogue_version: str = ""
    unknown_nodes: tuple[str, ...] = ()

    @property
    def lacks_run(self) -> bool:
        """Whether the question is about the start of a run, and names none."""
        return self.purpose is not Purpose.HEALTH and not self.run


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """What is kept of one enrolled node for this question: counts and limits, no verdict.

    ``judged_under`` names the rules that it was judged by, ``rules`` those in force for it. ``expected`` says of which
    cadences it must have fresh evidence, ``until`` when that ends (absent: it never came). ``bad`` rows close the
    question asked, ``failed`` of them with *fail*.
    """

    node: str
    judged_under: str
    rules: str
    expected: frozenset[Cadence]
    until: Mapping[Cadence, datetime]
    bad: int
    failed: int
    pass_physical: int
    pass_system: int
    trouble: Reason | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row that closes the question; ``until`` is the last moment at which its evidence counts."""

    node: str
    layer: str
    item: str
    subject: str
    verdict: Verdict
    reason: Reason
    cadence: Cadence
    observed_at: datetime | None = None
    until: datetime | None = None
    value: Scalar | None = None
    threshold: Threshold | None = None
    remedy: str = ""
    owner: Owner = Owner.PLATFORM


@dataclass(frozen=True, slots=True)
class Clean:
    """Nodes that a reader has found ready for *health* by the very rules and clock of `decide`, and until when.

    They need no summary: an answer about thousands of sound nodes costs as little as one about a few.
    """

    nodes: tuple[str, ...] = ()
    until: datetime | None = None


NONE_CLEAN = Clean()


def decide(
    question: Question,
    summaries: Sequence[NodeSummary],
    bad_rows: Iterable[BadRow],
    *,
    now: datetime,
    clean: Clean = NONE_CLEAN,
    compared: Iterable[Why] = (),
    suspects: Collection[str] = frozenset(),
    ends: Iterable[datetime] = (),
    maintenance: Maintenance = NO_MAINTENANCE,
) -> Answer:
    """Answer *question* at *now*.

    *clean* nodes come without a summary, and only where *health* is asked. *bad_rows* may be cut off, worst first; the
    counts of the summaries speak for the rest. *compared* are the odd ones of ``uniform`` items
    (`checks.domain.uniform`), which no node can know by itself. *suspects* are items under a circuit breaker: their
    reasons say so, and decide as before. *ends* are further moments at which the answer changes.
    """
    rows = _by_node([*(_why_of_row(row, now, suspects) for row in bad_rows), *compared])
    look = _look_nowhere if question.lacks_run else _look_at
    seen = {one.node: look(one, question, rows.get(one.node, []), now) for one in summaries}
    whole = [*_of_question(question, found=len(summaries) + len(clean.nodes))]
    decisions = [Decision.READY] * bool(clean.nodes) + [node.decision for node in seen.values()]
    reasons = sorted([*whole, *(why for node in seen.values() for why in node.reasons)], key=lambda why: why.order)
    known_ends = [*ends, *_ends_of(clean, summaries)]
    return Answer(
        decision=_overall(whole, decisions),
        purpose=question.purpose,
        cluster=question.cluster,
        run=question.run,
        catalogue_version=question.catalogue_version,
        evaluated_at=now,
        expires_at=expires_at(now, known_ends),
        asked=len(clean.nodes) + len(summaries) + len(question.unknown_nodes),
        ready_nodes=(*clean.nodes, *(name for name, node in seen.items() if node.decision is Decision.READY)),
        not_ready_nodes=tuple(name for name, node in seen.items() if node.decision is not Decision.READY),
        unknown_nodes=question.unknown_nodes,
        reasons=tuple(reasons[:REASONS_SHOWN]),
        reasons_total=len(whole) + sum(node.total for node in seen.values()),
        maintenance=maintenance,
        holds_until=min((end for end in known_ends if end >= now), default=None),
    )


def answer_at(answer: Answer, now: datetime) -> Answer:
    """The same *answer* at a later moment, up to its ``holds_until``: what `decide` would say again then."""
    ends = () if answer.holds_until is None else (answer.holds_until,)
    return replace(answer, evaluated_at=now, expires_at=expires_at(now, ends))


def _ends_of(clean: Clean, summaries: Iterable[NodeSummary]) -> Iterator[datetime]:
    """When evidence ends, of every node."""
    if clean.until is not None:
        yield clean.until
    for summary in summaries:
        yield from summary.until.values()


def expires_at(now: datetime, ends: Iterable[datetime]) -> datetime:
    """Until when an answer holds: the next end of evidence, signature or window, and at most 300 s."""
    return min([now + LONGEST_TTL, *(end for end in ends if end >= now)])


@dataclass(frozen=True, slots=True)
class _Seen:
    """One node as the question sees it; ``total`` counts reasons that were cut off too."""

    decision: Decision
    reasons: list[Why]
    total: int


def _look_nowhere(summary: NodeSummary, question: Question, rows: list[Why], now: datetime) -> _Seen:
    """What a question without its run makes of any node: nothing about the node matters yet."""
    return _Seen(Decision.UNKNOWN, [], 0)


def _look_at(summary: NodeSummary, question: Question, rows: list[Why], now: datetime) -> _Seen:
    if summary.judged_under != summary.rules:
        return _Seen(Decision.UNKNOWN, [Why(Reason.REJUDGING, Verdict.UNKNOWN, summary.node)], 1)
    node = [*_of_node(summary, question, now)]
    cut_off = max(summary.bad - len([why for why in rows if why.cadence]), 0)
    if not (node or rows or cut_off):
        node = [*_nothing_proved(summary)]
    fails = any(why.verdict is Verdict.FAIL for why in rows) or bool(cut_off and summary.failed and not node)
    clean = not (node or rows or cut_off)
    decision = Decision.NOT_READY if fails else Decision.READY if clean else Decision.UNKNOWN
    return _Seen(decision, node + rows, len(node) + len(rows) + cut_off)


def _of_node(summary: NodeSummary, question: Question, now: datetime) -> Iterator[Why]:
    """Reasons that speak of a whole node."""
    if summary.trouble:
        yield Why(summary.trouble, Verdict.UNKNOWN, summary.node, owner=Owner.HARDWARE)
    if summary.replayed and question.purpose is not Purpose.HEALTH:
        yield Why(Reason.REPLAYED, Verdict.UNKNOWN, summary.node)
    for cadence in sorted(summary.expected | summary.until.keys()):
        until = summary.until.get(cadence)
        if until is None:
            yield Why(Reason.NEVER_MEASURED, Verdict.UNKNOWN, summary.node, value=cadence)
        elif is_stale(until, now):
            yield Why(Reason.STALE, Verdict.STALE, summary.node, value=cadence)


def _nothing_proved(summary: NodeSummary) -> Iterator[Why]:
    for layer, passes in ((Layer.PHYSICAL, summary.pass_physical), (Layer.SYSTEM, summary.pass_system)):
        if passes < 1:
            yield Why(Reason.NOTHING_PROVED, Verdict.UNKNOWN, summary.node, layer)


def _of_question(question: Question, *, found: int) -> Iterator[Why]:
    """Reasons that speak of the question itself; *found* nodes of it are enrolled."""
    if question.purpose is not Purpose.HEALTH:
        yield Why(Reason.UNSIGNED if question.run else Reason.RUN_REQUIRED, Verdict.UNKNOWN, owner=Owner.USER)
    if not found and not question.unknown_nodes:
        yield Why(Reason.NO_NODES, Verdict.UNKNOWN, owner=Owner.USER)
    for name in question.unknown_nodes:
        yield Why(Reason.UNKNOWN_NODE, Verdict.UNKNOWN, name)


def _overall(whole: list[Why], decisions: Collection[Decision]) -> Decision:
    if Decision.NOT_READY in decisions:
        return Decision.NOT_READY
    return Decision.UNKNOWN if whole or Decision.UNKNOWN in decisions else Decision.READY


def _why_of_row(row: BadRow, now: datetime, suspects: Collection[str]) -> Why:
    why = Why(
        code=row.reason,
        verdict=row.verdict,
        node=row.node,
        layer=row.layer,
        item=row.item,
        subject=row.subject,
        value=row.value,
        threshold=row.threshold,
        observed_at=row.observed_at,
        remedy=row.remedy,
        owner=row.owner,
        cadence=row.cadence,
    )
    if is_stale(row.until, now):
        return replace(why, code=Reason.STALE, verdict=Verdict.STALE)
    return replace(why, code=Reason.SUSPECT_CHECK) if row.item in suspects else why


def _by_node(reasons: Iterable[Why]) -> dict[str, list[Why]]:
    held: dict[str, list[Why]] = defaultdict(list)
    for why in reasons:
        held[why.node].append(why)
    return held
