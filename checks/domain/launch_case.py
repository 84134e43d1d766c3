"""The answer to a run's question once all that speaks against it is known: on its merits, or by an override."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from checks.domain.answers import Answer, Basis, LayerSigned, Why
from checks.domain.launch_facts import Launch
from checks.domain.looking import REASONS_SHOWN, decision_of, expires_at, suspected
from checks.domain.verdicts import Decision, Owner, Reason, Verdict


@dataclass(frozen=True, slots=True)
class AskedNode:
    """One asked node with all that speaks against it; ``cut_off`` rows were not read, some of them failing or none."""

    name: str
    reasons: list[Why]
    cut_off: int
    cut_off_fails: bool

    @property
    def decision(self) -> Decision:
        return decision_of(self.reasons, cut_off=self.cut_off, cut_off_fails=self.cut_off_fails)


@dataclass(frozen=True, slots=True)
class Case:
    """A question with everything that speaks against it: of the whole, and of each node."""

    launch: Launch
    whole: list[Why]
    nodes: list[AskedNode]
    basis: Basis
    signatures: tuple[LayerSigned, ...]
    ends: list[datetime]

    @property
    def reasons(self) -> list[Why]:
        """All reasons, those that close nothing included."""
        return [*self.whole, *(why for node in self.nodes for why in node.reasons)]

    @property
    def closing(self) -> list[Why]:
        return [why for why in self.reasons if why.closes]

    @property
    def cut_off(self) -> int:
        """How many rows were not read."""
        return sum(node.cut_off for node in self.nodes)

    @property
    def lacking(self) -> int:
        """How many nodes the pool lacks, even if all of them were ready."""
        return 0 if self.launch.nodes.named else max(self.launch.run.nodes_needed - len(self.nodes), 0)


@dataclass(frozen=True, slots=True)
class _Outcome:
    decision: Decision
    basis: Basis
    ready: tuple[str, ...]
    more: list[Why]
    ends: list[datetime]


def answer_of(case: Case, now: datetime) -> Answer:
    """The gate's answer to *case* at *now*."""
    launch, nodes = case.launch, case.nodes
    question, outcome = launch.question, _outcome(case, now)
    told = (suspected(why, launch.nodes.suspects) for why in [*case.reasons, *outcome.more])
    reasons, ready = sorted(told, key=lambda why: why.order), frozenset(outcome.ready)
    return Answer(
        decision=outcome.decision,
        purpose=question.purpose,
        cluster=question.cluster,
        run=question.run,
        catalogue_version=question.catalogue_version,
        evaluated_at=now,
        expires_at=expires_at(now, outcome.ends),
        asked=len(nodes) + len(question.unknown_nodes),
        ready_nodes=outcome.ready,
        not_ready_nodes=tuple(node.name for node in nodes if node.name not in ready),
        unknown_nodes=question.unknown_nodes,
        reasons=tuple(reasons[:REASONS_SHOWN]),
        reasons_total=len(reasons) + case.cut_off,
        maintenance=launch.maintenance,
        basis=outcome.basis,
        signatures=case.signatures,
        holds_until=min((end for end in outcome.ends if end >= now), default=None),
        nodes_waiting=_waiting(case, outcome.decision),
    )


def _waiting(case: Case, decision: Decision) -> int:
    """The nodes that it was to start on, healthy ones too: they wait together. None where it may start, or is over."""
    if decision is Decision.READY or any(why.code is Reason.RUN_OVER for why in case.whole):
        return 0
    return len(case.nodes) if case.launch.nodes.named else case.launch.run.nodes_needed


def _outcome(case: Case, now: datetime) -> _Outcome:
    """The decision on its own merits, or else by the run's override."""
    decisions = [node.decision for node in case.nodes]
    decision, more = _on_merits(case, decisions)
    ready = tuple(node.name for node, said in zip(case.nodes, decisions, strict=True) if said is Decision.READY)
    override = case.launch.override
    if decision is Decision.READY or override is None:
        return _Outcome(decision, case.basis, ready, more, case.ends)
    ended = override.ended(case.closing, cut_off=case.cut_off + case.lacking, pool=case.launch.run.pool, now=now)
    if ended is None:
        names = tuple(node.name for node in case.nodes)
        return _Outcome(Decision.READY, Basis.OVERRIDE, names, [], [*case.ends, override.until])
    more.append(Why(Reason.OVERRIDE_ENDED, Verdict.FAIL, value=ended, owner=Owner.USER))
    return _Outcome(decision, case.basis, ready, more, case.ends)


def _on_merits(case: Case, decisions: Sequence[Decision]) -> tuple[Decision, list[Why]]:
    """The decision without any override, and a reason that only counting brings up; *decisions* are the nodes'."""
    needed = case.launch.run.nodes_needed
    if case.launch.nodes.named:
        return _worst([decision_of(case.whole), *decisions]), []
    ready = decisions.count(Decision.READY)
    if ready >= needed or not case.nodes:
        return decision_of(case.whole), []
    certain = len(decisions) - decisions.count(Decision.NOT_READY) < needed
    verdict = Verdict.FAIL if certain else Verdict.UNKNOWN
    too_few = Why(Reason.TOO_FEW_NODES, verdict, value=ready, threshold=needed, owner=Owner.USER)
    return decision_of([*case.whole, too_few]), [too_few]


def _worst(decisions: Sequence[Decision]) -> Decision:
    if Decision.NOT_READY in decisions:
        return Decision.NOT_READY
    return Decision.UNKNOWN if Decision.UNKNOWN in decisions else Decision.READY
