"""How the tests of a run's questions ask: real rows made through services, and a gate token bound to the cluster."""

from datetime import datetime
from typing import Any

import time_machine
from django.test import Client

from checks.selectors.launching import answer_restart, answer_start
from checks.selectors.nodesets import fold_node_set
from tests.api.gate_lab import Gate
from tests.lab import NOON, our_catalogue
from tests.signed import Signing


class RunGate(Gate):
    """Asks about one run; every answer is held to the reading that people sign by."""

    def __init__(self, client: Client, signing: Signing) -> None:
        super().__init__(client, signing.cluster)
        self.signing = signing

    def at(self, now: datetime = NOON, **fields: str) -> dict[str, Any]:
        """The answer at *now*, to a start unless *fields* say otherwise."""
        asked = {"run": self.signing.run.slug, **fields}
        with time_machine.travel(now, tick=False):
            body = self.ask(**asked)
        assert body == self.expected(now, **fields)
        return body

    def expected(self, now: datetime, *, purpose: str = "start", nodes: str | None = None, **_: str) -> dict[str, Any]:
        """What the pages' own reading of the same rows answers."""
        names = None if nodes is None else nodes.split(",")
        answer = answer_restart if purpose == "restart" else answer_start
        said = answer(self.signing.state(at=now), names).as_json(fold_node_set)
        return said | {"catalog_version": our_catalogue().version}
