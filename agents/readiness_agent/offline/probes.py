"""All offline probes: first the one for which nodes wait for each other, then the short ones, so that a window that is
nearly over still brings something.
"""

from __future__ import annotations

from typing import Sequence, Tuple

from readiness_agent.offline.bench import OfflineProbe
from readiness_agent.offline.fio import FIO
from readiness_agent.offline.gpu import ALLREDUCE, BURN, COPIES, MEMTEST
from readiness_agent.offline.links import LINKS
from readiness_agent.offline.object_store import OBJECT_STORE

OFFLINE_PROBES: Tuple[OfflineProbe, ...] = (LINKS, COPIES, ALLREDUCE, FIO, OBJECT_STORE, BURN, MEMTEST)


def offline_items() -> Tuple[str, ...]:
    """What this agent can measure offline."""
    return tuple(item for probe in OFFLINE_PROBES for item in probe.items)


def probes_of(items: Sequence[str]) -> Tuple[OfflineProbe, ...]:
    """The probes that measure *items*; all of them when none is named."""
    return tuple(probe for probe in OFFLINE_PROBES if not items or set(items) & set(probe.items))
