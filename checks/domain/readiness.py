"""The gate's decision, from summaries and a few bad rows: nothing is measured or judged here, and the clock is given.

A node is *not_ready* when a fresh row fails; else *unknown* when anything is unknown, stale or unproved; else *ready*.
Several nodes are *not_ready* as soon as one is, else *unknown* as soon as one is or is not known at all, else *ready*.
Both block. Beyond the rows:

- no node asked is *unknown*; a start or restart without a run is *unknown*, always; one with a run is *unknown* while
  no signature is known for it: that question is `checks.domain.launch`'s;
- a node judged by other rules than those in force is *unknown* (`rejudging`), and none of its rows is believed;
- a node whose evidence of a cadence has ended is *unknown* (`stale`), even where a dead worker noticed nothing: the
  clock is applied here. A row that failed on ended evidence is stale, and no longer a failure;
- a node that its agent has taken to measure what disturbs a job is *not_ready* (`measuring`) until the end it named;
- every asked node needs at least one *pass* in the physical and one in the system layer: a node to which nothing
  applies proves nothing (`nothing_proved`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from checks.domain.answers import NO_MAINTENANCE, Answer, Maintenance, Why, etag
from checks.domain.looking import (
    REASONS_SHOWN,
    BadRow,
    NodeSummary,
    Question,
    Seen,
    by_node,
    expires_at,
    look_at,
    of_nodes,
    suspected,
    why_of_row,
)
from checks.domain.verdicts import Decision, Owner, Purpose, Reason, Verdict

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
    rows = by_node([*(suspected(why_of_row(row, now), suspects) for row in bad_rows), *compared])
    look = _look_nowhere if question.lacks_run else look_at
    seen = {one.node: look(one, question, rows.get(one.node, []), now) for one in summaries}
    whole = [*_of_question(question, found=len(summaries) + len(clean.nodes))]
    reasons = sorted([*whole, *(why for node in seen.values() for why in node.reasons)], key=lambda why: why.order)
    known_ends = [*ends, *_ends_of(clean, summaries)]
    ready, not_ready = _by_readiness(seen)
    return Answer(
        decision=_overall(whole, [Decision.READY] * bool(clean.nodes) + [node.decision for node in seen.values()]),
        purpose=question.purpose,
        cluster=question.cluster,
        run=question.run,
        catalogue_version=question.catalogue_version,
        evaluated_at=now,
        expires_at=expires_at(now, known_ends),
        asked=len(clean.nodes) + len(summaries) + len(question.unknown_nodes),
        ready_nodes=(*clean.nodes, *ready),
        not_ready_nodes=tuple(not_ready),
        unknown_nodes=question.unknown_nodes,
        reasons=tuple(reasons[:REASONS_SHOWN]),
        reasons_total=len(whole) + sum(node.total for node in seen.values()),
        maintenance=maintenance,
        holds_until=min((end for end in known_ends if end >= now), default=None),
        health_serves_as_launch=question.health_serves_as_launch,
        nodes_waiting=len(not_ready),
    )


def answer_at(answer: Answer, now: datetime) -> Answer:
    """The same *answer* at a later moment, up to its ``holds_until``: what `decide` would say again then."""
    ends = () if answer.holds_until is None else (answer.holds_until,)
    return replace(answer, evaluated_at=now, expires_at=expires_at(now, ends))


def _by_readiness(seen: Mapping[str, Seen]) -> tuple[list[str], list[str]]:
    """Host names of the nodes that are ready, and of those that are not."""
    ready = [name for name, node in seen.items() if node.decision is Decision.READY]
    return ready, [name for name, node in seen.items() if node.decision is not Decision.READY]


def _ends_of(clean: Clean, summaries: Iterable[NodeSummary]) -> Iterator[datetime]:
    """When evidence ends, of every node."""
    if clean.until is not None:
        yield clean.until
    for summary in summaries:
        yield from summary.ends


def _look_nowhere(summary: NodeSummary, question: Question, rows: list[Why], now: datetime) -> Seen:
    """What a question without its run makes of any node: nothing about the node matters yet."""
    return Seen(Decision.UNKNOWN, [], 0)


def _of_question(question: Question, *, found: int) -> Iterator[Why]:
    """Reasons that speak of the question itself; *found* nodes of it are enrolled."""
    if question.purpose is not Purpose.HEALTH:
        yield Why(Reason.UNSIGNED if question.run else Reason.RUN_REQUIRED, Verdict.UNKNOWN, owner=Owner.USER)
    yield from of_nodes(question, found=found)


def _overall(whole: list[Why], decisions: Collection[Decision]) -> Decision:
    if Decision.NOT_READY in decisions:
        return Decision.NOT_READY
    return Decision.UNKNOWN if whole or Decision.UNKNOWN in decisions else Decision.READY
