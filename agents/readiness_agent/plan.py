"""What is due now. The plan says which built-in items to measure and how often: names and bounded numbers only."""

from __future__ import annotations

import zlib
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from readiness_agent.node import Moment
from readiness_agent.source import Probe
from readiness_agent.state import KEPT_RECHECKS, State
from readiness_agent.values import bounded

SCHEMA = 1
"""The report schema this agent writes."""

MOST_ITEMS = 512
"""In one plan: what one report may cover."""

LONGEST_NAME = 64

MOST_SETTINGS = 100
LONGEST_SETTING = 200

HOUR = 3600.0
DAY = 86400.0
RETRY_MINUTES = (5, 10, 20, 40, 60)
"""When an item that could not be measured is tried again, after the first, second … time."""

SLACK = 5.0
"""Seconds by which cron may be early or late without a poll being missed."""


class Plan(NamedTuple):
    """A plan, checked: whatever else the portal sent is not in it."""

    interval: float = 300.0
    poll_after: float = 60.0
    tick: Optional[Tuple[str, ...]] = None
    """None: no plan yet, so every probe of that cadence."""
    daily: Optional[Tuple[str, ...]] = None
    offline: Tuple[str, ...] = ()
    """What disturbs a job, and is due in the window that is open now."""
    rechecks: Tuple[Tuple[str, Tuple[str, ...]], ...] = ()
    settings: Tuple[Tuple[str, str], ...] = ()
    """Items of the cluster's own, each with the name of the setting that it asks for."""
    fingerprint: float = 0.0
    """Seconds between two readings of all settings; 0: nobody wants them."""

    def as_sent(self) -> Dict[str, Any]:
        """The plan in the portal's own words, without whatever else it sent: what is worth keeping."""
        named = {name: list(items) for name, items in (("tick", self.tick), ("daily", self.daily)) if items is not None}
        rechecks = [{"id": id_, "items": list(items)} for id_, items in self.rechecks]
        offline = {"offline": list(self.offline)} if self.offline else {}
        settings = [{"item": item, "name": name} for item, name in self.settings]
        more = {name: kept for name, kept in (("settings", settings), ("fingerprint", self.fingerprint)) if kept}
        return {
            "interval": self.interval, "poll_after": self.poll_after, "recheck": rechecks, **named, **offline, **more
        }  # fmt: skip


class Wanted(NamedTuple):
    """One report that is due, before anybody has looked which probes make it."""

    cadence: str
    items: Optional[Tuple[str, ...]]
    """None: whatever this agent can measure at that cadence."""
    rechecks: Tuple[str, ...] = ()


class Due(NamedTuple):
    """One report to make now."""

    cadence: str
    probes: Tuple[Probe, ...]
    rechecks: Tuple[str, ...] = ()


def checked_plan(raw: Dict[str, Any]) -> Optional[Plan]:
    """The usable part of what the portal sent.

    None when this agent cannot write any schema it accepts, or when it names more items than a report may cover.
    """
    if SCHEMA not in _list(raw.get("schemas", [SCHEMA])):
        return None
    if any(len(_list(raw.get(cadence))) > MOST_ITEMS for cadence in ("tick", "daily")):
        return None
    return Plan(
        interval=bounded(raw.get("interval"), 5.0, 3600.0, 300.0),
        poll_after=bounded(raw.get("poll_after"), 10.0, 3600.0, 60.0),
        tick=_names(raw["tick"]) if "tick" in raw else None,
        daily=_names(raw["daily"]) if "daily" in raw else None,
        offline=_names(raw.get("offline")),
        rechecks=tuple(_rechecks(_list(raw.get("recheck")))),
        settings=tuple(_settings(_list(raw.get("settings")))),
        fingerprint=bounded(raw.get("fingerprint"), HOUR, DAY, 0.0),
    )


def wanted_reports(plan: Plan, state: State, now: Moment, hostname: str) -> List[Wanted]:
    """What to report now: a full tick, the daily items, requested re-checks and retries of what failed.

    Nearly always nothing; so it is decided without loading a single probe.
    """
    wanted = []
    if _is_due(state.age("tick", now), plan.interval, _phase(state, hostname, plan.interval), now):
        wanted.append(Wanted("tick", plan.tick))
    if _is_due(state.age("daily", now), DAY, _hash(hostname) % DAY, now):
        wanted.append(Wanted("daily", plan.daily))
    again = _again(plan, state, now)
    return [one for one in (*wanted, again) if one.items is None or one.items]


def due_reports(wanted: Sequence[Wanted], probes: Sequence[Probe]) -> List[Due]:
    """The probes that make each wanted report. One that runs for a full report serves a re-check, too."""
    due: List[Due] = []
    for one in wanted:
        planned = {probe.name for earlier in due for probe in earlier.probes}
        chosen = _probes_for(one, probes)
        if one.cadence == "check":
            chosen = tuple(probe for probe in chosen if probe.name not in planned)
        due.append(Due(one.cadence, chosen, one.rechecks))
    return [one for one in due if one.probes or one.rechecks]


