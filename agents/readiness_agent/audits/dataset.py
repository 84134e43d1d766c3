"""``audit dataset``: what a dataset holds, from its own bytes, in bounded memory."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Dict, Optional, Sequence

from readiness_agent import __version__
from readiness_agent.audits import AuditResult, Notes
from readiness_agent.audits.datasets.duplicates import Kept
from readiness_agent.audits.datasets.inventory import Inventory, take_inventory
from readiness_agent.audits.datasets.language import LanguageModel, load_language_model
from readiness_agent.audits.datasets.listing import digest_of, read_listing
from readiness_agent.audits.datasets.looking import Looks
from readiness_agent.audits.datasets.patterns import read_patterns
from readiness_agent.audits.datasets.readers import rows_of
from readiness_agent.audits.datasets.reading import Reader, Reading, stamp_of
from readiness_agent.audits.datasets.records import Damaged, Unclear, Wanted
from readiness_agent.audits.datasets.resuming import Bookmark
from readiness_agent.audits.datasets.stating import ITEMS, Asked, Audited, state
from readiness_agent.audits.libraries import LibraryMissing
from readiness_agent.errors import log, usage_error
from readiness_agent.facts import MISSING


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be told about a dataset that its bytes do not say; what is not told stays *unknown*."""
    parser.add_argument(
        "--item", action="append", choices=ITEMS, metavar="ITEM", help=f"only this item, repeatable: {', '.join(ITEMS)}"
    )
    parser.add_argument(
        "--data-parallel",
        type=_count,
        default=0,
        metavar="N",
        help="world size / (tensor x pipeline x context parallel)",
    )
    parser.add_argument("--vocabulary-size", type=_count, default=0, metavar="N", help="token ids must be below it")
    parser.add_argument("--listing", metavar="FILE", help="what sha256sum printed for the dataset when it was made")
    parser.add_argument(
        "--patterns", metavar="FILE", help="what must not be in a text: regular expressions, one a line"
    )
    parser.add_argument("--language-model", metavar="FILE", help="the fastText model of the cleaning, e.g. lid.176.ftz")
    parser.add_argument("--original", action="append", metavar="PATH", help="what the cleaning read, repeatable")
    parser.add_argument("--stage", metavar="NAME", help="which stage of the cleaning lies between it and PATH")
    parser.add_argument(
        "--text-field", default="", metavar="NAME", help="field or column of the text (default: text, …)"
    )
    parser.add_argument("--sample-id", default="sample_id", metavar="NAME", help="field of the sample's number")
    parser.add_argument("--state", default="", metavar="DIR", help="go on from here after an interruption")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:15]) < 10**12:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def audit(arguments: argparse.Namespace) -> AuditResult:
    """Read the dataset in ``arguments.paths``.

    Raises:
        AgentError: an option does not fit, or a file named by one cannot be used.
    """
    if bool(arguments.original) != bool(arguments.stage):
        raise usage_error("--original and --stage belong together: say what the cleaning read, and which stage it was")
    asked = _asked(arguments)
    notes = Notes(*asked.items)
    kept = Kept()
    inventory = take_inventory(arguments.paths, _of_ours(arguments))
    looks = _looks(arguments, asked, kept, notes)
    reading = _read(arguments, asked, inventory, looks, kept)
    before = _rows_before(arguments.original or ()) if "data-cleaning-loss" in asked.items else None
    state(notes, Audited(asked, inventory, reading, looks, kept, before))
    _show(notes, arguments.paths, asked, inventory, reading)
    return notes.result()


def _asked(arguments: argparse.Namespace) -> Asked:
    items = tuple(item for item in ITEMS if item in (arguments.item or ITEMS))
    listed = read_listing(arguments.listing) if arguments.listing else None
    return Asked(
        items, arguments.data_parallel, arguments.vocabulary_size, listed, arguments.original or (),
        arguments.stage or "",
    )  # fmt: skip


def _of_ours(arguments: argparse.Namespace) -> Sequence[str]:
    """Files that were named for another purpose are none of the dataset, wherever they lie."""
    return [one for one in (arguments.listing, arguments.patterns, arguments.language_model) if one]


def _looks(arguments: argparse.Namespace, asked: Asked, kept: Kept, notes: Notes) -> Looks:
    patterns = read_patterns(arguments.patterns) if arguments.patterns and "data-sensitive" in asked.items else None
    language: Optional[LanguageModel] = None
    if arguments.language_model and "data-language" in asked.items:
        try:
            language = load_language_model(arguments.language_model)
        except LibraryMissing as error:
            notes.problem("data-language", MISSING, str(error))
    return Looks(kept if "data-duplicates" in asked.items else None, patterns, language)


def _read(
    arguments: argparse.Namespace, asked: Asked, inventory: Inventory, looks: Looks, kept: Kept
) -> Reading:  # fmt: skip
    bookmark = Bookmark(arguments.state, _design(arguments, asked, looks), kept)
    wanted = Wanted(arguments.text_field, arguments.sample_id)
    reader = Reader(wanted, looks, asked.data_parallel, bookmark)
    if arguments.state and bookmark.take_up({one.path: stamp_of(one) for one in inventory.shards}):
        log(f"going on from what an earlier audit left in {arguments.state}")
    try:
        reading = reader.read(inventory)
    except KeyboardInterrupt:
        if arguments.state:
            log(f"stopped; the same command goes on from {arguments.state}")
        raise
    bookmark.throw_away()
    return reading


def _design(arguments: argparse.Namespace, asked: Asked, looks: Looks) -> Dict[str, Any]:
    """All that counts depend on: with anything else, reading begins again."""
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "paths": [os.path.abspath(path) for path in arguments.paths],
        "items": list(asked.items),
        "text_field": arguments.text_field,
        "sample_id": arguments.sample_id,
        "data_parallel": asked.data_parallel,
        "patterns": looks.patterns.digest if looks.patterns else "",
        "language": looks.language.digest if looks.language else "",
    }


def _rows_before(original: Sequence[str]) -> Optional[int]:
    """Rows of what the cleaning read; None where they cannot be told."""
    if not original:
        return None
    for path in original:
        if not os.path.exists(path):
            raise usage_error(f"{path} is not there, or not for this user: name what the cleaning read")
    try:
        inventory = take_inventory(original)
        return None if inventory.problems else sum(rows_of(shard) for shard in inventory.shards)
    except (Damaged, Unclear, LibraryMissing, OSError) as error:
        log(f"the original: {error}")
        return None


def _show(notes: Notes, paths: Sequence[str], asked: Asked, inventory: Inventory, reading: Reading) -> None:
    """The shards, as the text behind the facts, and the digest by which the dataset can be signed."""
    lines = ["shard, format, bytes, rows, tokens"]
    for one in reading.shards:
        shard = one.shard
        kind = " ".join(part for part in shard.kind if part)
        lines.append(f"{shard.name}, {kind}, {shard.size}, {one.tally.rows}, {one.tally.tokens}")
    notes.evidence("audit dataset", "\n".join(lines), *asked.items)
    if reading.measured and len(reading.measured) == len(inventory.names):
        is_file = len(paths) == 1 and not os.path.isdir(paths[0])
        whole = next(iter(reading.measured.values())).sha256
        name = os.path.basename(os.path.abspath(paths[0]))
        notes.artefact(name, f"sha256:{whole}" if is_file else digest_of(reading.measured))
