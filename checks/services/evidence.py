"""Raw text behind verdicts, stored once however many reports carry it."""

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from checks.services.report_v1 import EvidenceV1


class EvidenceRow(Struct):
    """One text; its digest is computed here, so that a name can never point at another text."""

    digest: str
    probe: str
    text: str
    truncated: bool


def evidence_rows(sent: Iterable[EvidenceV1]) -> list[tuple[EvidenceRow, list[str]]]:
    """The texts to store, each with the items that it supports."""
    return [(EvidenceRow(digest_of(one.text), one.probe, one.text, one.truncated), one.items) for one in sent]


def digest_of(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
