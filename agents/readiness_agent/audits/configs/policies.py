"""What launch scripts tell of operations: ``ops-log-policy``, ``scheduler-fit`` and ``ops-spot-resume``."""

from __future__ import annotations

import re
from typing import Optional

from readiness_agent.audits import Notes
from readiness_agent.audits.configs.environment import Setting, settings_of
from readiness_agent.audits.configs.setup import Setup
from readiness_agent.facts import ERROR, MISSING

LOG_ITEM, FIT_ITEM, SPOT_ITEM = "ops-log-policy", "scheduler-fit", "ops-spot-resume"

UNLIMITED = 10 * 365 * 86_400
"""Seconds that stand for a job without a time limit: longer than any plan."""

_TALKATIVE = frozenset({"INFO", "TRACE"})
_SUBSYSTEMS = frozenset({"INIT", "NET"})
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?\Z")
_SPOT = re.compile(r"spot|preempt|interruptible|scavenge", re.I)


def audit_logging(setup: Setup, notes: Notes) -> None:
    """Facts ``debug_detail`` and ``nccl_log_separate``; what a log really holds, only the log tells."""
    unseen = setup.launches.unseen()
    if not setup.launches or unseen:
        what = f"{unseen[0]} sets variables, too" if unseen else "no launch script shows the environment"
        notes.problem(LOG_ITEM, MISSING, f"{what}: add it to the audit")
        return
    named = {name: _one(setup, name, notes) for name in ("TORCH_DISTRIBUTED_DEBUG", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS")}
    if any(one is not None and one.value is None for one in named.values()):
        return
    detail = _word(named["TORCH_DISTRIBUTED_DEBUG"])
    level, parts = _word(named["NCCL_DEBUG"]), {*filter(None, _word(named["NCCL_DEBUG_SUBSYS"]).split(","))}
    has_file = bool(settings_of(setup, "NCCL_DEBUG_FILE"))
    quiet = level not in _TALKATIVE
    notes.fact(LOG_ITEM, "debug_detail", detail == "DETAIL", "bool")
    notes.fact(LOG_ITEM, "nccl_log_separate", quiet or (level == "INFO" and has_file and parts <= _SUBSYSTEMS), "bool")
    for one in filter(None, named.values()):
        notes.finding(LOG_ITEM, one.place, f"{one.name}={one.value}")
    if not quiet and not has_file:
        notes.finding(
            LOG_ITEM, setup.launches.scripts[0].name, "NCCL_DEBUG_FILE is not set: NCCL writes into train.log"
        )


def _one(setup: Setup, name: str, notes: Notes) -> Optional[Setting]:
    """The last place that sets *name*; what code sets comes after what the script did."""
    found = settings_of(setup, name)
    if any(one.value is None for one in found):
        notes.problem(LOG_ITEM, ERROR, f"{found[-1].place}: the value of {name} cannot be told from the files")
        return found[-1]._replace(value=None)
    return found[-1] if found else None


def _word(setting: Optional[Setting]) -> str:
    return (setting.value or "").upper() if setting else ""


def audit_scheduling(setup: Setup, notes: Notes) -> None:
    """What ``#SBATCH`` lines ask for; the plan is the run's own, and the portal knows it."""
    told = setup.launches.option("time")
    if told is None:
        notes.problem(FIT_ITEM, MISSING, "no #SBATCH --time: the partition's own limit cannot be told from the files")
    else:
        seconds = seconds_of(told.value or "")
        if seconds is None:
            notes.problem(FIT_ITEM, ERROR, told.why or f"{told.place}: {told.value!r} is no time of Slurm")
        else:
            notes.fact(FIT_ITEM, "time_limit", seconds, "seconds")
            notes.finding(FIT_ITEM, told.place, f"--time={told.value}")
    _reservation(setup, notes)
    asks, refuses = setup.launches.option("requeue"), setup.launches.option("no-requeue")
    if asks is None and refuses is None:
        notes.problem(
            FIT_ITEM, MISSING, "neither #SBATCH --requeue nor --no-requeue: what the cluster does cannot be told"
        )
    else:
        notes.fact(FIT_ITEM, "requeue", refuses is None, "bool")


def _reservation(setup: Setup, notes: Notes) -> None:
    """Without a reservation there is none that could end before the plan does."""
    told = setup.launches.option("reservation")
    if told is None:
        notes.fact(FIT_ITEM, "reservation_covers", True, "bool")
    else:
        notes.problem(FIT_ITEM, MISSING, f"{told.place}: until when {told.value} holds tells only the scheduler")


def seconds_of(text: str) -> Optional[int]:
    """Seconds of ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours[:minutes[:seconds]]``."""
    if text.upper() in ("UNLIMITED", "INFINITE", "0", "-1"):
        return UNLIMITED
    found = _TIME.match(text)
    if not found or len(text) > 20:
        return None
    days, *rest = (int(one) if one else None for one in found.groups())
    first, second, third = rest[0] or 0, rest[1], rest[2]
    if days is not None:
        return days * 86_400 + first * 3600 + (second or 0) * 60 + (third or 0)
    if third is not None:
        return first * 3600 + (second or 0) * 60 + third
    return first * 60 + (second or 0)


def audit_spot(setup: Setup, notes: Notes) -> None:
    """Whether the job runs on instances that may be taken away; that nothing says so proves nothing."""
    for name in ("partition", "qos"):
        told = setup.launches.option(name)
        if told is not None and _SPOT.search(told.value or ""):
            notes.fact(SPOT_ITEM, "spot", True, "bool")
            notes.finding(SPOT_ITEM, told.place, f"--{name}={told.value}: prove that a restart continues exactly")
            return


def says_spot(setup: Setup) -> bool:
    """Whether a script names such instances."""
    told = [setup.launches.option(name) for name in ("partition", "qos")]
    return any(one is not None and _SPOT.search(one.value or "") for one in told)
