"""``checkpoint-tag``: whether the name of a checkpoint holds the step and the job, the same on every rank."""

from __future__ import annotations

import ast
import os
from typing import Iterator, NamedTuple, Optional, Sequence

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.code import Call
from readiness_agent.audits.configs.patterns import JOB, RANK, STEP, TIME, Pattern, joined, pattern_of, pattern_of_shell
from readiness_agent.audits.configs.saving import is_sharded
from readiness_agent.audits.configs.setup import Setup
from readiness_agent.audits.configs.values import Resolver
from readiness_agent.facts import ERROR, MISSING, UNREADABLE

ITEM = "checkpoint-tag"

_OWN_TAG = {"save_checkpoint": "global_step{step}", "save_state": "checkpoint_{step}"}
"""What a method puts behind the folder where no tag is given: DeepSpeed's, and Accelerate's with automatic names."""

_MEGATRON_TAG = "iter_{step}"
_BROADCAST = ("broadcast_object_list", "broadcast", "all_gather_object")


class Saved(NamedTuple):
    """Where one call writes: the folder, where it is stated, and the name below it."""

    place: str
    folder: Optional[Pattern]
    tag: Pattern

    @property
    def path(self) -> Pattern:
        """Folder and name."""
        return joined("/", self.folder, self.tag) if self.folder else self.tag

    @property
    def whole(self) -> str:
        """The text of the path."""
        return self.path.text.rstrip("/")


def audit_tags(setup: Setup, notes: Notes) -> None:
    """Facts of ``checkpoint-tag``, or why they cannot be told."""
    for sentence in setup.unreadable():
        notes.problem(ITEM, UNREADABLE, sentence)
    saves = [*_of_code(setup), *_of_megatron(setup)]
    for one in saves:
        notes.finding(ITEM, one.place, f"writes to {one.whole}")
    if not saves:
        notes.problem(ITEM, MISSING, "nothing in these files saves a checkpoint by a framework: add the code that does")
        return
    strange = next(((one.place, name) for one in saves for name in one.path.strange), None)
    if strange is not None:
        notes.problem(ITEM, ERROR, f"{strange[0]}: what {strange[1]} puts into the name cannot be told from the files")
    notes.fact(ITEM, "has_step", all(STEP in one.whole for one in saves), "bool")
    notes.fact(ITEM, "has_job", all(_has_job(setup, one) for one in saves), "bool")
    _ranks(setup, saves, notes)
    _places(saves, notes)


def _has_job(setup: Setup, saved: Saved) -> bool:
    """Whether a part is unique to the job: one that is named so, or the run's own name."""
    return JOB in saved.whole or saved.path.names_job or bool(setup.run and setup.run in saved.whole)


def _ranks(setup: Setup, saves: Sequence[Saved], notes: Notes) -> None:
    """A part by rank or moment scatters the shards, unless one rank's word was sent to the others."""
    odd = [one for one in saves if RANK in one.whole or TIME in one.whole]
    for one in odd:
        notes.finding(ITEM, one.place, "the name differs from rank to rank: the shards of one checkpoint are scattered")
    timed_only = odd and all(RANK not in one.whole for one in odd)
    if timed_only and any(call.method in _BROADCAST for _, call in setup.calls()):
        notes.problem(ITEM, ERROR, f"{odd[0].place}: whether every rank has the same moment cannot be told")
    else:
        notes.fact(ITEM, "same_on_ranks", not odd, "bool")


def _places(saves: Sequence[Saved], notes: Notes) -> None:
    """The place that the portal compares with those of other runs; a job's own name in it cannot collide."""
    wholes = sorted({one.whole for one in saves})
    if all(JOB in whole for whole in wholes):
        notes.fact(ITEM, "collisions", 0, "count")
    elif any(one.folder is None or not one.folder.text for one in saves):
        notes.problem(ITEM, MISSING, "the folder of the checkpoints is not stated: write it into code or launch script")
    elif not all(os.path.isabs(whole) for whole in wholes):
        notes.problem(
            ITEM, ERROR, f"the folder in {wholes[0]} is relative, so its place cannot be told: write it whole"
        )
    else:
        notes.fact(ITEM, "place", os.path.realpath(wholes[0]), "text")


def _of_code(setup: Setup) -> Iterator[Saved]:
    for resolver, call in setup.calls():
        if is_sharded(call):
            saved = _saved(resolver, call)
            if saved is not None:
                yield saved


def _saved(resolver: Resolver, call: Call) -> Optional[Saved]:
    """Where *call* writes; None where it is a function of the code's own, whose inner call is looked at instead."""
    if call.method == "save_checkpoint" and "." not in call.name:
        return None
    if call.method not in _OWN_TAG:
        return _by_path(resolver, call)
    folder = call.argument(0, "save_dir", "output_dir")
    tag = call.argument(1, "tag") if call.method == "save_checkpoint" else None
    where = None if folder is None else pattern_of(resolver, folder, call.function)
    if tag is not None and resolver.value(tag, call.function) is not None:
        return Saved(call.place, where, pattern_of(resolver, tag, call.function))
    own = "" if call.method == "save_state" and where is not None and STEP in where.text else _OWN_TAG[call.method]
    return Saved(call.place, where, Pattern(own))


def _by_path(resolver: Resolver, call: Call) -> Optional[Saved]:
    """PyTorch's distributed checkpoint and Colossal-AI's booster name the whole path at once."""
    given = call.argument(-1, "checkpoint_id", "path") or call.argument(1, "checkpoint")
    if given is None or not isinstance(given, ast.expr):
        return None
    whole = pattern_of(resolver, given, call.function)
    folder, _, name = whole.text.rpartition("/")
    return Saved(call.place, Pattern(folder, whole.strange, whole.names_job), Pattern(name))


def _of_megatron(setup: Setup) -> Iterator[Saved]:
    """Megatron numbers the folders below ``--save`` itself."""
    told = setup.launches.flag("save") if setup.uses_megatron else None
    if told is not None:
        folder = pattern_of_shell(told.text) if told.text else Pattern("{?}", ("--save",))
        yield Saved(told.place, folder, Pattern(_MEGATRON_TAG))
