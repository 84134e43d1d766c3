"""``zero-offload-compat``: ZeRO-3 with the optimizer on NVMe, which only a proven resume settles."""

from __future__ import annotations

from typing import Any

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.setup import DeepSpeed, Setup
from readiness_agent.facts import ERROR

ITEM = "zero-offload-compat"

_PLACES = ("cpu", "nvme", "none", None)


def audit_offload(setup: Setup, notes: Notes) -> None:
    """Fact ``nvme_offload``; whether a resume was proven with this very configuration no file can say.

    That there is none excuses the whole item, so it is only told where every file could be read.
    """
    why = _undecided(setup)
    risky = [one.source.name for one in setup.deepspeed if _is_risky(one)]
    for name in risky:
        notes.finding(ITEM, name, "ZeRO-3 keeps the optimizer on NVMe: prove a resume with exactly this file")
    if risky:
        notes.fact(ITEM, "nvme_offload", True, "bool")
    elif why:
        notes.problem(ITEM, ERROR, why)
    else:
        notes.fact(ITEM, "nvme_offload", False, "bool")


def _undecided(setup: Setup) -> str:
    """Why it cannot be told that nothing is offloaded; empty where it can."""
    unread = [*setup.damaged(), *setup.unreadable()]
    if unread:
        return unread[0]
    if setup.uses_deepspeed and not setup.deepspeed:
        return "DeepSpeed's configuration is not among these files: add its JSON"
    odd = next((one for one in setup.deepspeed if _stage(one) not in (0, 1, 2, 3) or _device(one) not in _PLACES), None)
    return (
        f"{odd.source.name}: stage {_stage(odd)!r} with the optimizer on {_device(odd)!r} decides nothing"
        if odd
        else ""
    )


def _is_risky(config: DeepSpeed) -> bool:
    return bool(_stage(config) == 3 and _device(config) == "nvme")


def _stage(config: DeepSpeed) -> Any:
    held = (config.held.value or {}).get("zero_optimization")
    return config.block("zero_optimization").get("stage", 0) if held is None or isinstance(held, (dict, bool)) else held


def _device(config: DeepSpeed) -> Any:
    part = config.block("zero_optimization").get("offload_optimizer")
    return part.get("device") if isinstance(part, dict) else part
