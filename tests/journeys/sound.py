"""A node that reports everything as a tuned machine would, and is ready until it stops."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from checks.domain.profiles import Ruleset, TrainingEnv
from checks.domain.verdicts import Cadence
from portal.quickstart.agents import EXAMPLE_CAPTURE
from tests.fleet import healthy_facts
from tests.journeys.user import Agent, ClusterOfMine
from tests.lab import our_catalogue

# What the example capture is a capture of.
PROFILE = "2xh200-virtual"

Facts = list[dict[str, Any]]


def facts_of_a_tuned_node() -> Facts:
    """As the agent reads them from the example capture."""
    done = Agent(Path("/nonexistent"))("replay", str(EXAMPLE_CAPTURE), "--no-push", "--json")
    facts = json.loads(done.stdout)["facts"]
    return [{key: value for key, value in fact.items() if key != "observed_at"} for fact in facts]


@cache
def rules() -> Ruleset:
    """What the journeys' nodes are judged by."""
    return Ruleset.build(our_catalogue(), PROFILE, {}, TrainingEnv.NONE)


def facts_of_a_window() -> Facts:
    """What a sound node measured offline, and while a job ran."""
    known = rules()
    wanted = [*known.due(Cadence.OFFLINE), "shm-size"]
    return [
        {"item": key, "subject": subject, "name": name, "value": value, "unit": known.items[key].facts[name].value}
        for key in wanted
        for subject in known.subjects(key)
        for name, value in healthy_facts(known.items[key]).items()
    ]


class Sound:
    """A node that reports everything, and is ready."""

    def __init__(self, cluster: ClusterOfMine, hostname: str, facts: Facts) -> None:
        self.node = cluster.enrol(hostname)
        self.cluster = cluster
        self.facts = facts
        plan = self.node.plan().json
        self.tick, self.daily = plan["tick"], plan["daily"]

    def push(self, cadence: str, covered: list[str], **changes: Any) -> None:
        answer = self.node.push(
            self.node.report(
                [fact for fact in self.facts if fact["item"] in covered], covered=covered, cadence=cadence, **changes
            )
        )
        assert answer.status == 202, answer.text

    def become_ready(self) -> "Sound":
        self.push("tick", self.tick)
        self.push("daily", self.daily)
        assert self.decision == "ready", self.answer["reasons"]
        return self

    @property
    def answer(self) -> dict[str, Any]:
        return self.cluster.gate(nodes=self.node.hostname)

    @property
    def decision(self) -> str:
        return str(self.answer["decision"])

    def reasons_of(self, item: str) -> list[dict[str, Any]]:
        return [reason for reason in self.answer["reasons"] if reason["item"] == item]
