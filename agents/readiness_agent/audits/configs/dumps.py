"""``ops-error-dump``: whether a signal makes a hung rank tell its stacks, without taking the scheduler's own signal."""

from __future__ import annotations

import ast
import re
from typing import List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.code import Call, Module, dotted
from readiness_agent.audits.configs.setup import Setup
from readiness_agent.audits.configs.values import Resolver
from readiness_agent.facts import ERROR, MISSING, UNREADABLE

ITEM = "ops-error-dump"

_SIGNAL = re.compile(r"(?:signal\.)?(?:Signals\.)?(SIG[A-Z0-9]+)\Z")
_DUMPS = re.compile(
    r"faulthandler\.dump_traceback|traceback\.(?:print_stack|format_stack)|sys\._current_frames|memory_(?:summary|snapshot)"
)
_ASKED = re.compile(r"(?:[BR]+:)?(?:SIG)?([A-Z0-9]+)(?:@\d+)?\Z")
_REQUEUING = {"pytorch_lightning": "SIGUSR1", "lightning": "SIGUSR1", "submitit": "SIGUSR2"}
"""Libraries that take a signal as the scheduler's word to requeue."""


class Handler(NamedTuple):
    """One registration. *number* is a name such as ``SIGUSR2``; None where it cannot be told."""

    number: Optional[str]
    place: str
    dumps: bool
    chains: bool


def audit_dumps(setup: Setup, notes: Notes) -> None:
    """Facts of ``ops-error-dump``, or why they cannot be told."""
    for sentence in setup.unreadable():
        notes.problem(ITEM, UNREADABLE, sentence)
    if not setup.modules:
        notes.problem(ITEM, MISSING, "no training code is among these files: add the script that is started")
        return
    handlers = _handlers(setup)
    dumping = [one for one in handlers if one.dumps]
    for one in handlers:
        what = "dumps the stacks" if one.dumps else "does something else"
        notes.finding(ITEM, one.place, f"a handler of {one.number or 'some signal'} {what}")
    notes.fact(ITEM, "handler_registered", bool(dumping), "bool")
    _requeue(setup, handlers, dumping, notes)


def _requeue(setup: Setup, handlers: Sequence[Handler], dumping: Sequence[Handler], notes: Notes) -> None:
    """Whether a dump takes the signal by which the job is asked to requeue."""
    if any(one.number is None for one in dumping):
        notes.problem(ITEM, ERROR, f"{dumping[0].place}: which signal it takes cannot be told from the files")
        return
    if dumping and not setup.launches:
        notes.problem(ITEM, MISSING, "no launch script shows which signal the scheduler sends: add the one of this run")
        return
    taken, place = _scheduler_signal(setup)
    if taken == "":
        notes.problem(ITEM, ERROR, f"{place}: which signal the scheduler sends cannot be told")
        return
    others = {one.number for one in handlers if not one.dumps}
    clashing = [one for one in dumping if (one.number == taken or one.number in others) and not one.chains]
    for one in clashing:
        notes.finding(ITEM, one.place, f"{one.number} is also the signal of a requeue: whoever registers last wins")
    notes.fact(ITEM, "replaces_requeue", bool(clashing), "bool")


def _scheduler_signal(setup: Setup) -> Tuple[Optional[str], str]:
    """The signal that ranks get before a requeue, and where that is said; empty where it cannot be told."""
    told = setup.launches.option("signal")
    if told is not None:
        if told.value is None or not _ASKED.match(told.value):
            return "", told.place
        if "B" not in told.value.partition(":")[0] or ":" not in told.value:  # B: only the batch shell gets it
            return "SIG" + _ASKED.sub(r"\1", told.value), told.place
    for library, number in _REQUEUING.items():
        place = setup.imports(library)
        if place is not None:
            return number, place
    return None, ""


def _handlers(setup: Setup) -> List[Handler]:
    found = []
    for module in setup.modules:
        resolver = setup.resolver(module)
        for call in module.calls:
            if call.name == "faulthandler.register":
                chain = call.argument(3, "chain")
                chains = chain is not None and resolver.value(chain, call.function) is True
                found.append(Handler(_number(resolver, call), call.place, True, chains))
            elif call.name == "signal.signal":
                found.append(Handler(_number(resolver, call), call.place, _is_dump(module, call), False))
    return found


def _number(resolver: Resolver, call: Call) -> Optional[str]:
    given = call.argument(0, "signum", "signalnum")
    if isinstance(given, ast.Name):
        values = resolver.assigned(given.id, call.function)
        given = values[0] if len(values) == 1 else given
    found = _SIGNAL.match(resolver.name(given)) if given is not None else None
    return found[1] if found else None


def _is_dump(module: Module, call: Call) -> bool:
    """Whether the handler's own body writes stacks, or what the GPU's memory holds."""
    handler = call.argument(1, "handler")
    name = dotted(handler, module.imports).rpartition(".")[2] if handler is not None else ""
    body: Optional[ast.AST] = module.functions.get(name) if not isinstance(handler, ast.Lambda) else handler
    names = [dotted(one.func, module.imports) for one in ast.walk(body) if isinstance(one, ast.Call)] if body else []
    return any(_DUMPS.search(one) for one in names)
