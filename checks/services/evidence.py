"""Raw text behind verdicts, stored once however many reports carry it."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef
from msgspec import Struct

from checks.models import Evidence, IncidentItemLink, NodeItemState, PinnedEvidence, ScopeState
from checks.services.report_v1 import EvidenceV1

# A text is stored with the row that names it; the day is for reports that bring it again just now.
_YOUNG = timedelta(days=1)
_LONGEST_TEXT = 4096


class EvidenceRow(Struct):
    """One text; its digest is computed here, so that a name can never point at another text."""

    digest: str
    probe: str
    text: str
    truncated: bool


def evidence_rows(sent: Iterable[EvidenceV1]) -> list[tuple[EvidenceRow, list[str]]]:
    """The texts to store, each with the items that it supports, in the order of their digests.

    Nodes share texts: two reports that bring the same ones in different orders would wait for each other for ever.
    """
    rows = [(EvidenceRow(digest_of(one.text), one.probe, one.text, one.truncated), one.items) for one in sent]
    return sorted(rows, key=lambda pair: pair[0].digest)


def digest_of(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def keep_text(probe: str, said: Sequence[str], *, now: datetime) -> str:
    """Store who said what, a line each, and return its name; empty where there is nothing to show."""
    text = "\n".join(said)
    if not text:
        return ""
    kept = text[:_LONGEST_TEXT]
    digest = digest_of(kept)
    found = Evidence(digest=digest, probe=probe, text=kept, truncated=len(kept) < len(text), stored_at=now)
    Evidence.objects.bulk_create([found], ignore_conflicts=True)
    return digest


def purge_evidence(*, now: datetime) -> int:
    """Delete texts older than a day that no state, signature or incident names any more; returns how many."""
    named_by_node = NodeItemState.objects.filter(evidence=OuterRef("digest"))
    named_elsewhere = ScopeState.objects.filter(evidence=OuterRef("digest"))
    pinned = PinnedEvidence.objects.filter(evidence=OuterRef("digest"))
    old = Evidence.objects.filter(~Exists(named_by_node), ~Exists(named_elsewhere), stored_at__lt=now - _YOUNG)
    linked = IncidentItemLink.objects.filter(evidence=OuterRef("digest"))
    old = old.exclude(Exists(pinned)).exclude(Exists(linked))
    return old.delete()[0]
