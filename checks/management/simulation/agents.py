"""One simulated agent: it enrols, writes reports as its node would, and delivers each as the real agent does."""

import asyncio
import gzip
import json
import random
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from checks.domain.errors import CountersignError
from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence
from checks.management.simulation.sound import NO_TROUBLE, SoundNode, Troubles, Work, Writing
from checks.management.simulation.wire import NO_ANSWER, Reply, Wire

PROGRAM = "simulated"
TRIES = 6
LONGEST_PAUSE_S = 60.0
_LATER = frozenset({NO_ANSWER, 408, 425, 429})
_UP_FOR_S = 86_400.0


class Fault(StrEnum):
    """What is wrong with the node for as long as it lives."""

    NONE = "none"
    FAILS = "fails"
    HANGS = "hangs"


TROUBLES = {
    Fault.NONE: NO_TROUBLE,
    Fault.FAILS: Troubles(changed={"sysctl-somaxconn": {"live": 128}}),
    Fault.HANGS: Troubles(hung=frozenset({"hung-io"})),
}


class CannotEnrol(CountersignError):
    """The portal took no simulated node."""

    code = "cannot_enrol"


@dataclass(slots=True)
class Delivery:
    """One report on its way. ``news`` counts answers that took it as new, ``seconds`` is the wait for the first 202."""

    cadence: Cadence
    body: bytes
    written: float
    news: int = 0
    accepted: bool = False
    refused: str = ""
    seconds: float = 0.0

    @property
    def age_s(self) -> float:
        """Seconds since it was written, as the sender's own clock counts them."""
        return time.monotonic() - self.written


@dataclass(slots=True)
class Agent:
    """An agent of a node that is not there. *wall_off* is how wrong the node's wall clock is."""

    wire: Wire
    hostname: str
    fault: Fault
    wall_off: timedelta
    boot_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    token: str = ""
    reported: bool = False
    _node: SoundNode | None = None
    _plan: dict[str, list[str]] = field(default_factory=dict)
    _born: float = field(default_factory=time.monotonic)

    async def enrol(self, enrolment_token: str, rules: Ruleset) -> None:
        """Become a node and read what to measure.

        Raises:
            CannotEnrol: the portal refused, or does not answer.
        """
        self._node = SoundNode(rules, self.hostname, self.boot_id, Work.BUSY, PROGRAM)
        asked = {
            "hostname": self.hostname, "serials": self._node.serials, "boot_id": self.boot_id, "agent_version": PROGRAM,
            "origin": "live",
        }  # fmt: skip
        enrolled = await self._insist("POST", "/api/v1/enroll", enrolment_token, body=json.dumps(asked).encode())
        self.token = str(enrolled["token"])
        plan = await self._insist("GET", "/api/v1/agent/plan", self.token)
        self._plan = {Cadence.TICK: plan["tick"], Cadence.DAILY: plan["daily"]}

    def write(self, cadence: Cadence, *, number: int) -> Delivery:
        """Measure, so to speak: the report is as old as this call."""
        if self._node is None:
            raise CannotEnrol(f"{self.hostname} has not enrolled.")
        written = time.monotonic()
        boottime, wall = _UP_FOR_S + written - self._born, datetime.now(UTC) + self.wall_off
        writing = Writing(cadence, self._plan[cadence], number, boottime, wall)
        report = self._node.report(writing, TROUBLES[self.fault])
        return Delivery(cadence, gzip.compress(json.dumps(report).encode(), 1), written)

    async def deliver(self, delivery: Delivery) -> None:
        """Send until it is accepted or refused; where the portal could not take it, again after the pause it wishes."""
        started = time.monotonic()
        for attempt in range(TRIES):
            reply = await self.send(delivery)
            if delivery.accepted:
                delivery.seconds = delivery.seconds or time.monotonic() - started
                self.reported = self.reported or delivery.cadence is Cadence.TICK
                return
            if not _may_try_again(reply):
                delivery.refused = f"{reply.status} {reply.json.get('code', '')}".strip()
                return
            await asyncio.sleep(_pause(reply, attempt))

    async def send(self, delivery: Delivery) -> Reply:
        """Send once, and take note of what the portal makes of it."""
        reply = await self.wire.call(
            "POST", "/api/v1/reports", token=self.token, body=delivery.body, Content_Encoding="gzip",
            Report_Age=f"{delivery.age_s:.3f}",
        )  # fmt: skip
        if reply.status == HTTPStatus.ACCEPTED:
            delivery.accepted = True
            delivery.news += reply.json.get("duplicate") is False
        return reply

    async def _insist(self, method: str, path: str, token: str, *, body: bytes = b"") -> dict[str, Any]:
        for attempt in range(TRIES):
            reply = await self.wire.call(method, path, token=token, body=body)
            if reply.status in (HTTPStatus.OK, HTTPStatus.CREATED):
                return reply.json
            if not _may_try_again(reply):
                break
            await asyncio.sleep(_pause(reply, attempt))
        told = reply.json.get("detail") or "it does not answer as a portal does"
        raise CannotEnrol(f"{self.wire.url} took no simulated node ({reply.status or 'no answer'}): {told}")


def _may_try_again(reply: Reply) -> bool:
    return reply.status in _LATER or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _pause(reply: Reply, attempt: int) -> float:
    """What the portal asks for, else twice as long each time; with jitter, so that nobody comes back in step."""
    wished = reply.headers.get("retry-after", "")
    seconds = float(wished) if wished.isdigit() else 0.25 * 2**attempt
    return min(seconds, LONGEST_PAUSE_S) + random.uniform(0.0, 1.0)  # noqa: S311  (no secret)
