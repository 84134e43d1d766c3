"""``amp-config``: the precision of the training, the loss scaler in use, and whether apex is."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.code import Call
from readiness_agent.audits.configs.setup import DeepSpeed, Setup
from readiness_agent.audits.configs.values import UNKNOWN, Resolver
from readiness_agent.facts import ERROR, MISSING, UNREADABLE

ITEM = "amp-config"

FP16, BF16, FP32 = "fp16", "bf16", "fp32"
NO_SCALER, DYNAMIC, FIXED = "none", "dynamic", "fixed"

_AUTOCAST = frozenset({
    "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast_mode.autocast",
    "torch.cuda.amp.autocast_mode.autocast",
})  # fmt: skip
_SCALERS = frozenset({
    "torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler", "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
})  # fmt: skip
_DTYPES = {
    "torch.float16": FP16, "torch.half": FP16, "torch.bfloat16": BF16, "torch.float32": FP32, "torch.float": FP32,
    "fp16": FP16, "bf16": BF16, "no": FP32, "fp32": FP32, "32": FP32, "32-true": FP32, "16": FP16, "16-mixed": FP16,
    "bf16-mixed": BF16, "16-true": FP16, "bf16-true": BF16, "float16": FP16, "bfloat16": BF16, "float32": FP32,
}  # fmt: skip
_OWN_SCALER = {"mixed_precision": "Accelerator", "precision": "Trainer"}
"""Arguments of libraries that scale dynamically by themselves in fp16."""

_NEVER = 1_000_000
"""A scaler that grows after so many steps is a fixed one."""


class Stated(NamedTuple):
    """One statement. A *what* of None is one that cannot be told; *scaler* is what comes with the precision."""

    what: Optional[str]
    place: str
    said: str
    scaler: Optional[str] = None


def audit_precision(setup: Setup, notes: Notes) -> None:
    """Facts of ``amp-config``, or why they cannot be told."""
    for sentence in setup.unreadable():
        notes.problem(ITEM, UNREADABLE, sentence)
    apex = list(_apex(setup))
    stated = [*_of_deepspeed(setup), *_of_scripts(setup), *_of_code(setup)]
    scalers = list(_scalers(setup))
    for one in (*stated, *scalers, *apex):
        notes.finding(ITEM, one.place, one.said)
    undecided = next((one for one in (*stated, *scalers) if one.what is None), None)
    if undecided is not None:
        notes.problem(ITEM, ERROR, f"{undecided.place}: {undecided.said}")
    notes.fact(ITEM, "apex_used", bool(apex), "bool")
    precisions = sorted({one.what for one in stated if one.what})
    if not precisions and undecided is None:
        notes.problem(ITEM, MISSING, "no file states the precision: add the launch script or the training code")
    if len(precisions) > 1:
        notes.problem(ITEM, ERROR, f"the files state {' and '.join(precisions)}: name those of this run alone")
    if len(precisions) == 1 and undecided is None:
        _conclude(notes, precisions[0], [*stated, *scalers])


def _conclude(notes: Notes, precision: str, stated: List[Stated]) -> None:
    """One precision, and what scales its loss: bf16 and fp32 need no scaler, fp16 needs one."""
    found = {one.scaler for one in stated if one.scaler}
    scaler = FIXED if FIXED in found else DYNAMIC if DYNAMIC in found else NO_SCALER
    notes.fact(ITEM, "precision", precision, "text")
    notes.fact(ITEM, "scaler", scaler, "text")
    notes.fact(ITEM, "scaler_fits", (scaler != NO_SCALER) == (precision == FP16), "bool")


def _of_deepspeed(setup: Setup) -> Iterator[Stated]:
    for config in setup.deepspeed:
        name = config.source.name
        for block, what in (("fp16", FP16), ("bf16", BF16), ("bfloat16", BF16)):
            enabled = config.block(block).get("enabled")
            if enabled == "auto":
                yield from _auto(setup, name, block, what)
            elif enabled is True:
                scaler = _deepspeed_scaler(config) if what == FP16 else None
                yield Stated(what, name, f"DeepSpeed trains in {what}{f', scaler {scaler}' if scaler else ''}", scaler)
            elif enabled not in (None, False):
                yield Stated(None, name, f"{block}.enabled is {enabled!r}, which is neither true nor false")


def _auto(setup: Setup, name: str, block: str, what: str) -> Iterator[Stated]:
    """``auto`` is filled in from the flag of the same name by whatever calls DeepSpeed."""
    on = setup.launches.switch(block)
    if setup.launches and setup.launches.flag(block) is None:
        on = False
    if on is None:
        yield Stated(None, name, f"{block}.enabled is auto, and no launch script shows --{block}")
    elif on:
        yield Stated(
            what, name, f"{block}.enabled is auto, and --{block} turns it on", DYNAMIC if what == FP16 else None
        )


def _deepspeed_scaler(config: DeepSpeed) -> str:
    scale: Any = config.block("fp16").get("loss_scale", 0)
    return DYNAMIC if scale in (0, 0.0, "auto") else FIXED


def _of_scripts(setup: Setup) -> Iterator[Stated]:
    """Megatron's flags, and those of trainers that have flags of the same names."""
    for flag, what in (("fp16", FP16), ("bf16", BF16)):
        told = setup.launches.flag(flag)
        if told is None or (setup.launches.switch(flag) is False):
            continue
        if told.value is None or setup.launches.switch(flag) is None:
            yield Stated(None, told.place, told.why or f"--{flag} has a value that is neither true nor false")
            continue
        scale = setup.launches.flag("loss_scale")
        scaler = None if what == BF16 else DYNAMIC if scale is None else FIXED
        yield Stated(what, told.place, f"--{flag} is given{f', scaler {scaler}' if scaler else ''}", scaler)
    for flag in ("mixed_precision", "precision", "dtype"):
        told = setup.launches.flag(flag)
        given = _DTYPES.get((told.value or "").lower()) if told else None
        if told and given:
            yield Stated(given, told.place, f"--{flag} {told.value}", DYNAMIC if given == FP16 else None)


