"""``audit log``: what a training wrote, as JSON Lines, lines of Megatron or DeepSpeed, or TensorBoard's event files."""

from __future__ import annotations

import argparse
import math
import os
from typing import BinaryIO, Iterator, List

from readiness_agent.audits import AuditResult, Notes
from readiness_agent.audits.logs.events import Damaged, is_events, read_steps
from readiness_agent.audits.logs.lines import is_overflow, read_lines, step_of
from readiness_agent.audits.logs.said import Said
from readiness_agent.audits.logs.tally import Tally
from readiness_agent.facts import ERROR, MISSING, UNREADABLE

NORM, ATTENTION, POLICY, TIMEOUT = "grad-norm-first-step", "attention-backend", "ops-log-policy", "collective-timeout"

FEWEST_STEPS = 100
"""From fewer, the volume of 1000 steps cannot be told."""

_MIB = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing but the paths: logs of rank 0, or the folder that holds them."""


def audit(arguments: argparse.Namespace) -> AuditResult:
    """Read the logs of one training in their order, in bounded memory."""
    tally, said = Tally(), Said()
    size = 0
    broken: List[str] = []
    for path in _files(arguments.paths):
        try:
            size += _read(path, tally, said)
        except Damaged as error:
            broken.append(f"{path}: {error}")
        except OSError as error:
            broken.append(f"{path} could not be read ({error.strerror or error})")
    tally.finish()
    covered = [NORM, POLICY, *([ATTENTION] if said.backends else [])]
    saved = max(tally.longest_save, said.longest_save)
    covered += [TIMEOUT] if saved else []
    notes = Notes(*covered)
    for item in (NORM, POLICY):
        for sentence in broken:
            notes.problem(item, UNREADABLE, sentence)
    _norm(tally, notes)
    _policy(tally, size, notes)
    _attention(said, notes)
    if saved:
        notes.fact(TIMEOUT, "twice_save", round(2 * saved, 3), "seconds")
        notes.finding(TIMEOUT, said.save_place or "log", f"the longest save took {saved:.1f} s")
    return notes.result()


def _files(paths: List[str]) -> Iterator[str]:
    """Files as named; of a folder all of them by name, links left out."""
    for top in paths:
        if not os.path.isdir(top):
            yield top
            continue
        for folder, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield path


def _read(path: str, tally: Tally, said: Said) -> int:
    """Take one file in; returns the bytes from its first step on. Of event files no line is ever read: they count 0."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        if is_events(file.read(12)):
            file.seek(0)
            for step in read_steps(file, name):
                tally.add(step)
            return 0
        file.seek(0)
        return _read_lines(file, name, tally, said)


def _read_lines(file: BinaryIO, name: str, tally: Tally, said: Said) -> int:
    size, begun, overflow = 0, False, False
    for line in read_lines(file):
        said.hear(line.text, f"{name}:{line.number}")
        step = step_of(line, name)
        if step is not None:
            tally.add(step._replace(is_skipped=True) if overflow else step)
            begun, overflow = True, False
        else:
            overflow = overflow or is_overflow(line)
        size += line.size if begun else 0
    return size


def _norm(tally: Tally, notes: Notes) -> None:
    """The first step that was not skipped, where the log begins with the training."""
    if tally.first is None:
        notes.problem(NORM, MISSING, "no line of a step is in these logs: name the log of rank 0")
    elif tally.first > 1:
        notes.problem(NORM, MISSING, f"the log begins with step {tally.first}: the first step is not in it")
    elif tally.first_norm is None:
        notes.problem(NORM, MISSING, "the first step that was not skipped tells no gradient norm")
    elif not math.isfinite(tally.first_norm[1]):
        notes.problem(NORM, ERROR, f"the gradient norm of step {tally.first_norm[0]} is {tally.first_norm[1]}")
    else:
        notes.fact(NORM, "grad_norm", tally.first_norm[1], "ratio")
        notes.fact(NORM, "step", tally.first_norm[0], "count")
        notes.finding(NORM, f"step {tally.first_norm[0]}", f"grad_norm {tally.first_norm[1]:g}, the first not skipped")


def _policy(tally: Tally, size: int, notes: Notes) -> None:
    for place, sentence in tally.remarks:
        notes.finding(POLICY, place, sentence)
    if tally.first is None:
        notes.problem(POLICY, MISSING, "no line of a step is in these logs: name the log of rank 0")
        return
    missing = tally.missing()
    notes.fact(POLICY, "steps_without_line", tally.gaps, "count")
    notes.fact(POLICY, "fields_missing", len(missing), "count")
    if missing:
        notes.finding(POLICY, "log", f"no step tells {', '.join(missing)}")
    if not size:
        notes.problem(POLICY, MISSING, "event files alone do not show how much is logged: add train.log of rank 0")
    elif tally.steps < FEWEST_STEPS:
        notes.problem(
            POLICY, MISSING, f"{tally.steps} steps are too few to tell the volume of 1000: run {FEWEST_STEPS}"
        )
    else:
        notes.fact(POLICY, "volume_1000_steps", round(size / (tally.steps + tally.gaps) * 1000 / _MIB, 4), "MiB")


def _attention(said: Said, notes: Notes) -> None:
    for backend, place in said.backends.items():
        notes.finding(ATTENTION, place, f"the log names {backend}")
    if len(said.backends) == 1:
        notes.fact(ATTENTION, "backend", next(iter(said.backends)), "text")
    elif said.backends:
        notes.problem(
            ATTENTION, ERROR, f"the log names {' and '.join(sorted(said.backends))}: which one runs is not told"
        )
