"""From counts to facts, by the catalogue's names; what was not asked for or could not be told is a problem."""

from __future__ import annotations

from collections import Counter
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.audits import Notes
from readiness_agent.audits.datasets.duplicates import Kept
from readiness_agent.audits.datasets.formats import FAMILIES, NUMPY, UNKNOWN
from readiness_agent.audits.datasets.inventory import Inventory
from readiness_agent.audits.datasets.listing import Listed, differences
from readiness_agent.audits.datasets.looking import Looks
from readiness_agent.audits.datasets.reading import DAMAGED, Reading, ShardRead, Trouble
from readiness_agent.audits.datasets.text_facts import state_duplicates, state_encoding, state_language, state_sensitive
from readiness_agent.facts import ERROR, NOT_CAPTURED, UNREADABLE


class Asked(NamedTuple):
    """What the caller told about the dataset; 0 and None are not told."""

    items: Tuple[str, ...]
    data_parallel: int = 0
    vocabulary_size: int = 0
    listed: Optional[Dict[str, Listed]] = None
    original: Sequence[str] = ()
    stage: str = ""


class Audited(NamedTuple):
    """All that facts are made of."""

    asked: Asked
    inventory: Inventory
    reading: Reading
    looks: Looks
    kept: Kept
    rows_before: Optional[int]
    """Of the original; None where it was not named, or could not be counted."""


def state(notes: Notes, audited: Audited) -> None:
    """Facts, problems and findings of every item that was asked for."""
    for item in audited.asked.items:
        _state_item(notes, item, audited)
    for shard in audited.reading.shards:
        for item, place, said in shard.tally.notes:
            if item in audited.asked.items:
                notes.finding(item, f"{shard.shard.name}, {place}", said)


def _state_item(notes: Notes, item: str, audited: Audited) -> None:
    for trouble in _troubles(item, audited):
        notes.problem(item, *trouble)
    if not audited.reading.shards:
        notes.problem(item, ERROR, "there is no file of data below what was named")
        return
    _STATED[item](notes, audited)


def _troubles(item: str, audited: Audited) -> Iterator[Trouble]:
    """Why an item may not be complete, one sentence a kind; damage is a fault that integrity itself counts."""
    yield from (Trouble(*problem) for problem in audited.inventory.problems)
    yield from audited.reading.lost
    if item == "data-format":
        return
    by_kind: Dict[str, List[ShardRead]] = {}
    for one in audited.reading.shards:
        if one.trouble and not (one.trouble.kind == DAMAGED and item == "data-integrity"):
            by_kind.setdefault(one.trouble.kind, []).append(one)
    for kind, shards in by_kind.items():
        first = shards[0]
        more = f" (and {len(shards) - 1} more files)" if len(shards) > 1 else ""
        said = first.trouble.said if first.trouble else ""
        yield Trouble(UNREADABLE if kind == DAMAGED else kind, f"{first.shard.name}: {said}{more}")


def has_ids(one: ShardRead) -> bool:
    """Whether a shard holds token ids."""
    return one.tally.bits > 0 or one.tally.id_rows > 0


def _state_format(notes: Notes, audited: Audited) -> None:
    families = [FAMILIES[one.shard.kind.format] for one in audited.reading.shards]
    usual = Counter(families).most_common(1)[0][0]
    notes.fact("data-format", "format", usual, "text")
    notes.fact("data-format", "files_of_other_format", sum(family != usual for family in families), "count")
    for one, family in zip(audited.reading.shards, families):  # noqa: B905  Python 3.9 has no strict
        if family != usual:
            notes.finding("data-format", one.shard.name, f"it is {family}, and most files are {usual}")


def _state_pretokenized(notes: Notes, audited: Audited) -> None:
    shards = [one for one in audited.reading.shards if has_ids(one) or one.tally.text_rows]
    if not shards:
        notes.problem("data-pretokenized", ERROR, "no record could be read")
        return
    holds_ids = all(has_ids(one) for one in shards)
    notes.fact("data-pretokenized", "holds_token_ids", holds_ids, "bool")
    if not any(one.tally.text_rows for one in shards):
        notes.fact("data-pretokenized", "tokenizer_in_loader", False, "bool")
    elif holds_ids:
        said = "its records hold text beside token ids, and nothing here tells which of them the loader reads"
        notes.problem("data-pretokenized", NOT_CAPTURED, said)


def _state_balance(notes: Notes, audited: Audited) -> None:
    item, shards = "data-shard-balance", audited.reading.shards
    if _state_seeded(notes, item, audited):
        return
    if not any(one.trouble and one.shard.kind.format != UNKNOWN for one in shards):
        unit, sizes = _sizes(shards)
        notes.fact(item, "tokens_min", min(sizes), "count")
        notes.fact(item, "tokens_max", max(sizes), "count")
        notes.fact(item, "tokens_mean", sum(sizes) / len(sizes), "count")
        notes.fact(item, "measured_in", unit, "text")
        _name_extremes(notes, shards, sizes, unit)
    if audited.asked.data_parallel:
        notes.fact(item, "shard_remainder", len(shards) % audited.asked.data_parallel, "count")
    else:
        _ask_for(notes, item, "--data-parallel N, which is world size / (tensor x pipeline x context parallel)")


def _sizes(shards: Sequence[ShardRead]) -> Tuple[str, List[int]]:
    """What a rank consumes of each shard: tokens; else rows; else bytes."""
    if all(has_ids(one) for one in shards):
        return "tokens", [one.tally.tokens for one in shards]
    if any(one.trouble or one.shard.kind.format == NUMPY for one in shards):
        return "bytes", [one.shard.size for one in shards]
    return "rows", [one.tally.rows for one in shards]


