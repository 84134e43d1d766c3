"""Remembers, over ticks, which probe left a process that nothing can end."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

from readiness_agent.facts import EVERY_SUBJECT, HUNG, ProbeResult, Problem
from readiness_agent.files import read_json, section, write_json
from readiness_agent.processes import Stuck, is_alive
from readiness_agent.runner import Outcome
from readiness_agent.source import Probe


class StuckRegister:
    """The file of abandoned processes. An entry goes when its process does, or with the boot it belongs to."""

    def __init__(self, path: str, boot_id: str) -> None:
        self._path = path
        self._boot_id = boot_id
        self._stored = stored = read_json(path)
        entries = section(stored, "probes") if stored.get("boot_id") == boot_id else {}
        self._probes: Dict[str, List[Stuck]] = {
            name: [one for one in _processes(pairs) if is_alive(one)] for name, pairs in entries.items()
        }

    @property
    def directory(self) -> str:
        """The agent's state directory."""
        return os.path.dirname(self._path)

    def still_stuck(self, probe: Probe) -> Optional[Outcome]:
        """The outcome to report instead of starting *probe* again, while one of its processes is still stuck."""
        alive = self._probes.get(probe.name)
        if not alive:
            return None
        pids = ", ".join(str(one.pid) for one in alive)
        detail = f"{probe.name}: process {pids} of an earlier run is still stuck in the kernel; not started again"
        problems = tuple(Problem(item, EVERY_SUBJECT, HUNG, detail) for item in probe.items)
        return Outcome(probe, ProbeResult((), problems, ()), 0.0, (), ())

    def remember(self, outcomes: Iterable[Outcome]) -> None:
        """Add what this tick abandoned, and save. Where nothing can be saved, the next tick waits for it once more."""
        for outcome in outcomes:
            if outcome.stuck:
                self._probes.setdefault(outcome.probe.name, []).extend(outcome.stuck)
        alive = {name: [list(one) for one in some] for name, some in self._probes.items() if some}
        if alive == self._stored.get("probes", {}):
            return
        try:
            write_json(self._path, {"boot_id": self._boot_id, "probes": alive})
        except OSError:
            pass  # a read-only state directory must not cost the report


def _processes(pairs: Any) -> List[Stuck]:
    """What was stored of one probe; anything odd in it names no process."""
    is_pair = isinstance(pairs, list) and all(isinstance(one, list) and len(one) == 2 for one in pairs)
    return [Stuck(*pair) for pair in pairs] if is_pair else []


class Split(NamedTuple):
    """Probes that may start, and the outcomes of those that may not."""

    free: List[Probe]
    blocked: List[Outcome]


def split(register: StuckRegister, probes: Sequence[Probe]) -> Split:
    """Separate *probes* by whether an earlier run of theirs is still stuck."""
    blocked = [outcome for outcome in map(register.still_stuck, probes) if outcome is not None]
    stopped = {outcome.probe.name for outcome in blocked}
    return Split([probe for probe in probes if probe.name not in stopped], blocked)
