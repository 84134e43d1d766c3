"""What this process has learnt for the gate, kept for exactly as long as the database says the same.

PostgreSQL names the state that a statement sees (``pg_current_snapshot``), and in equal snapshots all rows are equal:
no transaction has ended between the two. Every question asks for that name anew, and is answered from memory only where
it is the one that was read before. So nothing that was written outlives its writing, not by a moment: a token that was
revoked, a node that failed. What the clock changes by itself is held to the clock, each time.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from django.db import connection

_MOST: Final = 64
#: Nothing is kept for longer, though nobody may have written anything.
LONGEST: Final = timedelta(seconds=1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """Something that was worked out at ``read_at`` from what one snapshot showed; the clock changes it at ``until``."""

    what: T
    snapshot: str
    read_at: datetime
    until: datetime | None

    def holds_at(self, now: datetime) -> bool:
        """Whether the clock leaves it as it is; the caller compares the snapshot."""
        latest = self.read_at + LONGEST
        return self.read_at <= now <= (latest if self.until is None else min(latest, self.until))


@dataclass(slots=True)
class Memory(Generic[T]):
    """Answers to the last few questions. One question asked again costs no more room."""

    _kept: dict[Hashable, Kept[T]] = field(default_factory=dict)

    def find(self, question: Hashable, *, now: datetime) -> Kept[T] | None:
        """What was kept about *question*, where the clock allows it. Inside of a transaction nothing is: it sees its
        own writes, and the name of its snapshot does not tell.
        """
        kept = self._kept.get(question)
        return kept if kept is not None and kept.holds_at(now) and not connection.in_atomic_block else None

    def keep(self, question: Hashable, kept: Kept[T]) -> None:
        """Remember, in the place of what was known."""
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[question] = kept
