"""Which questions one row closes, kept with the row so that the gate reads a few bad rows and no others."""

from __future__ import annotations

from enum import IntEnum

from checks.domain.items import Item
from checks.domain.verdicts import NODE_HELD, Cadence, Reason, Verdict


class Blocks(IntEnum):
    """What a row closes."""

    NOTHING = 0
    START = 1
    HEALTH_AND_START = 2


_HEALTH_CADENCES = frozenset({Cadence.TICK, Cadence.DAILY})


def blocks(item: Item, raw: Verdict, reason: Reason | None) -> Blocks:
    """What a row of *item* with the raw verdict *raw* closes.

    Only a blocker that is not in shadow closes anything, and only by *fail* or *unknown*. Health asks for what a node
    holds by itself, each tick or day; there a missing proof under load closes only a start, because an idle node is
    healthy. Any other reason to be *unknown* closes health as *fail* does. Offline, attested, run and start items, and
    what is not a node's, close a start only.
    """
    if not item.blocks_gates or raw not in (Verdict.FAIL, Verdict.UNKNOWN):
        return Blocks.NOTHING
    if item.scope not in NODE_HELD or item.cadence not in _HEALTH_CADENCES:
        return Blocks.START
    return Blocks.START if raw is Verdict.UNKNOWN and reason is Reason.NOT_LOADED else Blocks.HEALTH_AND_START