def _of_code(setup: Setup) -> Iterator[Stated]:
    for resolver, call in setup.calls():
        if call.name in _AUTOCAST:
            yield from _autocast(resolver, call)
        elif call.method == "MixedPrecision":
            yield from _typed(resolver, call, call.argument(0, "param_dtype"), "MixedPrecision", None)
        elif call.method == "half" and not call.node.args:
            yield Stated(FP16, call.place, "the model itself is made fp16")
        elif call.method == "bfloat16" and not call.node.args:
            yield Stated(BF16, call.place, "the model itself is made bf16")
        elif call.method in _OWN_SCALER.values():
            yield from _library(resolver, call)
        elif call.method.endswith("TrainingArguments"):
            yield from _switched(resolver, call)


def _autocast(resolver: Resolver, call: Call) -> Iterator[Stated]:
    """``torch.cuda.amp.autocast(enabled, dtype)``; the other spellings name a device first, and default by it."""
    is_old = ".cuda." in call.name
    enabled = call.argument(0 if is_old else 2, "enabled")
    on = True if enabled is None else resolver.value(enabled, call.function)
    if on is UNKNOWN:
        yield Stated(None, call.place, "whether autocast is enabled cannot be told from the files")
    elif on:
        device = "cuda" if is_old else resolver.value(call.argument(0, "device_type"), call.function)
        default = BF16 if device == "cpu" else FP16
        yield from _typed(resolver, call, call.argument(1, "dtype"), "autocast", default)


def _typed(
    resolver: Resolver, call: Call, dtype: Optional[ast.expr], what: str, default: Optional[str]
) -> Iterator[Stated]:
    if dtype is None or (isinstance(dtype, ast.Constant) and dtype.value is None):
        if default is not None:
            yield Stated(default, call.place, f"{what} without a dtype is {default}")
        return
    found = _dtype(resolver, dtype, call.function)
    if found is None:
        yield Stated(None, call.place, f"the dtype of {what} cannot be told from the files")
    elif found != FP32:
        yield Stated(found, call.place, f"{what} in {found}")


