"""Limits for open files and locked memory, where a job runs or will run. The agent's own limits prove nothing."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Tuple

from readiness_agent.facts import MISSING, NOT_CAPTURED, CouldNotMeasure, Findings, ProbeResult
from readiness_agent.parsers.limits import (
    Account,
    Amount,
    Limit,
    Limits,
    parse_limits_conf,
    parse_process_limits,
    parse_ulimit,
    parse_unit_limits,
    resolve_limits,
)
from readiness_agent.probes.jobs import find_jobs, find_user
from readiness_agent.source import JOB_LIMITS, Probe, ProbeContext, Source, not_configured

UNITS = {"ulimit-nofile": "count", "ulimit-memlock": "bytes"}
ITEMS = tuple(UNITS)
LAUNCHERS = ("slurmd.service", "containerd.service")
"""Units whose limits the processes of jobs inherit."""
PROPERTIES = "LoadState,LimitNOFILE,LimitNOFILESoft,LimitMEMLOCK,LimitMEMLOCKSoft"
LIMITS_CONF = "/etc/security/limits.conf"
LIMITS_DIRECTORY = "/etc/security/limits.d"

NOTHING = Limit(None, None)

Look = Callable[[Source, ProbeContext], Limits]


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """The first place that states both limits of an item answers for it, or the first that states one if none does."""
    findings = Findings(source.now_boottime())
    known: Dict[str, Tuple[Limit, str]] = {}
    refusals: List[CouldNotMeasure] = []
    for name, look in PLACES:
        if _is_complete(known):
            break
        try:
            _keep(known, look(source, context), name)
        except CouldNotMeasure as error:
            refusals.append(error)
    for item in ITEMS:
        with findings.attempt(item):
            limit, place = known.get(item) or _no_job_seen(refusals)
            _facts(findings, item, limit, place)
    shown = [f"{item}: soft {limit.soft}, hard {limit.hard} ({place})" for item, (limit, place) in known.items()]
    findings.evidence("\n".join([*shown, *(error.detail for error in refusals)]), *ITEMS)
    return findings.result()


def _keep(known: Dict[str, Tuple[Limit, str]], limits: Limits, place: str) -> None:
    """Keep what is better than what is known: both limits rather than one, an earlier place rather than a later one."""
    for item, limit in (("ulimit-nofile", limits.nofile), ("ulimit-memlock", limits.memlock)):
        best = known.get(item, (NOTHING, ""))[0]
        if None in best and best.count(None) > limit.count(None):
            known[item] = (limit, place)


def _is_complete(known: Dict[str, Tuple[Limit, str]]) -> bool:
    return len(known) == len(ITEMS) and not any(None in limit for limit, _ in known.values())


def _no_job_seen(refusals: List[CouldNotMeasure]) -> Tuple[Limit, str]:
    """Raises: *missing* when every place was looked at and empty, else the first other reason."""
    other = [error for error in refusals if error.kind != MISSING]
    kind = other[0].kind if other else MISSING
    because = f" ({other[0].detail})" if other else ""
    raise CouldNotMeasure(
        kind, f"no job seen, no limits of a job_user configured, and no slurmd or containerd unit{because}"
    )


def _facts(findings: Findings, item: str, limit: Limit, place: str) -> None:
    if limit.soft is not None:
        findings.fact(item, "soft", limit.soft, UNITS[item])
    if limit.hard is not None:
        findings.fact(item, "hard", limit.hard, UNITS[item])
    findings.fact(item, "context", place, "text")


def _of_captured_job(source: Source, _: ProbeContext) -> Limits:
    """From ``/proc/PID/limits`` of the job, or what ``ulimit -a`` printed in it."""
    text = source.read(JOB_LIMITS)
    return parse_process_limits(text) if "Soft Limit" in text else parse_ulimit(text)


def _of_running_jobs(source: Source, context: ProbeContext) -> Limits:
    """The lowest of all processes of jobs: one rank with too few files stops all of them."""
    found: List[Limits] = []
    for pid in find_jobs(source, context.job_user):
        try:
            found.append(parse_process_limits(source.read(f"/proc/{pid}/limits")))
        except CouldNotMeasure as error:
            if error.kind == NOT_CAPTURED:
                raise
    if not found:
        raise CouldNotMeasure(MISSING, "no job is running")
    return Limits(_lowest([one.nofile for one in found]), _lowest([one.memlock for one in found]))


def _lowest(limits: List[Limit]) -> Limit:
    return Limit(min((one.soft for one in limits), key=_size), min((one.hard for one in limits), key=_size))


def _size(amount: Optional[Amount]) -> float:
    return float(amount) if isinstance(amount, int) else float("inf")


def _of_job_user(source: Source, context: ProbeContext) -> Limits:
    """What PAM will give the configured user, from limits.conf and limits.d."""
    if context.job_user is None:
        raise not_configured(context, "job_user")
    user = find_user(source, context.job_user)
    texts = _texts(source)
    rules = [rule for text in texts for rule in parse_limits_conf(text)]
    return resolve_limits(rules, Account(context.job_user, user.uid, user.gid, user.groups))


def _texts(source: Source) -> List[str]:
    """limits.conf first, then limits.d in the order of names, as PAM reads them."""
    try:
        names = source.listdir(LIMITS_DIRECTORY)
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
        names = []
    texts = [source.read(f"{LIMITS_DIRECTORY}/{name}") for name in names if name.endswith(".conf")]
    try:
        return [source.read(LIMITS_CONF), *texts]
    except CouldNotMeasure as error:
        if error.kind != MISSING:
            raise
    return texts


def _of_launcher(source: Source, _: ProbeContext) -> Limits:
    for unit in LAUNCHERS:
        shown = source.run(("systemctl", "show", "-p", PROPERTIES, unit), 4.0)
        limits = parse_unit_limits(shown.stdout)
        if limits is not None:
            return limits
    raise CouldNotMeasure(MISSING, f"none of {', '.join(LAUNCHERS)} is installed")


PLACES: Tuple[Tuple[str, Look], ...] = (
    ("job", _of_captured_job),
    ("job", _of_running_jobs),
    ("limits.d", _of_job_user),
    ("unit", _of_launcher),
)
"""Where limits are looked for, best first."""

LIMITS = Probe("limits", ITEMS, "tick", measure)