def _name_extremes(notes: Notes, shards: Sequence[ShardRead], sizes: Sequence[int], unit: str) -> None:
    for size in sorted({min(sizes), max(sizes)}) if len(set(sizes)) > 1 else ():
        said = "the fewest" if size == min(sizes) else "the most"
        notes.finding("data-shard-balance", shards[sizes.index(size)].shard.name, f"{size} {unit}, {said}")


def _state_by_sample(notes: Notes, audited: Audited) -> None:
    item = "data-shard-by-sample"
    tallies = [one.tally for one in audited.reading.shards]
    if _state_seeded(notes, item, audited):
        return
    notes.fact(item, "seeded_global_index", False, "bool")
    if not audited.asked.data_parallel:
        _ask_for(notes, item, "--data-parallel N, which is world size / (tensor x pipeline x context parallel)")
        return
    unknown = sum(one.unnumbered if one.numbered else one.rows for one in tallies)
    if unknown or not any(one.numbered for one in tallies):
        said = f"{unknown} of {sum(one.rows for one in tallies)} records carry no whole number as their sample id"
        notes.problem(item, NOT_CAPTURED, f"{said}: name its field with --sample-id, or the loader's own index files")
    if any(one.numbered for one in tallies):
        notes.fact(item, "misplaced_samples", sum(one.misplaced for one in tallies), "count")


def _state_seeded(notes: Notes, item: str, audited: Audited) -> bool:
    """Whether a loader wrote down a global order in which it deals; then shards follow no rule, and need none."""
    files = audited.inventory.seeded_order
    if files:
        notes.fact(item, "seeded_global_index", True, "bool")
        notes.finding(item, audited.inventory.names[files[0]], "the order in which the loader deals all samples")
    return bool(files)


def _state_integrity(notes: Notes, audited: Audited) -> None:
    item = "data-integrity"
    if audited.asked.listed is None:
        _ask_for(notes, item, "--listing FILE, the output of sha256sum over the dataset when it was made")
    else:
        differing = list(differences(audited.asked.listed, audited.reading.measured))
        notes.fact(item, "files_differing", len(differing), "count")
        for name, said in differing[:20]:
            notes.finding(item, name, said)
    orphans = audited.inventory.orphans
    for index in orphans:
        notes.finding(item, audited.inventory.names[index], "the file of tokens that it tells of is not there")
    faults = sum(_faults(notes, one) for one in audited.reading.shards)
    notes.fact(item, "index_errors", faults + len(orphans), "count")
    _state_tokens(notes, audited)


def _faults(notes: Notes, one: ShardRead) -> int:
    """Faults of one shard; no token id is below 0."""
    is_negative = one.tally.lowest is not None and one.tally.lowest < 0
    if is_negative:
        notes.finding("data-integrity", one.shard.name, f"it holds the token id {one.tally.lowest}, below 0")
    return one.tally.faults + is_negative


def _state_tokens(notes: Notes, audited: Audited) -> None:
    item, size = "data-integrity", audited.asked.vocabulary_size
    shards = [one for one in audited.reading.shards if has_ids(one)]
    highest = max((one.tally.highest for one in shards if one.tally.highest is not None), default=None)
    if len(shards) < len(audited.reading.shards) or highest is None:
        notes.problem(item, NOT_CAPTURED, "it holds text and no token ids: audit what the trainer reads")
        return
    notes.fact(item, "token_max", highest, "count")
    if not size:
        _ask_for(notes, item, "--vocabulary-size N, the number of the model's token ids")
        return
    narrow = [one for one in shards if one.tally.bits and 1 << (one.tally.bits - one.tally.signed) < size]
    notes.fact(item, "vocabulary_size", size, "count")
    notes.fact(item, "dtype_too_narrow", bool(narrow), "bool")
    for one in narrow[:5]:
        notes.finding(item, one.shard.name, f"{one.tally.bits} bits an id cannot hold {size} of them")


def _state_cleaning(notes: Notes, audited: Audited) -> None:
    item, asked = "data-cleaning-loss", audited.asked
    after = sum(one.tally.rows for one in audited.reading.shards)
    if not asked.original:
        _ask_for(notes, item, "--original PATH and --stage NAME: what the cleaning read, and which stage it was")
    elif not audited.rows_before:
        notes.problem(item, UNREADABLE, "the rows of the original could not be counted, or it has none")
    elif after > audited.rows_before:
        said = f"it has more rows ({after}) than the original ({audited.rows_before}): that is another dataset"
        notes.problem(item, ERROR, said)
    elif not any(one.trouble for one in audited.reading.shards):
        lost = 100 * (audited.rows_before - after) / audited.rows_before
        notes.fact(item, "lost_share", lost, "percent")
        notes.fact(item, "rows_before", audited.rows_before, "count")
        notes.fact(item, "rows_after", after, "count")
        notes.fact(item, "stage", asked.stage, "text")


def _ask_for(notes: Notes, item: str, option: str) -> None:
    notes.problem(item, NOT_CAPTURED, f"nothing tells: name {option}")


def _of_text(state_it: Callable[..., None]) -> Callable[[Notes, Audited], None]:
    return lambda notes, audited: state_it(notes, audited.reading.shards, audited.looks, audited.kept)


_STATED: Dict[str, Callable[[Notes, Audited], None]] = {
    "data-format": _state_format,
    "data-pretokenized": _state_pretokenized,
    "data-shard-balance": _state_balance,
    "data-shard-by-sample": _state_by_sample,
    "data-integrity": _state_integrity,
    "data-duplicates": _of_text(state_duplicates),
    "data-language": _of_text(state_language),
    "data-encoding": _of_text(state_encoding),
    "data-sensitive": _of_text(state_sensitive),
    "data-cleaning-loss": _state_cleaning,
}

ITEMS = tuple(_STATED)
"""Items that an audit of a dataset can tell."""
