"""The ledger's chain: every entry's digest covers the entry and the digest before it.

The form of an entry is fixed here, for the portal, its verification and certificates alike. What JSON calls null is
left out before hashing, since the canonical form has no null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from checks.domain.canonical import Tag, digest

#: What the first entry names as the digest before it.
GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One act as it is hashed: *who* is the key of a person and *name* what they were called then, *cluster* a slug.

    All three are empty for what they do not apply to: the portal itself, a program with a token, the whole site.
    """

    seq: int
    previous: str
    at: datetime
    who: str
    name: str
    what: str
    cluster: str
    target: str
    reason: str
    data: Mapping[str, object]

    def as_json(self) -> dict[str, object]:
        """The entry in the form that is hashed and shown in certificates."""
        return {
            "seq": self.seq,
            "previous": self.previous,
            "at": self.at.astimezone(UTC).isoformat(timespec="microseconds"),
            "who": self.who,
            "name": self.name,
            "what": self.what,
            "cluster": self.cluster,
            "target": self.target,
            "reason": self.reason,
            "data": _without_null(self.data),
        }

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the entry."""
        return digest(Tag.LEDGER, self.as_json())


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain does not hold, and why, in one sentence."""

    seq: int
    why: str


def breaks(entries: Iterable[tuple[Entry, str]], *, after: int = 0, head: str = GENESIS) -> Iterator[Break]:
    """Every place where the chain of (entry, stored digest), in the order of their numbers, does not hold.

    *after* and *head* are number and digest of the entry before the first; by default the chain is whole.
    """
    for entry, stored in entries:
        if entry.seq != after + 1:
            yield Break(entry.seq, f"Entry {after + 1} is missing: the next one is {entry.seq}.")
        elif entry.previous != head:
            yield Break(entry.seq, f"Entry {entry.seq} does not follow the entry before it.")
        if entry.digest != stored:
            yield Break(entry.seq, f"Entry {entry.seq} was changed after it was written.")
        after, head = entry.seq, stored


def _without_null(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _without_null(held) for key, held in value.items() if held is not None}
    if isinstance(value, list | tuple):
        return [_without_null(held) for held in value if held is not None]
    return value
