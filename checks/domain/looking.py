"""What one node, or one row, says to a question of the gate: what `readiness` and `launch` have in common.

Freshness is the clock's: a node whose evidence of a cadence has ended is *unknown* (`stale`), even where a dead worker
noticed nothing, and a row that failed on ended evidence is stale, and no longer a failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from checks.domain.answers import Why
from checks.domain.freshness import is_stale
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import Cadence, Decision, Layer, Owner, Purpose, Reason, Verdict

#: The most reasons in one answer, and the longest that one may be kept.
REASONS_SHOWN = 100
LONGEST_TTL = timedelta(seconds=300)

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. Nodes that nobody enrolled stand in ``unknown_nodes``; the others come as summaries.

    ``health_serves_as_launch``: the cluster lets jobs start on sound nodes, without a run and its signatures.
    """

    purpose: Purpose
    cluster: str
    run: str | None = None
    catalogue_version: str = ""
    unknown_nodes: tuple[str, ...] = ()
    health_serves_as_launch: bool = False

    @property
    def lacks_run(self) -> bool:
        """Whether the question is about the start of a run, and names none."""
        return self.purpose is not Purpose.HEALTH and not self.run


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """What is kept of one enrolled node for this question: counts and limits, no verdict.

    ``judged_under`` names the rules that it was judged by, ``rules`` those in force for it. ``expected`` says of which
    cadences it must have fresh evidence, ``until`` when that ends (absent: it never came). ``bad`` rows close the
    question asked, ``failed`` of them with *fail*. Until ``measuring_until`` its agent measures what disturbs a job.
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
    measuring_until: datetime | None = None

    @property
    def ends(self) -> Iterator[datetime]:
        """Last moments before the clock changes what is said of it."""
        yield from self.until.values()
        if self.measuring_until is not None:
            yield self.measuring_until - _MOMENT


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row that closes the question; ``until`` is the last moment at which its evidence counts.

    ``identifies``: its item has values that say what a node is, such as a commit or a driver.
    """

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
    identifies: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """One node as the question sees it; ``total`` counts reasons that were cut off too."""

    decision: Decision
    reasons: list[Why]
    total: int


def look_at(summary: NodeSummary, question: Question, rows: list[Why], now: datetime) -> Seen:
    """What a node with these bad *rows* says."""
    if is_rejudging(summary):
        whole = [rejudging(summary), *measuring(summary, now)]
        return Seen(decision_of(whole), whole, len(whole))
    node = [*of_node(summary, question.purpose, now)]
    cut_off = rows_cut_off(summary, rows)
    if not (node or rows or cut_off):
        node = [*nothing_proved(summary)]
    decision = decision_of([*node, *rows], cut_off=cut_off, cut_off_fails=bool(summary.failed and not node))
    return Seen(decision, node + rows, len(node) + len(rows) + cut_off)


def decision_of(reasons: Collection[Why], *, cut_off: int = 0, cut_off_fails: bool = False) -> Decision:
    """*not_ready* as soon as anything fails, else *unknown* as soon as anything closes, else *ready*."""
    if not reasons and not cut_off:
        return Decision.READY
    closing = [why for why in reasons if why.closes]
    if any(why.verdict is Verdict.FAIL for why in closing) or (cut_off and cut_off_fails):
        return Decision.NOT_READY
    return Decision.UNKNOWN if closing or cut_off else Decision.READY


def rows_cut_off(summary: NodeSummary, rows: Iterable[Why]) -> int:
    """How many of a node's bad rows were not read: the counts of its summary speak for them."""
    return max(summary.bad - len([why for why in rows if why.cadence]), 0)


def is_rejudging(summary: NodeSummary) -> bool:
    """Whether the node was judged by other rules than those in force, so that none of its rows is believed."""
    return summary.judged_under != summary.rules


def rejudging(summary: NodeSummary) -> Why:
    """The one reason of a node that is being judged again."""
    return Why(Reason.REJUDGING, Verdict.UNKNOWN, summary.node)


def measuring(summary: NodeSummary, now: datetime) -> Iterator[Why]:
    """The reason of a node that its agent has taken to measure what disturbs a job; over in the second it ends."""
    until = summary.measuring_until
    if until is not None and now < until:
        yield Why(Reason.MEASURING, Verdict.FAIL, summary.node, value=until.isoformat(timespec="seconds"))


def of_node(summary: NodeSummary, purpose: Purpose, now: datetime) -> Iterator[Why]:
    """Reasons that speak of a whole node."""
    yield from measuring(summary, now)
    if summary.trouble:
        yield Why(summary.trouble, Verdict.UNKNOWN, summary.node, owner=Owner.HARDWARE)
    if summary.replayed and purpose is not Purpose.HEALTH:
        yield Why(Reason.REPLAYED, Verdict.UNKNOWN, summary.node)
    for cadence in sorted(summary.expected | summary.until.keys()):
        until = summary.until.get(cadence)
        if until is None:
            yield Why(Reason.NEVER_MEASURED, Verdict.UNKNOWN, summary.node, value=cadence)
        elif is_stale(until, now):
            yield Why(Reason.STALE, Verdict.STALE, summary.node, value=cadence)


def nothing_proved(summary: NodeSummary) -> Iterator[Why]:
    """A node to which nothing of a layer applies proves nothing there."""
    for layer, passes in ((Layer.PHYSICAL, summary.pass_physical), (Layer.SYSTEM, summary.pass_system)):
        if passes < 1:
            yield Why(Reason.NOTHING_PROVED, Verdict.UNKNOWN, summary.node, layer)


def why_of_row(row: BadRow, now: datetime) -> Why:
    """A row as a reason."""
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
    return replace(why, code=Reason.STALE, verdict=Verdict.STALE) if is_stale(row.until, now) else why


def suspected(why: Why, suspects: Collection[str]) -> Why:
    """The reason as it is told while its item is under a circuit breaker: it decides as before."""
    if why.item not in suspects or why.verdict in (Verdict.STALE, Verdict.WAIVED) or why.cadence is None:
        return why
    return replace(why, code=Reason.SUSPECT_CHECK)


def of_nodes(question: Question, *, found: int) -> Iterator[Why]:
    """Reasons that speak of the nodes asked; *found* of them are enrolled."""
    if not found and not question.unknown_nodes:
        yield Why(Reason.NO_NODES, Verdict.UNKNOWN, owner=Owner.USER)
    for name in question.unknown_nodes:
        yield Why(Reason.UNKNOWN_NODE, Verdict.UNKNOWN, name)


def by_node(reasons: Iterable[Why]) -> dict[str, list[Why]]:
    """Reasons under their node."""
    held: dict[str, list[Why]] = defaultdict(list)
    for why in reasons:
        held[why.node].append(why)
    return held


def expires_at(now: datetime, ends: Iterable[datetime]) -> datetime:
    """Until when an answer holds: the next end of evidence, signature or window, and at most 300 s."""
    return min([now + LONGEST_TTL, *(end for end in ends if end >= now)])