def _dtype(resolver: Resolver, node: ast.expr, function: str, depth: int = 0) -> Optional[str]:
    """``torch.bfloat16``, a name that stands for it, or a choice that the flags decide."""
    name = resolver.name(node)
    if name in _DTYPES or depth > 4:
        return _DTYPES.get(name)
    if isinstance(node, ast.IfExp):
        test = resolver.truth(node.test, function)
        return None if test is None else _dtype(resolver, node.body if test else node.orelse, function, depth + 1)
    if isinstance(node, ast.Call) and name == "getattr()" and len(node.args) == 2:
        return _DTYPES.get(f"torch.{resolver.value(node.args[1], function)}")
    if isinstance(node, ast.Name):
        values = resolver.assigned(node.id, function)
        return _dtype(resolver, values[0], function, depth + 1) if len(values) == 1 else None
    return _DTYPES.get(str(resolver.value(node, function)))


def _library(resolver: Resolver, call: Call) -> Iterator[Stated]:
    """Accelerate and Lightning cast, and scale in fp16, by themselves."""
    for name, library in _OWN_SCALER.items():
        given = call.argument(-1, name)
        if given is None or call.method != library:
            continue
        found = _DTYPES.get(str(resolver.value(given, call.function)))
        said = f"{library}({name}=…) is {found}" if found else f"{name} of {library} cannot be told from the files"
        yield Stated(found, call.place, said, DYNAMIC if found == FP16 else None)


def _switched(resolver: Resolver, call: Call) -> Iterator[Stated]:
    for name, what in (("fp16", FP16), ("bf16", BF16)):
        given = call.argument(-1, name)
        on = False if given is None else resolver.value(given, call.function)
        if on is UNKNOWN:
            yield Stated(None, call.place, f"whether {call.method} has {name} cannot be told from the files")
        elif on:
            yield Stated(what, call.place, f"{call.method}({name}=True)", DYNAMIC if what == FP16 else None)


def _scalers(setup: Setup) -> Iterator[Stated]:
    """Scalers of PyTorch that are made, enabled and used."""
    used = any(call.method == "scale" for _, call in setup.calls())
    for resolver, call in setup.calls():
        if call.name not in _SCALERS:
            continue
        enabled = call.argument(-1, "enabled")
        on = True if enabled is None else resolver.value(enabled, call.function)
        if on is UNKNOWN:
            yield Stated(None, call.place, "whether the GradScaler is enabled cannot be told from the files")
        elif on and not used:
            yield Stated("", call.place, "a GradScaler is made, and scale() of it is never called: it scales nothing")
        elif on:
            kind = _kind(resolver, call)
            yield Stated("", call.place, f"{call.name} scales the loss ({kind})", kind)


def _kind(resolver: Resolver, call: Call) -> str:
    interval = resolver.value(call.argument(-1, "growth_interval"), call.function)
    return FIXED if isinstance(interval, int) and interval >= _NEVER else DYNAMIC


def _apex(setup: Setup) -> Iterator[Stated]:
    """``apex.amp``, however it is imported; other parts of apex are no matter here."""
    places: Dict[str, None] = {}
    for module in setup.modules:
        for name, line in module.places.items():
            if name == "apex.amp" or name.startswith("apex.amp."):
                places[f"{module.name}:{line}"] = None
    for resolver, call in setup.calls():
        if call.name.startswith("apex.amp.") or resolver.value(call.argument(0)) == "apex.amp":
            places[call.place] = None
    for place in places:
        yield Stated("", place, "apex.amp is used: PyTorch's own autocast took its place")
    for config in setup.deepspeed:
        if config.block("amp").get("enabled") not in (None, False):
            yield Stated("", config.source.name, "the amp block of DeepSpeed is apex.amp")
