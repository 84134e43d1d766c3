"""What is looked at in each record: its bytes, its likeness to others, its language, what must not be in it."""

from __future__ import annotations

from typing import NamedTuple, Optional

from readiness_agent.audits.datasets.duplicates import Kept
from readiness_agent.audits.datasets.language import CONFIDENCE_FLOOR, LanguageModel
from readiness_agent.audits.datasets.minhash import signature_of_ids, signature_of_text
from readiness_agent.audits.datasets.patterns import Patterns
from readiness_agent.audits.datasets.records import Batch
from readiness_agent.audits.datasets.tally import Tally

REPLACEMENT = "\ufffd"


class Looks(NamedTuple):
    """What this audit looks for besides counting; None is not asked for."""

    duplicates: Optional[Kept] = None
    patterns: Optional[Patterns] = None
    language: Optional[LanguageModel] = None


class Place(NamedTuple):
    """Where records are dealt to: the rank that reads the shard, and among how many; 0 is not told."""

    shard: int = 0
    data_parallel: int = 0


def look(batch: Batch, tally: Tally, looks: Looks, place: Place) -> None:
    """Count what is in *batch*."""
    before = tally.rows
    tally.rows += batch.rows
    _count_ids(batch, tally)
    for number, text in enumerate(batch.texts, before + 1):
        if text is not None:
            _look_at_text(text, number, tally, looks)
    if looks.duplicates is not None and not batch.texts:
        for ids in batch.ids:
            signature = signature_of_ids(ids)
            if signature:
                looks.duplicates.add(signature)
    for where, said in batch.faults:
        tally.faults += 1
        tally.note("data-integrity", where, said)
    for sample_id in batch.sample_ids:
        _deal(sample_id, tally, place)


def _count_ids(batch: Batch, tally: Tally) -> None:
    if not batch.tokens and not batch.ids:
        return
    tally.tokens += batch.tokens
    tally.id_rows += batch.rows
    tally.stretch(batch.lowest, batch.highest)
    shortest, longest = batch.row_lengths
    if batch.rows:
        tally.shortest = shortest if tally.shortest is None else min(tally.shortest, shortest)
        tally.longest = longest if tally.longest is None else max(tally.longest, longest)


def _look_at_text(content: bytes, number: int, tally: Tally, looks: Looks) -> None:
    """A text that is no UTF-8 is looked at all the same: what must not be in it may hide behind one bad byte."""
    tally.text_rows += 1
    try:
        text = content.decode()
        replacements = text.count(REPLACEMENT)
    except UnicodeDecodeError as error:
        tally.invalid += 1
        tally.note("data-encoding", f"record {number}", f"byte {error.start} of it is no UTF-8")
        text = content.decode("utf-8", "replace")
        replacements = content.count(REPLACEMENT.encode())
    if replacements:
        tally.replacements += replacements
        tally.note("data-encoding", f"record {number}", "it holds U+FFFD: bytes were lost before it was written")
    _look_for(text, number, tally, looks)


def _look_for(text: str, number: int, tally: Tally, looks: Looks) -> None:
    if looks.patterns is not None:
        hits = looks.patterns.hits(text)
        if hits:
            tally.hits += hits
            tally.note("data-sensitive", f"record {number}", "a pattern hits it")
    if looks.language is not None and looks.language.confidence(text) < CONFIDENCE_FLOOR:
        tally.below += 1
    if looks.duplicates is not None:
        signature = signature_of_text(text)
        if signature:
            looks.duplicates.add(signature)


def _deal(sample_id: object, tally: Tally, place: Place) -> None:
    """Whether a record lies where its sample id belongs."""
    if not isinstance(sample_id, int) or isinstance(sample_id, bool):
        tally.unnumbered += 1
        return
    tally.numbered += 1
    if place.data_parallel and sample_id % place.data_parallel != place.shard % place.data_parallel:
        tally.misplaced += 1
        tally.note("data-shard-by-sample", f"sample {sample_id}", f"it lies in shard {place.shard}")
