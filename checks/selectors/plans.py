"""What an agent is asked to measure. The ETag names exactly that: no verdict hangs on it."""

import hashlib
from dataclasses import dataclass
from typing import Final

import msgspec

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence

SCHEMAS: Final = (1,)
#: Seconds between two readings of all of a node's settings; they are sent only where they changed.
FINGERPRINT_EVERY_S: Final = 3600
_MOST_ETAGS: Final = 4096

_etags: dict[tuple[object, ...], str] = {}


@dataclass(frozen=True, slots=True)
class Recheck:
    """An open request of a person or the schedule: measure these items now."""

    id: int
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SettingWanted:
    """An item of the cluster's own, and the setting that it asks for."""

    item: str
    name: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Items a cadence, when to come again (seconds), and what is asked for besides.

    ``offline`` is what disturbs a job and is due: empty outside of a window, and what the node must be taken for first.

    ``settings`` are items of the cluster's own; ``fingerprint`` is how often all settings are read, in seconds.

    ``allow`` names what the portal would let the node do beyond measuring; the node's own configuration decides.
    """

    schemas: tuple[int, ...]
    interval: int
    poll_after: int
    tick: tuple[str, ...]
    daily: tuple[str, ...]
    offline: tuple[str, ...]
    recheck: tuple[Recheck, ...]
    allow: dict[str, bool]
    settings: tuple[SettingWanted, ...]
    fingerprint: int


def plan_of(
    ruleset: Ruleset,
    *,
    interval_s: int,
    poll_after_s: int,
    rechecks: tuple[Recheck, ...],
    offline: tuple[str, ...] = (),
) -> Plan:
    """The plan of a node that is judged by *ruleset*, and has to measure *offline* items now."""
    return Plan(
        schemas=SCHEMAS,
        interval=interval_s,
        poll_after=poll_after_s,
        tick=ruleset.planned(Cadence.TICK),
        daily=ruleset.planned(Cadence.DAILY),
        offline=offline,
        recheck=rechecks,
        allow={"disruptive": bool(offline)},
        settings=tuple(SettingWanted(item, name) for item, name in sorted(ruleset.settings.items())),
        fingerprint=FINGERPRINT_EVERY_S,
    )


def plan_etag(
    ruleset: Ruleset,
    *,
    interval_s: int,
    poll_after_s: int,
    rechecks: tuple[Recheck, ...],
    offline: tuple[str, ...] = (),
) -> str:
    """A strong entity tag of that plan, without quotes. Nodes of one kind share it, so it is kept in the process.

    With *offline* items it is the tag of the plan without them, a dot, and theirs: who compares plans by what a report
    was answered looks at the part before the dot.
    """
    key = (ruleset.judged_under, interval_s, poll_after_s, rechecks)
    known = _etags.get(key)
    if known is None:
        plan = plan_of(ruleset, interval_s=interval_s, poll_after_s=poll_after_s, rechecks=rechecks)
        known = hashlib.sha256(msgspec.json.encode(plan)).hexdigest()[:32]
        if len(_etags) >= _MOST_ETAGS:
            _etags.clear()
        _etags[key] = known
    return f"{known}.{hashlib.sha256(msgspec.json.encode(offline)).hexdigest()[:16]}" if offline else known
