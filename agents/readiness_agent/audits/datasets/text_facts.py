"""Facts of what stands in the records: duplicates, languages, encoding, what must not be there."""

from __future__ import annotations

from typing import Sequence

from readiness_agent.audits import Notes
from readiness_agent.audits.datasets.duplicates import Kept, estimate
from readiness_agent.audits.datasets.language import CONFIDENCE_FLOOR
from readiness_agent.audits.datasets.looking import Looks
from readiness_agent.audits.datasets.reading import ShardRead
from readiness_agent.facts import NOT_CAPTURED


def state_duplicates(notes: Notes, shards: Sequence[ShardRead], looks: Looks, kept: Kept) -> None:
    """The share of near duplicates; rows that were cut to one length hold pieces of documents, and tell nothing."""
    item = "data-duplicates"
    if not any(one.tally.text_rows for one in shards) and _are_packed(shards):
        said = "its rows were all cut to one length, so its documents cannot be told apart: audit what was cut"
        notes.problem(item, NOT_CAPTURED, said)
        return
    if not kept.documents:
        notes.problem(item, NOT_CAPTURED, "no document with a word, or with token ids, was read")
        return
    found = estimate(kept)
    notes.fact(item, "duplicate_share", round(found.share, 4), "percent")
    notes.fact(item, "interval_high", round(found.high, 4), "percent")
    notes.fact(item, "method", found.method, "text")


def _are_packed(shards: Sequence[ShardRead]) -> bool:
    rows = sum(one.tally.rows for one in shards)
    lengths = {length for one in shards for length in (one.tally.shortest, one.tally.longest) if length is not None}
    return rows != 1 and len(lengths) <= 1


def state_language(notes: Notes, shards: Sequence[ShardRead], looks: Looks, kept: Kept) -> None:
    """How many documents are of no certain language, and by which model."""
    item = "data-language"
    if looks.language is None:
        notes.problem(
            item, NOT_CAPTURED, "nothing tells languages: name the model of the cleaning, --language-model FILE"
        )
        return
    if _is_all_text(notes, item, shards):
        notes.fact(item, "documents_below", sum(one.tally.below for one in shards), "count")
        notes.fact(item, "confidence_floor", CONFIDENCE_FLOOR, "ratio")
        notes.fact(item, "model_hash", looks.language.digest, "text")


def state_encoding(notes: Notes, shards: Sequence[ShardRead], looks: Looks, kept: Kept) -> None:
    """Records that are no UTF-8, and characters that stand for bytes lost before."""
    if _is_all_text(notes, "data-encoding", shards):
        notes.fact("data-encoding", "invalid_records", sum(one.tally.invalid for one in shards), "count")
        notes.fact("data-encoding", "replacement_characters", sum(one.tally.replacements for one in shards), "count")


def state_sensitive(notes: Notes, shards: Sequence[ShardRead], looks: Looks, kept: Kept) -> None:
    """How often the team's patterns hit; never what they are, or what they hit."""
    item = "data-sensitive"
    if looks.patterns is None:
        notes.problem(item, NOT_CAPTURED, "nothing tells what is sensitive: name the team's patterns, --patterns FILE")
        return
    notes.fact(item, "patterns", len(looks.patterns.expressions), "count")
    notes.fact(item, "patterns_hash", looks.patterns.digest, "text")
    if _is_all_text(notes, item, shards):
        notes.fact(item, "hits", sum(one.tally.hits for one in shards), "count")


def _is_all_text(notes: Notes, item: str, shards: Sequence[ShardRead]) -> bool:
    """Whether every shard that was read holds text; token ids do not show what they were made from."""
    without = [one for one in shards if not one.tally.text_rows]
    if without and len(without) == len(shards):
        notes.problem(item, NOT_CAPTURED, "it holds no text: audit the text that its token ids were made from")
    elif without:
        said = f"{len(without)} of {len(shards)} shards hold no text, the first is {without[0].shard.name}"
        notes.problem(item, NOT_CAPTURED, f"{said}: audit the text that their token ids were made from")
    return len(without) < len(shards)
