"""What the gate answers: may a job start on these nodes, now?

Two statements, the first of which also authenticates (``gate_context``) and shows whether the second would bring what
it brought before (``gate_memory``); a process that has not compiled the rules in force yet needs more, once. A run's
question costs the same two, and one more where a restart has to say what changed (``run_gate``). Nothing
that is stored says *ready*: summaries and bad rows are inputs, the clock is applied to them on every question, and so a
portal whose workers are dead answers *unknown*, never an old *ready*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from checks.domain.answers import Why
from checks.domain.breaker import drain_allowed
from checks.domain.readiness import Answer, Question, answer_at, decide
from checks.domain.verdicts import Owner, Purpose, Verdict
from checks.selectors.gate_context import GateContext, NoSuchCluster, context_of_person
from checks.selectors.gate_memory import Kept, Memory
from checks.selectors.gate_rows import GateRows, bad_rows_of, clean_of, odd_of, read_rows, rules_of, summaries_of
from checks.selectors.run_gate import ask_run, pool_names

_memory: Memory[tuple[Answer, GateRows]] = Memory()


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """The answer about one node. ``drain_allowed``: a scheduler may take it out of service for what failed."""

    answer: Answer
    drain_allowed: bool


def answer_gate(
    *, user: Any, cluster: str, nodes: Sequence[str] | None, purpose: Purpose | None, run: str | None, now: datetime
) -> Answer:
    """The gate's answer to a signed-in person: the very one that a scheduler gets.

    Raises:
        NoSuchCluster: there is no such cluster, or the person has no role in it.
        NoSuchRun: *run* is named, and the cluster has none of that name.
    """
    context = context_of_person(user=user, cluster=cluster, now=now)
    if context is None:
        raise NoSuchCluster(cluster)
    return answer_in(context, nodes=nodes, purpose=purpose, run=run, now=now)


def answer_in(
    context: GateContext, *, nodes: Sequence[str] | None, purpose: Purpose | None, run: str | None, now: datetime
) -> Answer:
    """The answer about *nodes* (None: every node of the cluster that is not retired), once the asker is known.

    Raises:
        NoSuchRun: *run* is named, and the cluster has none of that name.
    """
    return _ask(context, _question(context, nodes, purpose, run), now)[0]


def answer_of_node(
    context: GateContext, *, node: str, purpose: Purpose | None, run: str | None, now: datetime
) -> NodeAnswer:
    """The answer about one node, and whether it may be drained: the circuit breaker and the sweep have a say in that.

    Raises:
        NoSuchRun: *run* is named, and the cluster has none of that name.
    """
    answer, rows = _ask(context, _question(context, (node,), purpose, run), now)
    failing = {(why.item, why.subject) for why in answer.reasons if _is_broken_hardware(why)}
    since = min((row.since for row in rows.bad or () if (row.item, row.subject) in failing), default=None)
    tripped = bool(context.suspect_items)
    return NodeAnswer(answer, drain_allowed(tripped=tripped, swept_at=context.sweep_at, failing_since=since, now=now))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as it is answered; ``nodes`` is None for all that the run, or else the cluster, has."""

    purpose: Purpose
    run: str
    nodes: tuple[str, ...] | None


def _question(context: GateContext, nodes: Sequence[str] | None, purpose: Purpose | None, run: str | None) -> _Asked:
    """Who names a run asks about its start, unless they say otherwise; without nodes it is its pool that is asked."""
    names = None if nodes is None else _names(tuple(nodes))
    if not run:
        return _Asked(purpose or Purpose.HEALTH, "", names)
    if purpose is Purpose.HEALTH:
        pool = pool_names(context, run)
        return _Asked(purpose, run, pool if names is None else names)
    return _Asked(purpose or Purpose.START, run, names)


def _ask(context: GateContext, asked: _Asked, now: datetime) -> tuple[Answer, GateRows]:
    question = (context.cluster.id, context.cluster.health_serves_as_launch, asked, context.suspect_items)
    kept = _memory.find(question, now=now)
    if kept is not None and kept.snapshot == context.snapshot:
        answer, rows = kept.what
        return answer_at(answer, now), rows
    answer, rows, of_one_moment = _ask_database(context, asked, now)
    # What is shown of a proof under load ends by itself.
    if of_one_moment and not any("load" in row.value for row in rows.bad or ()):
        _memory.keep(question, Kept((answer, rows), rows.snapshot, now, _same_until(answer, rows)))
    return answer, rows


def _same_until(answer: Answer, rows: GateRows) -> datetime | None:
    """The last moment before the clock alone changes what was read, or decided."""
    return min((end for end in (answer.holds_until, rows.same_until) if end is not None), default=None)


def _ask_database(context: GateContext, asked: _Asked, now: datetime) -> tuple[Answer, GateRows, bool]:
    """The answer, the rows behind it, and whether all of them were read in one state of the database."""
    if asked.run and asked.purpose is not Purpose.HEALTH:
        found = ask_run(context, run=asked.run, nodes=asked.nodes, purpose=asked.purpose, now=now)
        return found.answer(), found.rows, found.of_one_moment
    answer, rows = _ask_nodes(context, asked, now)
    return answer, rows, True


def _ask_nodes(context: GateContext, asked: _Asked, now: datetime) -> tuple[Answer, GateRows]:
    cluster, rules = context.cluster, rules_of(context.cluster)
    rows = read_rows(cluster, asked.nodes, purpose=asked.purpose, rules=rules, now=now)
    odd = [*odd_of(rows.compared or (), rules)]
    maintenance, changes = context.maintenance(now)
    bad = [*bad_rows_of(rows, rules, interval=timedelta(seconds=cluster.interval_s), now=now)]
    answer = decide(
        Question(
            purpose=asked.purpose,
            cluster=cluster.slug,
            run=asked.run or None,
            catalogue_version=context.catalog_version,
            unknown_nodes=tuple(rows.missing or ()),
            health_serves_as_launch=cluster.health_serves_as_launch,
        ),
        [*summaries_of(rows, cluster.judged_under, odd=odd, purpose=asked.purpose)],
        bad,
        now=now,
        clean=clean_of(rows, odd=odd),
        compared=odd,
        suspects=context.suspect_items,
        ends=[*changes, *(row.until for row in bad if row.until is not None)],
        maintenance=maintenance,
    )
    return answer, rows


@lru_cache(maxsize=256)
def _names(nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Each node once, as host names are stored; schedulers ask about the same nodes again and again."""
    return tuple(dict.fromkeys(name.lower() for name in nodes))


def _is_broken_hardware(why: Why) -> bool:
    return why.verdict is Verdict.FAIL and why.owner is Owner.HARDWARE
