"""What the gate answers: the decision, why, for how long it holds, and what to do next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from checks.domain.canonical import Tag
from checks.domain.signoff import SignState
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import RANK, Cadence, Decision, Layer, Owner, Purpose, Reason, Verdict

#: Parts of an answer that move with the clock alone; everything else is what its ETag stands for.
CLOCK_PARTS = frozenset({"evaluated_at", "expires_at", "age_s", "ttl_s"})

#: Folds host names into one text; the caller knows the syntax of its scheduler.
Fold = Callable[[Iterable[str]], str]

_LAYERS = {layer.value: place for place, layer in enumerate(Layer)}


class Basis(StrEnum):
    """What an answer rests on."""

    CHECKS = "checks"
    SIGNED = "signed"
    SIGNED_AT_START = "signed-at-start"
    OVERRIDE = "override"


#: Reasons that are looked at last: a layer is signed once all else is well, and until then nobody can sign it.
_LAST = frozenset({
    Reason.UNSIGNED, Reason.HALF_SIGNED, Reason.OUTDATED, Reason.OUTDATED_NODE, Reason.EXPIRED, Reason.REVOKED,
    Reason.OVERRIDE_ENDED, Reason.TOO_FEW_NODES, Reason.WAIVED,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Why:
    """One reason why the gate is closed; what speaks of a whole node or question has no item."""

    code: Reason
    verdict: Verdict
    node: str = ""
    layer: str = ""
    item: str = ""
    subject: str = ""
    value: Scalar | None = None
    threshold: Threshold | None = None
    observed_at: datetime | None = None
    remedy: str = ""
    owner: Owner = Owner.PLATFORM
    cadence: Cadence | None = None

    @property
    def order(self) -> tuple[bool, int, int, str, str, str]:
        """What a signature waits for before signatures, worst first, then by layer, item, node and subject."""
        layer = _LAYERS.get(self.layer, -1)
        return self.code in _LAST, RANK[self.verdict], layer, self.item, self.node, self.subject

    @property
    def closes(self) -> bool:
        """Whether it closes the gate; what is waived is told, and closes nothing."""
        return self.verdict is not Verdict.WAIVED

    def as_json(self, now: datetime) -> dict[str, object]:
        """The reason as the API shows it at *now*; an age is never negative."""
        age = None if self.observed_at is None else max(int((now - self.observed_at).total_seconds()), 0)
        return {
            "code": self.code,
            "layer": self.layer,
            "item": self.item,
            "node": self.node,
            "subject": self.subject,
            "verdict": self.verdict,
            "value": self.value,
            "threshold": self.threshold,
            "age_s": age,
            "remedy": self.remedy,
            "owner": self.owner,
        }


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Whether a maintenance window is open, and until when."""

    active: bool = False
    until: datetime | None = None


NO_MAINTENANCE = Maintenance()


