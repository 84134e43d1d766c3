"""``audit tokenizer TRAINING INFERENCE``: whether a model is served with the token ids that it learned."""

from __future__ import annotations

import argparse
import os
from typing import List, Optional, Sequence

from readiness_agent.audits import AuditResult, Notes
from readiness_agent.audits.libraries import LibraryMissing
from readiness_agent.audits.tokenizers.behaviour import Encoded, load
from readiness_agent.audits.tokenizers.files import BrokenFile, TokenizerFiles, read_tokenizer_files
from readiness_agent.audits.tokenizers.hard_texts import HardText, hard_texts
from readiness_agent.audits.tokenizers.settings import (
    Difference,
    highest_id,
    setting_differences,
    special_tokens,
)  # fmt: skip
from readiness_agent.errors import usage_error
from readiness_agent.facts import DENIED, ERROR, MISSING, UNREADABLE

PARITY, SPEED = "tokenizer-parity", "tokenizer-fast"
_SIDES = ("training", "inference")
_MOST_SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the files of a tokenizer do not say."""
    parser.add_argument(
        "--vocabulary-size", type=_count, metavar="N", help="token ids of the model (default: its config.json beside)"
    )
    parser.add_argument(
        "--id-bits", type=int, choices=(16, 32), metavar="16|32", help="width in which the dataset stores token ids"
    )


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:15]) < 10**12:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def audit(arguments: argparse.Namespace) -> AuditResult:
    """Compare the tokenizers in ``arguments.paths``: that of training, and that of inference.

    Raises:
        AgentError: there are not two paths.
    """
    if len(arguments.paths) != 2:
        raise usage_error("name two tokenizers: the one of training, then the one of inference")
    notes = Notes(PARITY, SPEED)
    sides = [_read(notes, side, path) for side, path in zip(_SIDES, arguments.paths)]  # noqa: B905  two and two
    training, inference = sides
    if training is not None:
        notes.fact(SPEED, "fast", training.fast is not None, "bool")
    if training is not None and inference is not None:
        _compare(notes, training, inference, arguments)
    return notes.result()


def _read(notes: Notes, side: str, path: str) -> Optional[TokenizerFiles]:
    try:
        files = read_tokenizer_files(path)
    except BrokenFile as error:
        _unknown(notes, side, UNREADABLE, str(error))
    except OSError as error:
        kind = DENIED if isinstance(error, PermissionError) else UNREADABLE
        _unknown(notes, side, kind, f"{error.filename} cannot be read: {error.strerror}")
    else:
        for name, digest in sorted(files.digests.items()):
            notes.artefact(f"{side}/{name}", digest)
        return files
    return None


def _unknown(notes: Notes, side: str, kind: str, said: str) -> None:
    """Speed is that of training: only its tokenizer cuts the corpus."""
    for item in (PARITY, SPEED) if side == "training" else (PARITY,):
        notes.problem(item, kind, said)


def _compare(notes: Notes, training: TokenizerFiles, inference: TokenizerFiles, arguments: argparse.Namespace) -> None:
    differences = setting_differences(training, inference)
    for side, files in zip(_SIDES, (training, inference)):  # noqa: B905  two and two
        differences += _out_of_bounds(
            side, files, arguments.vocabulary_size or files.model_vocabulary, arguments.id_bits
        )
    for one in differences:
        notes.finding(PARITY, one.name, one.said)
    notes.fact(PARITY, "settings_differing", len(differences), "count")
    if (training.fast is None) != (inference.fast is None):
        notes.finding(PARITY, "tokenizer.json", "only one side has it: the two are not run by the same code")
    texts = hard_texts([*special_tokens(training), *special_tokens(inference)])
    _compare_texts(notes, training, inference, texts)


def _out_of_bounds(
    side: str, files: TokenizerFiles, vocabulary: Optional[int], bits: Optional[int]
) -> List[Difference]:
    """Ids that the model, or the dataset's integers, have no room for."""
    highest = highest_id(files)
    found: List[Difference] = []
    if highest is not None and vocabulary is not None and highest >= vocabulary:
        said = f"the tokenizer of {side} gives ids up to {highest}, the model has {vocabulary}"
        found.append(Difference("vocabulary bounds", said))
    if highest is not None and bits is not None and highest >= 1 << bits:
        found.append(Difference("id width", f"ids of {side} up to {highest} do not fit into {bits} bits"))
    return found


def _compare_texts(
    notes: Notes, training: TokenizerFiles, inference: TokenizerFiles, texts: Sequence[HardText]
) -> None:  # fmt: skip
    try:
        one, other = load(training), load(inference)
    except LibraryMissing as error:
        notes.problem(PARITY, MISSING, str(error))
        return
    except BrokenFile as error:
        notes.problem(PARITY, UNREADABLE, str(error))
        return
    try:
        pairs = [(text, one.encode(text.text), other.encode(text.text)) for text in texts]
    except Exception as error:  # the Rust library raises Exception itself
        notes.problem(PARITY, ERROR, f"a tokenizer fails on a text: {str(error)[:200]}")
        return
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    notes.fact(PARITY, "texts_compared", len(pairs), "count")
    notes.fact(PARITY, "texts_differing", len(differing), "count")
    for text, left, right in differing[:_MOST_SHOWN]:
        notes.finding(PARITY, text.name, _first_difference(left, right))
    lines = [f"{os.path.basename(os.path.abspath(files.path))}: {files.digests}" for files in (training, inference)]
    notes.evidence("audit tokenizer", "\n".join(lines), PARITY, SPEED)


def _first_difference(left: Encoded, right: Encoded) -> str:
    for name, one, other in (
        ("without special tokens", left.without, right.without),
        ("with special tokens", left.with_special, right.with_special),
    ):
        if one != other:
            place = next(
                (place for place in range(min(len(one), len(other))) if one[place] != other[place]),
                min(len(one), len(other)),
            )
            return f"{name}, from id number {place} on: {one[place : place + 4]} and {other[place : place + 4]}"
    return "the same ids, but they are read back as another text"
