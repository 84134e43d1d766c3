"""What a report says that was known already: recognised by comparing, without measuring or judging.

Most of a healthy node's report repeats the last one word for word, and the same facts under the same rules make the
same verdict. Where time or a counter plays a part, nothing is taken for granted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from checks.domain.items import Item
from checks.domain.loading import VALID_FOR
from checks.domain.memory import ItemMemory, LoadEvidence
from checks.domain.settling import settles_as
from checks.domain.verdicts import Cadence, Verdict
from checks.services.node_rows import RowKey, StateRow
from checks.services.submission import Content

#: A value of these parts alone was measured without a memory.
_PLAIN: Final = frozenset({"item_version", "facts"})
_PLAIN_PARTS: Final = len(_PLAIN)
_VALUE_PARTS: Final = _PLAIN | {"boots", "gains", "held", "load"}
#: What each raw verdict settles as, by its text.
SETTLES_AS: Final = {verdict.value: settles_as(verdict) for verdict in Verdict}


@dataclass(frozen=True, slots=True)
class Submission:
    """What one report says, with the portal's times.

    *missing* are items that a full report would have covered; *same_rules*: the node's rows were judged by the rules
    that this report is judged by. *stamps* are when evidence of a whole cadence last came
    (rows unchanged since then are that young); *moves* is the cadence that this report is a full one of, if it is.
    *replaced* are subjects whose hardware is another; *evidence* maps an item to the digest of its raw text. *partial*:
    it speaks only of what it names, as a tool's output does, and leaves the rest of an item alone.
    """

    content: Content
    missing: Sequence[str]
    received_at: datetime
    observed_at: datetime
    boot_id: str
    interval: timedelta
    min_gap: timedelta
    stamps: Mapping[str, datetime]
    moves: str | None
    same_rules: bool
    replaced: frozenset[str]
    retired: Mapping[str, str]
    evidence: Mapping[str, str]
    partial: bool = False


def says_the_same(
    submission: Submission, item: Item, rows: Mapping[str, StateRow], memory: Mapping[RowKey, ItemMemory]
) -> bool:
    """Whether the report says of *item* exactly what each of its *rows* (by subject) holds, and means it too."""
    said = submission.content.plain(item.key)  # of a fact that came twice the newest counts, which judging finds out
    if said is None or said.keys() != rows.keys():
        return False
    for subject, row in rows.items():
        if not _repeats(submission, item, row, said[subject]):
            return False
        if len(row.value) > _PLAIN_PARTS and not _remembers_the_same(submission, row.value, memory.get(row.key)):
            return False
    return True


def _repeats(submission: Submission, item: Item, row: StateRow, said: Mapping[str, object]) -> bool:
    """Whether the row settled on this very value. Called for each of a sound node's rows, cheapest questions first."""
    value, version = row.value, item.version
    if row.pending or row.item_version != version or value.get("item_version") != version or value.get("facts") != said:
        return False
    if value.get("held") or not _VALUE_PARTS.issuperset(value):  # a value held over time changes with the clock alone
        return False
    if row.subject in submission.replaced or submission.evidence.get(item.key, row.evidence) != row.evidence:
        return False
    return _has_settled(row)


def _has_settled(row: StateRow) -> bool:
    """Whether one more such report leaves what is settled alone. One that came too soon to count is not pending."""
    candidate = SETTLES_AS[row.raw]
    return candidate is None or row.cadence == Cadence.START or candidate == row.settled


def _remembers_the_same(submission: Submission, value: Mapping[str, Any], memory: ItemMemory | None) -> bool:
    """Where memory plays a part: same boot, no counter that has moved, an idle subject whose evidence still counts."""
    if memory is None or memory.get("boot") != submission.boot_id:
        return False
    gains = value.get("gains")
    if gains and any(map(any, gains.values())):
        return False
    boots, load = value.get("boots"), value.get("load")
    if boots is not None and (not boots or boots[-1]["boot"] != submission.boot_id):
        return False
    return load is None or (not load["loaded"] and _still_counts(load.get("evidence"), submission.received_at))


def _still_counts(evidence: LoadEvidence | None, now: datetime) -> bool:
    return evidence is None or now.timestamp() - evidence["at"] < VALID_FOR.total_seconds()
