"""The ledger's chain: every entry's digest covers the entry and the digest before it.

The form of an entry is fixed here, for the portal, its verification and certificates alike. What JSON calls null is
left out before hashing, since the canonical form has no null; keys are written in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from checks.domain.canonical import Tag, canonical_bytes, digest

#: What the first entry names as the digest before it.
GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One act as it is hashed: *who* is the key of a person and *name* what they were called then, *cluster* a slug.

    All three are empty for what they do not apply to: the portal itself, a program with a token, the whole site.
    *cluster_number* is the cluster's key, which tells a stranger nothing.
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
    cluster_number: str = ""

    @property
    def act(self) -> dict[str, object]:
        """What was done, in the form that is hashed by itself: others may follow the chain without reading it."""
        return {
            "at": _moment(self.at),
            "who": self.who,
            "name": self.name,
            "what": self.what,
            "cluster": self.cluster,
            "target": self.target,
            "reason": self.reason,
            "data": _without_null(self.data),
        }

    @property
    def place(self) -> dict[str, object]:
        """Where the entry stands in the chain, and whose it is."""
        return {"seq": self.seq, "previous": self.previous, "cluster_number": self.cluster_number}

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the entry: of its place and of the digest of its act."""
        return digest(Tag.LEDGER, self.closed())

    def opened(self) -> dict[str, object]:
        """The entry as a certificate of its own cluster shows it."""
        return self.place | self.act

    def closed(self) -> dict[str, object]:
        """The entry as a certificate of another cluster shows it: enough to follow the chain, and no word of it."""
        return self.place | {"act": digest(Tag.ACT, self.act)}


@dataclass(frozen=True, slots=True)
class Anchor:
    """The head of the chain at one time, as it is signed: number and digest of the newest entry, and the key's name.

    *signature* is Ed25519 over ``signed_bytes``, in hex. *place* is where this copy was found; it is not signed.
    """

    seq: int
    head: str
    at: datetime
    key_id: str
    signature: str = ""
    place: str = ""

    @property
    def signed_bytes(self) -> bytes:
        """The anchor in canonical form, under its tag."""
        said = {"seq": self.seq, "head": self.head, "at": _moment(self.at), "key_id": self.key_id}
        return Tag.ANCHOR.encode() + b"\0" + canonical_bytes(said)

    def as_json(self) -> dict[str, object]:
        """What is told to places outside, and stands in certificates."""
        return {
            "format": Tag.ANCHOR.value, "seq": self.seq, "head": self.head, "at": _moment(self.at),
            "key_id": self.key_id, "signature": self.signature,
        }  # fmt: skip

    @classmethod
    def read(cls, said: object, *, place: str) -> Anchor:
        """The anchor that `as_json` wrote.

        Raises:
            ValueError: *said* has another form.
        """
        if not isinstance(said, Mapping) or said.get("format") != Tag.ANCHOR.value:
            raise ValueError("this is no anchor of a ledger")
        try:
            at = datetime.fromisoformat(str(said["at"])).astimezone(UTC)
            key_id, signature = str(said["key_id"]), str(said["signature"])
            return cls(int(said["seq"]), str(said["head"]), at, key_id, signature, place)
        except (KeyError, TypeError) as error:
            raise ValueError(f"this anchor is not whole: {error}") from error


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
        if not _hashes_to(entry, stored):
            yield Break(entry.seq, f"Entry {entry.seq} was changed after it was written.")
        after, head = entry.seq, stored


def _hashes_to(entry: Entry, stored: str) -> bool:
    try:
        return entry.digest == stored
    except ValueError:  # no canonical form: nobody hashed that
        return False


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _without_null(value: object) -> object:
    if isinstance(value, Mapping):
        return {_ascii(key): _without_null(held) for key, held in value.items() if held is not None}
    if isinstance(value, list | tuple):
        return [_without_null(held) for held in value if held is not None]
    return value


def _ascii(key: object) -> str:
    return str(key).encode("ascii", "backslashreplace").decode("ascii")