@dataclass(frozen=True, slots=True)
class LayerSigned:
    """What the signatures of one layer amount to, and who still has to sign."""

    layer: Layer
    state: SignState
    missing_roles: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The layer as the API shows it."""
        return {"layer": self.layer, "state": self.state, "missing_roles": list(self.missing_roles)}


@dataclass(frozen=True, slots=True)
class Answer:
    """The gate's answer to one question. ``reasons`` are capped, ``reasons_total`` says how many there are.

    A *ready* answer may have reasons too: what is waived, what an override accepts, what stops nodes of the pool that
    are not needed.
    ``nodes_waiting`` may not start because of it: those that are not ready, or all that a run needs.
    ``holds_until`` is the last moment before the clock alone changes anything in it but its own times and ages.
    """

    decision: Decision
    purpose: Purpose
    cluster: str
    run: str | None
    catalogue_version: str
    evaluated_at: datetime
    expires_at: datetime
    asked: int
    ready_nodes: tuple[str, ...]
    not_ready_nodes: tuple[str, ...]
    unknown_nodes: tuple[str, ...]
    reasons: tuple[Why, ...]
    reasons_total: int
    maintenance: Maintenance = NO_MAINTENANCE
    basis: Basis = Basis.CHECKS
    signatures: tuple[LayerSigned, ...] = ()
    holds_until: datetime | None = None
    health_serves_as_launch: bool = False
    nodes_waiting: int = 0

    @property
    def ready(self) -> bool:
        """Whether the job may start. Only the decision *ready* says so."""
        return self.decision is Decision.READY

    @property
    def ttl_s(self) -> int:
        """For how many whole seconds a client may keep the answer."""
        return max(int((self.expires_at - self.evaluated_at).total_seconds()), 0)

    @property
    def next_action(self) -> str:
        """What to do now, in one sentence."""
        if not self.ready:
            return _next(self.reasons[0])
        return _LAUNCH if self.health_serves_as_launch and self.purpose is Purpose.HEALTH else _NEXT_READY[self.purpose]

    def as_json(self, fold: Fold, cost_of_waiting: Mapping[str, object] | None = None) -> dict[str, object]:
        """The body of the API's answer; *fold* writes a list of host names as one text.

        *cost_of_waiting* is what the nodes that wait cost (`checks.domain.cost.waiting`); None: nothing waits.
        """
        return {
            "decision": self.decision,
            "ready": self.ready,
            "purpose": self.purpose,
            "basis": self.basis,
            "cluster": self.cluster,
            "run": self.run,
            "catalog_version": self.catalogue_version,
            "evaluated_at": self.evaluated_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "ttl_s": self.ttl_s,
            "nodes": self._nodes(fold),
            "reasons": [why.as_json(self.evaluated_at) for why in self.reasons],
            "reasons_total": self.reasons_total,
            "signatures": [one.as_json() for one in self.signatures],
            "maintenance": {
                "active": self.maintenance.active,
                "until": self.maintenance.until and self.maintenance.until.isoformat(),
            },
            "next_action": self.next_action,
            "cost_of_waiting": cost_of_waiting,
        }

    def _nodes(self, fold: Fold) -> dict[str, object]:
        """How many nodes there are of which kind; for a run also which are ready, so that it may start on those."""
        nodes: dict[str, object] = {
            "asked": self.asked,
            "ready": len(self.ready_nodes),
            "not_ready_nodes": fold(self.not_ready_nodes),
            "unknown_nodes": fold(self.unknown_nodes),
        }
        return nodes if self.purpose is Purpose.HEALTH else nodes | {"ready_nodes": fold(self.ready_nodes)}


def etag(body: object) -> str:
    """What an answer's ETag is: the hash of its *body* without what moves with the clock alone."""
    still = json.dumps(_still(body), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(Tag.ANSWER.encode() + b"\0" + still.encode()).hexdigest()


def _still(part: object) -> object:
    if isinstance(part, dict):
        return {key: _still(held) for key, held in part.items() if key not in CLOCK_PARTS and held is not None}
    return [_still(held) for held in part] if isinstance(part, list | tuple) else part


_LAUNCH = "Start the job on these nodes: in this cluster their health is enough."
_NEXT_READY = {
    Purpose.HEALTH: "The nodes are healthy; before a run starts on them, name it and ask for purpose=start.",
    Purpose.START: "Start the run on these nodes.",
    Purpose.RESTART: "Start the run again on these nodes.",
}
_NEXT = {
    Reason.RUN_REQUIRED: "Name the run that is to start, or ask for purpose=health.",
    Reason.NO_NODES: "Name at least one node, or enrol the nodes of this cluster first.",
    Reason.UNKNOWN_NODE: "Enrol {node} in this cluster, or correct its name in the question.",
    Reason.STALE: "Find out why the agent on {node} no longer reports; run `readiness-agent doctor` there.",
    Reason.NEVER_MEASURED: "Start the agent on {node}, or wait for its first full report.",
    Reason.REJUDGING: "Ask again in a few seconds; {node} is being judged by the rules now in force.",
    Reason.HARDWARE_CHANGED: "Confirm the changed hardware of {node}, or put the old part back.",
    Reason.BOOT_CONFLICT: "Find the second machine that reports as {node}, and enrol it under its own name.",
    Reason.REPLAYED: "Measure {node} itself; a replayed capture starts no run.",
    Reason.MEASURING: "Wait until {node} has been measured, at {value} at the latest, or take other nodes.",
    Reason.NOTHING_PROVED: "Give {node} the hardware profile that fits it; nothing of a whole layer was proved there.",
    Reason.NOT_UNIFORM: "Bring {item} on {node} to the value that the other nodes have.",
    Reason.NOT_LOADED: "Put load on {subject} of {node} for five minutes, for example with gpu-burn.",
    Reason.SUSPECT_CHECK: "Look at {item} itself before any node: it failed on many nodes at once.",
    Reason.UNSETTLED: "Wait for the next reports: {item} of {place} must say the same several times in a row.",
    Reason.UNSIGNED: "Have {layer} signed; on the run's page stands by whom.",
    Reason.HALF_SIGNED: "Have {layer} signed by the role that is missing.",
    Reason.OUTDATED: "Look at what changed in {layer} since it was signed, and sign it again in all its roles.",
    Reason.OUTDATED_NODE: "Leave {node} out, or have {layer} signed again: what was signed of this node changed.",
    Reason.EXPIRED: "Have {layer} signed again in all its roles: a signature has ended.",
    Reason.REVOKED: "Read why a signature of {layer} was revoked, and sign again in all its roles.",
    Reason.WAIVED: "Nothing is to be done before the waiver of {item} ends.",
    Reason.OVERRIDE_ENDED: "Cure what is new, or have the gate forced open anew by a lead or an administrator.",
    Reason.NOT_IN_POOL: "Take nodes of the run's pool; with {node} in the pool all layers have to be signed again.",
    Reason.TOO_FEW_NODES: "Cure nodes of the pool, or add some to it and have all layers signed again.",
    Reason.RUN_OVER: "Clone the run: one that has ended does not start again.",
    Reason.NOT_STARTED: "Ask for purpose=start, and tell the portal when the run has started.",
    Reason.RESTART_OVER: "Ask for purpose=start: the signers agreed to restarts until a time that has passed.",
    Reason.IDENTITY_CHANGED: "Put back what was signed for {item} of {place}, or have its layer signed again.",
}
_NEXT_ROW = "Cure {item} on {place}, then measure again with `readiness-agent check {item}`."


def _next(why: Why) -> str:
    return _NEXT.get(why.code, _NEXT_ROW).format(
        node=why.node or "the run",
        value=why.value,
        item=why.item or "an item",
        layer=f"the {why.layer} layer" if why.layer else "the run",
        subject=why.subject or "the node",
        place=why.node or why.subject or "the run",
    )
