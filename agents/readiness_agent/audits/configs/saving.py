"""``checkpoint-api``: whether the model is saved by its framework, on all ranks, with tags that are compared."""

from __future__ import annotations

import ast
import re
from typing import Dict, Iterator, List, Optional, Set

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.code import Call
from readiness_agent.audits.configs.setup import Setup
from readiness_agent.audits.configs.values import Resolver
from readiness_agent.facts import ERROR, MISSING, UNREADABLE

ITEM = "checkpoint-api"

SHARDED = frozenset({"save_checkpoint", "save_16bit_model", "save_fp16_model", "save_state", "async_save"})
"""Methods that every rank must call: each writes its own part."""

_DCP = re.compile(
    r"(?:torch\.distributed\.checkpoint|dcp|dist_cp|DCP)(?:\.\w+)*\.(?:save|async_save|save_state_dict)\Z"
)
_BOOSTER = frozenset({"booster.save_model", "booster.save_optimizer", "booster.save_lr_scheduler"})
_PLAIN = frozenset({"torch.save", "safetensors.torch.save_file", "safetensors.torch.save_model"})
_LIBRARIES = frozenset({"torch", "numpy", "json", "pickle", "os", "safetensors", "yaml", "wandb", "pathlib", "shutil"})
_STATEFUL = re.compile(
    r"model|module|network|(?:^|_)net(?:$|_)|engine|optim|fsdp|ddp|backbone|unet|transformer|policy|ema", re.I
)
_SMALL = frozenset({
    "rng", "random", "scheduler", "sched", "sampler", "scaler", "loader", "dataloader", "generator", "args", "config",
    "epoch", "step", "steps", "iteration", "iter", "meta", "metadata", "stats", "metric", "metrics", "loss", "losses",
    "seed", "lr", "time", "history", "progress", "counter", "name", "path", "size", "type", "id",
})  # fmt: skip
"""Words for what is no weight."""

_SETTINGS = frozenset({"config", "args", "name", "path", "size", "type", "id"})
"""Words that make a thing of a model small, whatever stands before them."""

_MODEL_KEYS = re.compile(r"^(?:model|module|network|net|state_dict|weights|optim)|model_state|optimizer", re.I)


def audit_saving(setup: Setup, notes: Notes) -> None:
    """Facts of ``checkpoint-api``, or why they cannot be told."""
    for sentence in setup.unreadable():
        notes.problem(ITEM, UNREADABLE, sentence)
    sharded = [call for _, call in setup.calls() if is_sharded(call)]
    plain = _plain_saves(setup, notes)
    partial = _partial_calls(setup, sharded)
    for call in sharded:
        notes.finding(ITEM, call.place, f"{call.name} saves what each rank holds")
    for call in plain:
        notes.finding(
            ITEM, call.place, f"{call.name} writes weights around the framework: other ranks' parts are left out"
        )
    for call in partial:
        notes.finding(ITEM, call.place, f"{call.name} is reached by some ranks only")
    if not sharded and not plain and not (setup.uses_megatron and setup.launches.flag("save")):
        notes.problem(ITEM, MISSING, "nothing in these files saves a checkpoint: add the training code that does")
    notes.fact(ITEM, "plain_model_saves", len(plain), "count")
    notes.fact(ITEM, "partial_rank_calls", len(partial), "count")
    _tag_validation(setup, notes)


def is_sharded(call: Call) -> bool:
    """Whether this call is one that each rank of a group must make."""
    return call.method in SHARDED or bool(_DCP.search(call.name)) or call.name in _BOOSTER


def _plain_saves(setup: Setup, notes: Notes) -> List[Call]:
    """Saves of weights with no framework's call; one whose content cannot be told is a problem."""
    found = []
    for resolver, call in setup.calls():
        if call.name not in _PLAIN:
            continue
        content = call.argument(0, "obj", "tensors", "model")
        holds = None if content is None else _holds_weights(resolver, content, call.function)
        if holds is None:
            notes.problem(ITEM, ERROR, f"{call.place}: what {call.name} writes cannot be told from the files")
        elif holds:
            found.append(call)
    return found