def fingerprint_due(plan: Plan, state: State, now: Moment) -> bool:
    """Whether all settings are to be read now: never in this boot, or not for as long as the plan says."""
    if not plan.fingerprint:
        return False
    age = state.age("fingerprint", now)
    return age is None or age >= plan.fingerprint - SLACK or state.text("fingerprint_boot") != now.boot_id


def note_outcome(state: State, due: Due, covered: Iterable[str], failed: Set[str], now: Moment) -> None:
    """Remember that *due* ran, and which of its items are to be tried again."""
    if due.cadence in ("tick", "daily"):
        state.mark(due.cadence, now)
    state.add_rechecks_done(list(due.rechecks))
    failures = state.failures()
    for item in covered:
        if item in failed:
            failures[item] = failures.get(item, 0) + 1
            state.mark(f"failed {item}", now)
        elif failures.pop(item, None) is not None:
            state.forget(f"failed {item}")
    state.set_failures(failures)


def should_ask(plan: Plan, state: State, now: Moment, is_anything_due: bool) -> bool:
    """Whether to ask for the plan: never had one, told that it changed, or polling is due and nothing else is."""
    age = state.age("asked", now)
    if age is None or not state.plan():
        return True
    return not is_anything_due and age >= plan.poll_after - SLACK


def jitter(hostname: str, spread: float) -> float:
    """The seconds, below *spread*, that this node always waits before it talks to the portal."""
    return _hash(hostname) % 10_000 / 10_000 * spread


def _again(plan: Plan, state: State, now: Moment) -> Wanted:
    """One report for all re-checks and retries."""
    done = set(state.rechecks_done())
    asked = [(id_, items) for id_, items in plan.rechecks if id_ not in done]
    retries = {item for item in _retries(state, now) if _is_planned(item, plan)}
    items = {item for _, some in asked for item in some} | retries
    return Wanted("check", tuple(sorted(items)), tuple(id_ for id_, _ in asked))


def _retries(state: State, now: Moment) -> List[str]:
    due = []
    for item, count in state.failures().items():
        wait = RETRY_MINUTES[min(count, len(RETRY_MINUTES)) - 1] * 60.0
        age = state.age(f"failed {item}", now)
        if age is None or age >= wait - SLACK:
            due.append(item)
    return due


def _is_planned(item: str, plan: Plan) -> bool:
    """Whether the portal wants *item* of this node at all; without a plan, everything."""
    return plan.tick is None or item in plan.tick or item in (plan.daily or ())


def _is_due(age: Optional[float], interval: float, offset: float, now: Moment) -> bool:
    """Once in each slot of *interval* that begins at *offset*: all nodes of a fleet spread over it, each stays put.

    The last run's wall-clock time is derived from its age, so a stepped clock moves both and nothing else. The
    bounds hold for any step: never two runs within half an interval, never more than one and a half apart.
    """
    if age is None or age >= 1.5 * interval - SLACK:
        return True
    if age < 0.5 * interval - SLACK:
        return False
    return (now.unix - offset) // interval != (now.unix - age - offset) // interval


def _phase(state: State, hostname: str, interval: float) -> float:
    """While a job runs, all of its nodes measure in the same second: one disturbance of a step, not one a node."""
    return 0.0 if state.number("job_running") else _hash(hostname) % interval


def _hash(hostname: str) -> int:
    """The same on every run and every machine."""
    return zlib.crc32(hostname.encode())


def _probes_for(wanted: Wanted, probes: Sequence[Probe]) -> Tuple[Probe, ...]:
    """Probes of the wanted items; with a full tick go those that ride along, unless the plan lists no item at all."""
    if wanted.items is None:
        chosen = [probe for probe in probes if probe.cadence == wanted.cadence]
    else:
        items = set(wanted.items)
        chosen = [probe for probe in probes if items & set(probe.items)]
    if wanted.cadence == "tick" and chosen:
        chosen += [probe for probe in probes if probe.cadence == "run" and probe not in chosen]
    return tuple(chosen)


def _list(value: Any) -> List[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> Tuple[str, ...]:
    named = (name for name in _list(value)[:MOST_ITEMS] if isinstance(name, str) and len(name) <= LONGEST_NAME)
    return tuple(named)


def _rechecks(asked: List[Any]) -> List[Tuple[str, Tuple[str, ...]]]:
    """The first of the re-checks that were asked for; the portal lists the others again when these are done."""
    named = [(one.get("id"), _names(one.get("items"))) for one in asked[:KEPT_RECHECKS] if isinstance(one, dict)]
    return [(str(id_)[:LONGEST_NAME], items) for id_, items in named if isinstance(id_, (str, int))]


def _settings(named: List[Any]) -> List[Tuple[str, str]]:
    pairs = [(one.get("item"), one.get("name")) for one in named[:MOST_SETTINGS] if isinstance(one, dict)]
    return [
        (item, name)
        for item, name in pairs
        if isinstance(item, str)
        and isinstance(name, str)
        and len(item) <= LONGEST_NAME
        and len(name) <= LONGEST_SETTING
    ]
