"""``collective-timeout``: how long a collective may take, and whether a hung one leaves a record."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, List, NamedTuple, Optional

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.code import Call
from readiness_agent.audits.configs.environment import settings_of
from readiness_agent.audits.configs.setup import Setup
from readiness_agent.audits.configs.values import UNKNOWN, Resolver
from readiness_agent.facts import ERROR, MISSING, UNREADABLE

ITEM = "collective-timeout"

NCCL_DEFAULT = 600.0
"""Seconds: PyTorch's own limit for process groups of NCCL."""

OTHER_DEFAULT = 1800.0
"""Seconds: PyTorch's limit for other backends, which DeepSpeed and transformers take for NCCL as well."""

_DEFAULTS: Dict[str, float] = {
    "torch.distributed.init_process_group": NCCL_DEFAULT,
    "deepspeed.init_distributed": OTHER_DEFAULT,
}
_FLAGS = {"distributed_timeout_minutes": 60.0, "ddp_timeout": 1.0, "ddp_timeout_seconds": 1.0}
_BUFFERS = ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE")
_UNITS = {"days": 86_400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0, "milliseconds": 0.001, "weeks": 604_800.0}
_POSITIONS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")


class Limit(NamedTuple):
    """One statement of the time-out, in seconds; None where it cannot be told."""

    seconds: Optional[float]
    place: str
    said: str


def audit_timeout(setup: Setup, notes: Notes) -> None:
    """Facts ``timeout`` and ``flight_recorder``; how long a save takes, only a log can tell."""
    for sentence in setup.unreadable():
        notes.problem(ITEM, UNREADABLE, sentence)
    limits = [*_of_flags(setup), *_of_variables(setup)] or list(_of_code(setup))
    for one in limits:
        notes.finding(ITEM, one.place, one.said)
    undecided = next((one for one in limits if one.seconds is None), None)
    if undecided is not None:
        notes.problem(ITEM, ERROR, f"{undecided.place}: {undecided.said}")
    elif limits:
        # Several groups: the shortest limit is the one that kills.
        notes.fact(ITEM, "timeout", min(one.seconds for one in limits if one.seconds is not None), "seconds")
    elif setup.uses_megatron:
        notes.fact(ITEM, "timeout", NCCL_DEFAULT, "seconds")
    else:
        notes.problem(ITEM, MISSING, "no call of init_process_group, and no launcher's time-out, is in these files")
    _recorder(setup, notes)


def _of_flags(setup: Setup) -> Iterator[Limit]:
    for flag, unit in _FLAGS.items():
        told = setup.launches.flag(flag)
        if told is None:
            continue
        try:
            seconds = float(told.value) * unit if told.value is not None else None
        except ValueError:
            seconds = None
        yield Limit(seconds, told.place, told.why or f"--{flag} {told.value}")


def _of_variables(setup: Setup) -> Iterator[Limit]:
    """DeepSpeed reads its default, in minutes, from the environment."""
    for one in settings_of(setup, "DEEPSPEED_TIMEOUT") if setup.uses_deepspeed else ():
        is_number = one.value is not None and one.value.isdigit()
        yield Limit(float(one.value) * 60 if is_number and one.value else None, one.place, f"{one.name}={one.value}")


def _of_code(setup: Setup) -> Iterator[Limit]:
    for resolver, call in setup.calls():
        name = _normal(call.name)
        if name in _DEFAULTS:
            given = call.argument(-1, "timeout")
            yield _limit(resolver, call, given, _DEFAULTS[name], name)
        elif call.method == "InitProcessGroupKwargs":
            yield _limit(resolver, call, call.argument(-1, "timeout"), NCCL_DEFAULT, call.method)
        elif call.method.endswith("TrainingArguments"):
            yield _limit(resolver, call, call.argument(-1, "ddp_timeout"), OTHER_DEFAULT, call.method)


def _normal(name: str) -> str:
    return {"torch.distributed.distributed_c10d.init_process_group": "torch.distributed.init_process_group"}.get(
        name, name
    )


def _limit(resolver: Resolver, call: Call, given: Optional[ast.expr], default: float, name: str) -> Limit:
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return Limit(default, call.place, f"{name} without a timeout: {default:.0f} s, the default")
    seconds = _seconds(resolver, given, call.function)
    said = (
        f"the timeout of {name} is {seconds:.0f} s" if seconds is not None else f"the timeout of {name} cannot be told"
    )
    return Limit(seconds, call.place, said)


def _seconds(resolver: Resolver, node: ast.expr, function: str, depth: int = 0) -> Optional[float]:
    """Seconds of ``timedelta(...)``, of a plain number, or of a name that stands for one."""
    if isinstance(node, ast.Name) and depth < 4:
        values = resolver.assigned(node.id, function)
        return _seconds(resolver, values[0], function, depth + 1) if len(values) == 1 else None
    if isinstance(node, ast.Call) and resolver.name(node.func).rpartition(".")[2] == "timedelta":
        return _of_timedelta(resolver, node, function)
    held = resolver.value(node, function)
    return float(held) if isinstance(held, (int, float)) and not isinstance(held, bool) else None


def _of_timedelta(resolver: Resolver, node: ast.Call, function: str) -> Optional[float]:
    given = [*zip(_POSITIONS, node.args), *((one.arg or "", one.value) for one in node.keywords)]  # noqa: B905
    total = 0.0
    for name, value in given:
        held = resolver.value(value, function)
        if held is UNKNOWN or not isinstance(held, (int, float)) or name not in _UNITS:
            return None
        total += held * _UNITS[name]
    return total


def _recorder(setup: Setup, notes: Notes) -> None:
    """The flight recorder keeps the last collectives where its buffer has room for some."""
    settings = [one for name in _BUFFERS for one in settings_of(setup, name)]
    sizes: List[Optional[int]] = [int(one.value) if one.value and one.value.isdigit() else None for one in settings]
    if settings and None in sizes:
        notes.problem(ITEM, ERROR, f"{settings[sizes.index(None)].place}: the size of the trace buffer cannot be told")
    elif settings:
        notes.fact(ITEM, "flight_recorder", max(size for size in sizes if size is not None) > 0, "bool")
        notes.finding(ITEM, settings[0].place, f"{settings[0].name}={settings[0].value}")
    elif not setup.launches:
        notes.problem(ITEM, MISSING, "no launch script shows the environment: add the one that starts the run")
    elif setup.launches.unseen():
        notes.problem(ITEM, MISSING, f"{setup.launches.unseen()[0]} sets variables, too: add it to the audit")
    else:
        notes.fact(ITEM, "flight_recorder", False, "bool")
        notes.finding(
            ITEM, setup.launches.scripts[0].name, f"{_BUFFERS[0]} is not set: a hung collective leaves no record"
        )
