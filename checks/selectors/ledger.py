"""The chain as it is read: pages of entries, and whether it still is what was written and anchored."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import chain, islice
from typing import TypeVar

from checks.domain.ledger import Anchor, Entry, breaks
from checks.models import Cluster, LedgerAnchor, LedgerEntry
from checks.selectors.anchors import KeyRing, Standing, Unreadable

#: What a restore writes, and how its data names the newest anchor that was found outside.
RESTORED = "restored"
BATCH = 1000
# So many are told; a chain that is wrong all over must not fill the memory.
MOST_TOLD = 20
_COLUMNS = (
    "seq",
    "previous",
    "digest",
    "at",
    "who_id",
    "name",
    "what",
    "cluster_id",
    "cluster__slug",
    "target",
    "reason",
    "data",
)
T = TypeVar("T")


class Outcome(StrEnum):
    """What a look at the whole chain found. ``unclear``: nothing is wrong, and nothing proves that all is well."""

    OK = "ok"
    BROKEN = "broken"
    ROLLED_BACK = "back"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Restored:
    """A restore that a person told: entry *seq* says that *lost* entries went, between *kept* and *anchor*'s number."""

    seq: int
    at: datetime
    kept: int
    lost: int
    reason: str
    anchor: Anchor | None

    def explains(self, anchor: Anchor) -> bool:
        """Whether *anchor* may be of the entries that this restore lost."""
        return self.anchor is not None and self.kept < anchor.seq <= self.anchor.seq and anchor.at <= self.at


