"""What one tick leaves for the next: the plan, when what ran, what is to be tried again, when to talk again.

Every "when" is a :class:`~readiness_agent.node.Moment` and is read back as an age: no clock step makes anything run
twice, or never.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from readiness_agent.files import read_json, section, write_json
from readiness_agent.node import Moment, stored_age
from readiness_agent.values import finite

KEPT_RECHECKS = 100


class State:
    """The state file. A damaged or missing one only means: ask the plan, measure now."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._values = read_json(path)

    def save(self) -> bool:
        """Write it, whole or not at all; False when it outlives this tick in memory only, OSError when not at all."""
        return write_json(self._path, self._values)

    def age(self, event: str, now: Moment) -> Optional[float]:
        """Seconds since *event* was marked; None when it never was."""
        return stored_age(self._section("moments").get(event), now)

    def mark(self, event: str, now: Moment) -> None:
        """*event* happened now."""
        self._section("moments")[event] = list(now)

    def forget(self, event: str) -> None:
        """As if *event* had never happened."""
        self._section("moments").pop(event, None)

    def number(self, name: str) -> float:
        """A stored number, 0 when there is none."""
        return finite(self._section("numbers").get(name)) or 0.0

    def set_number(self, name: str, value: float) -> None:
        """Store a number."""
        self._section("numbers")[name] = value

    def text(self, name: str) -> str:
        """A stored text, empty when there is none."""
        return str(self._section("texts").get(name, ""))

    def set_text(self, name: str, value: str) -> None:
        """Store a text."""
        self._section("texts")[name] = value

    def plan(self) -> Dict[str, Any]:
        """The last good plan as the portal sent it; empty before the first."""
        return self._section("plan")

    def set_plan(self, plan: Dict[str, Any]) -> None:
        """Keep a plan."""
        self._values["plan"] = plan

    def failures(self) -> Dict[str, int]:
        """Items whose last measuring ended in a problem, with how often in a row."""
        counts = {str(item): finite(count) for item, count in self._section("failures").items()}
        return {item: max(1, int(count)) for item, count in counts.items() if count is not None}

    def set_failures(self, failures: Dict[str, int]) -> None:
        """Keep them."""
        self._values["failures"] = failures

    def rechecks_done(self) -> List[str]:
        """Ids of requested re-checks that were run."""
        done = self._values.get("rechecks_done", [])
        return [str(one) for one in done] if isinstance(done, list) else []

    def add_rechecks_done(self, ids: List[str]) -> None:
        """Remember them, the newest hundred."""
        self._values["rechecks_done"] = (self.rechecks_done() + ids)[-KEPT_RECHECKS:]

    def _section(self, name: str) -> Dict[str, Any]:
        return section(self._values, name)
