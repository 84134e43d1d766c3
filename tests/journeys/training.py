"""Nodes that train: tuned, loaded for long enough to prove it, and measured often enough to settle."""

import copy
import time
from collections.abc import Mapping
from typing import Any

from checks.domain.verdicts import Cadence
from tests.journeys.sound import Facts, Sound, facts_of_a_window, rules
from tests.journeys.user import ClusterOfMine, seconds_since_its_boot

#: Seconds between two measurements that settle a verdict, and a little more; `manage.py cluster --settle-gap 1`.
SETTLE_GAP_S = 1
_BETWEEN_S = 1.1
#: Ages of the reports of a node that was cut off for a while and sends what it kept, oldest first.
_KEPT_S = (1500, 1200, 900, 600, 300, 0)
_BUSY = {"utilization": 97, "generation": 5, "sm_clock": 1830, "temperature": 61}


class TrainingNode(Sound):
    """A node under load. ``change`` makes facts of the next reports other than good."""

    def __init__(self, cluster: ClusterOfMine, hostname: str, facts: Facts) -> None:
        facts = [*facts, *facts_of_a_window()]
        busy = [fact | {"value": _BUSY.get(fact["name"], fact["value"])} for fact in copy.deepcopy(facts)]
        super().__init__(cluster, hostname, busy)
        self._good = busy

    def prove(self) -> "TrainingNode":
        """Half an hour of reports, kept while the portal was out of reach; then all is proved, and has settled."""
        for age in _KEPT_S:
            self.push_aged("daily", self.daily, age)
            self.push_aged("tick", self.tick, age)
        self.push("run", ["numa-binding", "shm-size"])
        self.push("offline", list(rules().due(Cadence.OFFLINE)))
        return self

    def push_aged(self, cadence: str, covered: list[str], age_s: float) -> None:
        """A report that was written *age_s* seconds ago."""
        facts = [fact for fact in self.facts if fact["item"] in covered]
        boottime = seconds_since_its_boot() - age_s
        report = self.node.report(
            [fact | {"observed_at": boottime} for fact in facts], covered=covered, cadence=cadence,
            clock={"unix": time.time() - age_s, "boottime": boottime, "ntp_offset_ms": None, "synced": None},
        )  # fmt: skip
        answer = self.node.push(report, headers={"Report-Age": str(age_s)})
        assert answer.status == 202, answer.text

    def change(self, item: str, **values: Any) -> None:
        """From the next report on, facts of *item* have these values on every subject."""
        self.facts = _changed(self.facts, item, values)

    def mend(self) -> None:
        """From the next report on, everything is good again."""
        self.facts = self._good

    def tick_now(self) -> None:
        """One report of the tick."""
        self.push("tick", self.tick)

    def settle(self) -> None:
        """As many reports of the tick as make what they say hold, far enough apart to count."""
        for _ in range(3):
            time.sleep(_BETWEEN_S)
            self.tick_now()


def _changed(facts: Facts, item: str, values: Mapping[str, Any]) -> Facts:
    assert any(fact["item"] == item and fact["name"] in values for fact in facts), item
    return [
        fact | {"value": values[fact["name"]]} if fact["item"] == item and fact["name"] in values else fact
        for fact in facts
    ]