def _holds_weights(resolver: Resolver, node: ast.AST, function: str, depth: int = 0) -> Optional[bool]:
    """Whether *node* holds the state of a model or an optimizer; None where that cannot be told."""
    if depth > 6:
        return None
    if isinstance(node, ast.Dict):
        return _any(_pair_holds(resolver, key, value, function, depth) for key, value in zip(node.keys, node.values))  # noqa: B905 (of one length)
    if isinstance(node, ast.Constant):
        return False
    if isinstance(node, ast.Call):
        return _call_holds(resolver, node, function, depth)
    if isinstance(node, ast.Name):
        values = resolver.assigned(node.id, function)
        told = [_holds_weights(resolver, value, function, depth + 1) for value in values]
        if any(told):
            return True
        return False if told and None not in told else _by_name(node.id)
    return _by_name(resolver.name(node))


def _pair_holds(
    resolver: Resolver, key: Optional[ast.expr], value: ast.expr, function: str, depth: int
) -> Optional[bool]:
    """One entry of a dict: by its value, else by its key."""
    held = _holds_weights(resolver, value, function, depth + 1)
    word = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    if held is None and word:
        return True if _MODEL_KEYS.search(word) else False if _words(word) & _SMALL else None
    return held


def _call_holds(resolver: Resolver, node: ast.Call, function: str, depth: int) -> Optional[bool]:
    name = resolver.name(node.func)
    if name == "dict":
        pairs = [_pair_holds(resolver, ast.Constant(one.arg), one.value, function, depth) for one in node.keywords]
        return _any(iter(pairs))
    if name.endswith((".state_dict", "get_model_state_dict", "get_state_dict", "get_optimizer_state_dict")):
        owner = _words(name.rpartition(".")[0] or name)
        return _STATEFUL.search(name) is not None or not owner & _SMALL
    if name in ("vars", "list", "str", "int", "float") or "get_rng_state" in name or "getstate" in name:
        return False
    return _by_name(name)


def _by_name(name: str) -> Optional[bool]:
    """By what the name says; one that speaks of a model and of something small decides nothing."""
    words = _words(name)
    if words & _SETTINGS:
        return False
    is_stateful, is_small = bool(_STATEFUL.search(name)), bool(words & _SMALL)
    return None if is_stateful == is_small else is_stateful


def _words(name: str) -> Set[str]:
    """The words of the last part of a dotted name."""
    return set(name.rstrip("()").rpartition(".")[2].lower().split("_"))


def _any(told: Iterator[Optional[bool]]) -> Optional[bool]:
    held = list(told)
    return True if any(held) else None if None in held else False


def _partial_calls(setup: Setup, sharded: List[Call]) -> List[Call]:
    """Calls that some ranks alone reach, directly or through a function that is called by some alone."""
    saving: Set[str] = {call.function for call in sharded if call.function}
    found: Dict[str, Call] = {call.place: call for call in sharded if call.is_partial()}
    while True:
        callers = [call for _, call in setup.calls() if call.method in saving and not _is_library(call)]
        found.update({call.place: call for call in callers if call.is_partial()})
        wider = saving | {call.function for call in callers if call.function}
        if wider == saving:
            return list(found.values())
        saving = wider


def _is_library(call: Call) -> bool:
    """Whether the call is a library's, and no function of this code that bears the same name."""
    return call.name.partition(".")[0] in _LIBRARIES or is_sharded(call)


def _tag_validation(setup: Setup, notes: Notes) -> None:
    """DeepSpeed compares the tag of all ranks, and goes on with a warning unless it is told to fail."""
    if not setup.uses_deepspeed:
        notes.fact(ITEM, "tag_validation_lenient", False, "bool")
        return
    if not setup.deepspeed:
        notes.problem(ITEM, MISSING, "DeepSpeed's configuration is not among these files: add its JSON")
        return
    if setup.damaged():
        return  # told for every item
    for config in setup.deepspeed:
        word = config.block("checkpoint").get("tag_validation", "Warn")
        notes.finding(ITEM, config.source.name, f"checkpoint.tag_validation is {word!r} (Warn is the default)")
    words = {str(config.block("checkpoint").get("tag_validation", "Warn")).lower() for config in setup.deepspeed}
    notes.fact(ITEM, "tag_validation_lenient", words != {"fail"}, "bool")
