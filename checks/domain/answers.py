"""What the gate answers: the decision, why, for how long it holds, and what to do next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from checks.domain.canonical import Tag
from checks.domain.units import Scalar, Threshold
from checks.domain.verdicts import RANK, Cadence, Decision, Layer, Owner, Purpose, Reason, Verdict

#: Parts of an answer that move with the clock alone; everything else is what its ETag stands for.
CLOCK_PARTS = frozenset({"evaluated_at", "expires_at", "age_s", "ttl_s"})

#: Folds host names into one text; the caller knows the syntax of its scheduler.
Fold = Callable[[Iterable[str]], str]

_LAYERS = {layer.value: place for place, layer in enumerate(Layer)}


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
    def order(self) -> tuple[int, int, str, str, str]:
        """Worst first, then by layer, item, node and subject."""
        return RANK[self.verdict], _LAYERS.get(self.layer, -1), self.item, self.node, self.subject

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
class Answer:
    """The gate's answer to one question. ``reasons`` are capped, ``reasons_total`` says how many there are.

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
    holds_until: datetime | None = None

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
        return _NEXT_READY[self.purpose] if not self.reasons else _next(self.reasons[0])

    def as_json(self, fold: Fold) -> dict[str, object]:
        """The body of the API's answer; *fold* writes a list of host names as one text."""
        return {
            "decision": self.decision,
            "ready": self.ready,
            "purpose": self.purpose,
            "basis": "checks",
            "cluster": self.cluster,
            "run": self.run,
            "catalog_version": self.catalogue_version,
            "evaluated_at": self.evaluated_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "ttl_s": self.ttl_s,
            "nodes": {
                "asked": self.asked,
                "ready": len(self.ready_nodes),
                "not_ready_nodes": fold(self.not_ready_nodes),
                "unknown_nodes": fold(self.unknown_nodes),
            },
            "reasons": [why.as_json(self.evaluated_at) for why in self.reasons],
            "reasons_total": self.reasons_total,
            "signatures": [],
            "maintenance": {
                "active": self.maintenance.active,
                "until": self.maintenance.until and self.maintenance.until.isoformat(),
            },
            "next_action": self.next_action,
        }


def etag(body: object) -> str:
    """What an answer's ETag is: the hash of its *body* without what moves with the clock alone."""
    still = json.dumps(_still(body), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(Tag.ANSWER.encode() + b"\0" + still.encode()).hexdigest()


def _still(part: object) -> object:
    if isinstance(part, dict):
        return {key: _still(held) for key, held in part.items() if key not in CLOCK_PARTS and held is not None}
    return [_still(held) for held in part] if isinstance(part, list | tuple) else part


_NEXT_READY = {
    Purpose.HEALTH: "The nodes are healthy; nothing is to be done.",
    Purpose.START: "Start the run on these nodes.",
    Purpose.RESTART: "Start the run again on these nodes.",
}
_NEXT = {
    Reason.RUN_REQUIRED: "Name the run that is to start, or ask for purpose=health.",
    Reason.NO_NODES: "Name at least one node, or enrol the nodes of this cluster first.",
    Reason.UNKNOWN_NODE: "Enrol {node} in this cluster, or correct its name in the question.",
    Reason.UNSIGNED: "Have the run signed first.",
    Reason.STALE: "Find out why the agent on {node} no longer reports; run `readiness-agent doctor` there.",
    Reason.NEVER_MEASURED: "Start the agent on {node}, or wait for its first full report.",
    Reason.REJUDGING: "Ask again in a few seconds; {node} is being judged by the rules now in force.",
    Reason.HARDWARE_CHANGED: "Confirm the changed hardware of {node}, or put the old part back.",
    Reason.BOOT_CONFLICT: "Find the second machine that reports as {node}, and enrol it under its own name.",
    Reason.REPLAYED: "Measure {node} itself; a replayed capture starts no run.",
    Reason.NOTHING_PROVED: "Give {node} the hardware profile that fits it; nothing of a whole layer was proved there.",
    Reason.NOT_UNIFORM: "Bring {item} on {node} to the value that the other nodes have.",
    Reason.NOT_LOADED: "Put load on {subject} of {node} for five minutes, for example with gpu-burn.",
    Reason.SUSPECT_CHECK: "Look at {item} itself before any node: it failed on many nodes at once.",
}
_NEXT_ROW = "Cure {item} on {node}, then measure again with `readiness-agent check {item}`."


def _next(why: Why) -> str:
    return _NEXT.get(why.code, _NEXT_ROW).format(node=why.node, item=why.item, subject=why.subject or "the node")
