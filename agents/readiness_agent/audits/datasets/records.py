"""What readers of all formats hand on: records in batches, so that a dataset never lies in memory."""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

TEXT, IDS, INTEGER, OTHER = "text", "ids", "integer", "other"
"""What a field of a record holds."""

TEXT_NAMES = ("text", "content", "document", "raw_content")
IDS_NAMES = ("input_ids", "tokens", "token_ids", "ids")
"""Usual names of the field that is trained on, the likeliest first."""


class Damaged(Exception):
    """A file, or the rest of it, that breaks off or contradicts itself; says where in one sentence."""


class Unclear(Exception):
    """A sound file of which nothing tells what in it is trained on, or that no reader knows; one sentence."""


class Wanted(NamedTuple):
    """What is to be read of each record."""

    text: str = ""
    """Name of the field of texts, when the usual names do not tell."""
    sample_id: str = "sample_id"


class Fields(NamedTuple):
    """The fields of this dataset that are read; empty where there is none."""

    text: str
    ids: str
    sample_id: str


class Batch(NamedTuple):
    """Some records of one file."""

    rows: int
    end: Any
    """Where the next batch begins, for a reader that goes on later; None where none can begin here."""
    done_bytes: int
    """How far into the file this is, for people."""
    texts: Sequence[Optional[bytes]] = ()
    """One a row; None where a row holds no text."""
    ids: Sequence[Sequence[int]] = ()
    """One a document, the first ids of a very long one."""
    tokens: int = 0
    lowest: Optional[int] = None
    highest: Optional[int] = None
    row_lengths: Tuple[int, int] = (0, 0)
    """Tokens of the shortest and of the longest row."""
    sample_ids: Sequence[Any] = ()
    faults: Sequence[Tuple[str, str]] = ()
    """Records that are broken: a place in the file, and what is wrong in one sentence."""


LONGEST_DOCUMENT = 262_144
"""Token ids of a document that are looked at for duplicates."""


def choose_fields(kinds: Mapping[str, str], wanted: Wanted) -> Fields:
    """Which fields are read, from what each of them holds.

    Raises:
        Unclear: there is nothing to train on, or nothing tells which of several it is.
    """
    ids = _usual(kinds, IDS, IDS_NAMES)
    text = wanted.text or _usual(kinds, TEXT, TEXT_NAMES)
    texts = [name for name, kind in kinds.items() if kind == TEXT]
    if wanted.text and kinds.get(wanted.text) != TEXT:
        raise Unclear(f"it has no field of text called {wanted.text!r}; it has {_listed(kinds)}")
    if not text and not ids:
        if len(texts) > 1:
            raise Unclear(f"nothing tells which of {_listed(texts)} is the text: name it with --text-field")
        raise Unclear(f"it has no field of text or of token ids; it has {_listed(kinds)}")
    return Fields(text, ids, wanted.sample_id if wanted.sample_id in kinds else "")


def _usual(kinds: Mapping[str, str], kind: str, names: Sequence[str]) -> str:
    """The field of *kind* with a usual name, else the only one of that kind."""
    held = [name for name, its in kinds.items() if its == kind]
    named = [name for name in names if name in held]
    return named[0] if named else held[0] if len(held) == 1 else ""


def _listed(names: Any) -> str:
    shown: List[str] = [str(name) for name in names][:12]
    return ", ".join(shown) or "none"