@dataclass(slots=True)
class _Told:
    """The first sentences, and how many more there were."""

    first: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, sentence: str) -> None:
        if len(self.first) < MOST_TOLD:
            self.first.append(sentence)
        else:
            self.more += 1

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.first, *([f"And {self.more} more."] if self.more else []))


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at the whole chain found at *at*.

    *breaks* and *unclear* are sentences, the first ones of each. *lost* entries are known to an anchor, lie after the
    end of the chain, and no restore explains them. *anchors* is how many genuine ones the chain was held against.
    """

    at: datetime
    entries: int
    last: int
    anchors: int
    breaks: tuple[str, ...]
    lost: int
    unclear: tuple[str, ...]
    restores: tuple[Restored, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst that was found."""
        if self.breaks:
            return Outcome.BROKEN
        if self.lost:
            return Outcome.ROLLED_BACK
        return Outcome.UNCLEAR if self.unclear else Outcome.OK


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries, newest first; *before* asks for the next page, None when this is the last."""

    entries: tuple[LedgerEntry, ...]
    before: int | None


def entries(
    *, clusters: Collection[Cluster] | None, before: int | None = None, targets: Collection[str] = (), limit: int = 50
) -> Page:
    """The newest *limit* entries older than number *before*, of *clusters* (None: of the whole site).

    *targets*, when given, are the only ones told.
    """
    found = LedgerEntry.objects.select_related("who", "cluster").order_by("-seq")
    if clusters is not None:
        found = found.filter(cluster__in=clusters)
    if targets:
        found = found.filter(target__in=targets)
    if before is not None:
        found = found.filter(seq__lt=before)
    rows = list(found[: limit + 1])
    return Page(tuple(rows[:limit]), rows[limit - 1].seq if len(rows) > limit else None)


def as_hashed(row: LedgerEntry) -> Entry:
    """A stored entry in the form that its digest covers."""
    slug = row.cluster.slug if row.cluster is not None else ""
    return Entry(
        seq=row.seq, previous=row.previous, at=row.at, who=str(row.who_id or ""), name=row.name, what=row.what,
        cluster=slug, target=row.target, reason=row.reason, data=row.data, cluster_number=str(row.cluster_id or ""),
    )  # fmt: skip


def verify_ledger(*, now: datetime, keys: KeyRing, outside: Iterable[Anchor | Unreadable] = ()) -> Verified:
    """Walk the whole chain, then hold it against the anchors in the database and those from *outside*.

    Memory does not grow with the number of entries or anchors.
    """
    walk = _Walk()
    broken, unclear, against = _Told(), _Told(), 0
    for found in breaks(walk.entries()):
        broken.add(found.why)
    for restored in walk.restores:
        _judge_restore(restored, keys, broken, unclear)
    lost = 0
    for some in _batches(chain(_anchors_stored(), outside)):
        genuine = list(_genuine(some, keys, broken, unclear))
        against += len(genuine)
        lost = max([lost, *_held_against(genuine, walk, broken)])
    if not against:
        unclear.add("No anchor was found: a chain that was shortened or rewritten as a whole would look like this one.")
    return Verified(
        now, walk.count, walk.last, against, broken.sentences, lost, unclear.sentences, tuple(walk.restores)
    )  # fmt: skip


class _Walk:
    """One pass over the chain, in pages: how many entries there are, the last number, and the restores among them."""

    def __init__(self) -> None:
        self.count = self.last = 0
        self.restores: list[Restored] = []

    def entries(self) -> Iterator[tuple[Entry, str]]:
        after = -1
        while rows := list(LedgerEntry.objects.filter(seq__gt=after).order_by("seq").values_list(*_COLUMNS)[:BATCH]):
            for seq, previous, digest, at, who, name, what, number, cluster, target, reason, data in rows:
                self.count, self.last = self.count + 1, seq
                if what == RESTORED:
                    self.restores.append(_restored(seq, at, reason, data))
                yield Entry(
                    seq, previous, at, str(who or ""), name, what, cluster or "", target, reason, data,
                    str(number or ""),
                ), digest  # fmt: skip
            after = rows[-1][0]

    def explains(self, anchor: Anchor) -> bool:
        """Whether a restore that was told accounts for *anchor* not being found."""
        return any(restored.explains(anchor) for restored in self.restores)


def _restored(seq: int, at: datetime, reason: str, data: dict[str, object]) -> Restored:
    try:
        anchor = Anchor.read(data["anchor"], place=f"entry {seq}")
        return Restored(seq, at, int(str(data["kept"])), int(str(data["lost"])), reason, anchor)
    except (KeyError, TypeError, ValueError):
        return Restored(seq, at, 0, 0, reason, None)


def _judge_restore(restored: Restored, keys: KeyRing, broken: _Told, unclear: _Told) -> None:
    """A restore is believed for an anchor that was signed: else anybody could explain anything away."""
    standing = keys.standing(restored.anchor) if restored.anchor else Standing.FORGED
    if standing is Standing.FORGED:
        broken.add(f"Entry {restored.seq} tells of a restore, with an anchor that nobody signed.")
    elif standing is Standing.KEY_UNKNOWN:
        unclear.add(f"Entry {restored.seq} tells of a restore, with an anchor of a key that is not here.")


def _anchors_stored() -> Iterator[Anchor]:
    after = 0
    while rows := list(LedgerAnchor.objects.filter(pk__gt=after).order_by("pk")[:BATCH]):
        for row in rows:
            yield Anchor(row.seq, row.head, row.at, row.key_id, row.signature, "the database")
        after = rows[-1].pk


def _genuine(found: Iterable[Anchor | Unreadable], keys: KeyRing, broken: _Told, unclear: _Told) -> Iterator[Anchor]:
    for each in found:
        if isinstance(each, Unreadable):
            unclear.add(each.why)
        elif (standing := keys.standing(each)) is Standing.GENUINE:
            yield each
        elif standing is Standing.FORGED:
            broken.add(f"The anchor of entry {each.seq} in {each.place} was changed: its signature is not its key's.")
        else:
            unclear.add(f"The anchor of entry {each.seq} in {each.place} is of key {each.key_id[:12]}, not known here.")


def _held_against(anchors: Collection[Anchor], walk: _Walk, broken: _Told) -> Iterator[int]:
    """How many entries each anchor knows beyond the end of the chain; what it contradicts is told."""
    numbers = [anchor.seq for anchor in anchors]
    stored = dict(LedgerEntry.objects.filter(seq__in=numbers).values_list("seq", "digest"))
    for anchor in anchors:
        if stored.get(anchor.seq) == anchor.head or walk.explains(anchor):
            continue
        if anchor.seq > walk.last and anchor.seq not in stored:  # what was written since the walk is stored
            yield anchor.seq - walk.last
        else:
            broken.add(
                f"Entry {anchor.seq} is not the one that was anchored on {anchor.at:%F %T} UTC ({anchor.place}): the "
                "chain was rewritten, or the database was restored and nobody told it with: manage.py ledger restored"
            )


def _batches(found: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(found)
    while some := list(islice(rest, BATCH)):
        yield some
