"""A gate forced open: what exactly an override accepts, and whether it still serves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final, TypeAlias

from checks.domain.answers import Why
from checks.domain.canonical import canonical_bytes
from checks.domain.freshness import is_stale
from checks.domain.verdicts import Reason

#: (node uuid, or empty; item, or empty; subject, or the layer or cadence of a reason without item; code).
Blocker: TypeAlias = tuple[str, str, str, str]

#: Nobody can accept these: they leave open what would run where, or hide what stands in the way.
NEVER_ACCEPTED: Final = frozenset({
    Reason.RUN_REQUIRED, Reason.NO_NODES, Reason.UNKNOWN_NODE, Reason.NOT_IN_POOL, Reason.TOO_FEW_NODES,
    Reason.RUN_OVER, Reason.NOT_STARTED, Reason.REJUDGING, Reason.REPLAYED, Reason.MEASURING,
})  # fmt: skip


class Ended(StrEnum):
    """Why an override no longer serves."""

    TIME = "time"
    POOL = "pool"
    NEW_BLOCKER = "new_blocker"


@dataclass(frozen=True, slots=True)
class OverrideFacts:
    """One override that nobody took back: the blockers that it accepts, the pool (node uuids) that it was made for."""

    accepted: frozenset[Blocker]
    pool: frozenset[str]
    until: datetime

    def ended(self, closing: Iterable[Why], *, cut_off: int, pool: Mapping[str, str], now: datetime) -> Ended | None:
        """Why it does not open the gate past *closing*; None when it does. *pool* is host name -> node uuid now.

        *cut_off* rows were not read, and so cannot have been accepted.
        """
        if is_stale(self.until, now):
            return Ended.TIME
        if self.pool != frozenset(pool.values()):
            return Ended.POOL
        accepted = all(_is_acceptable(why, pool) and blocker_of(why, pool) in self.accepted for why in closing)
        return None if accepted and not cut_off else Ended.NEW_BLOCKER


def blockers_of(closing: Collection[Why], pool: Mapping[str, str]) -> tuple[Blocker, ...]:
    """What an override has to accept to open the gate now, each once; what nobody can accept is left out."""
    return tuple(dict.fromkeys(blocker_of(why, pool) for why in closing if _is_acceptable(why, pool)))


def name_of(blockers: Iterable[Blocker]) -> str:
    """One name (SHA-256, hex) for all of *blockers*, in whatever order: what a page showed is held to what is there."""
    return sha256(canonical_bytes(sorted(blockers))).hexdigest()


def blocker_of(why: Why, pool: Mapping[str, str]) -> Blocker:
    """The reason as an override stores it."""
    speaks_of = why.subject if why.item else why.layer or str(why.value or "")
    return pool.get(why.node, ""), why.item, speaks_of, why.code.value


def _is_acceptable(why: Why, pool: Mapping[str, str]) -> bool:
    return why.code not in NEVER_ACCEPTED and (not why.node or why.node in pool)
