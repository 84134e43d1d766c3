"""A fleet that is not there, against a portal that is: enrolment, rounds of ticks, and what must be true afterwards."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import TypeVar

from checks.domain.profiles import Ruleset
from checks.domain.verdicts import Cadence
from checks.management.simulation.agents import Agent, Delivery, Fault
from checks.management.simulation.figures import Figures
from checks.management.simulation.wire import Wire
from checks.selectors.nodesets import parse_node_set

GATE_ASKED_EVERY_S = 0.25
CALM = 16  # calls at once outside of rounds: enrolments of one cluster queue up in the portal anyway
# Every tenth report is sent twice at the same moment, as after an answer that got lost.
TWICE_EVERY = 10

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Wishes:
    """How many agents and rounds, and what is wrong with them.

    *spread_s*: within how many seconds the reports of a round are sent. *churn*: the share of nodes that fall silent
    before each further round, replaced by as many new ones. *known*: nodes have measured once before the first round,
    so that it brings news of few items and not of all. *faults*: the share of nodes with a failing item or a hung tool,
    half and half. *skew_s*: how wrong a node's wall clock may be, either way.
    """

    agents: int
    rounds: int
    spread_s: float
    churn: float
    faults: float
    skew_s: float
    known: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """The cluster, the rules that its nodes are judged by, and the tokens for it."""

    cluster: str
    rules: Ruleset
    enrolment_token: str
    gate_token: str


class SimulatedFleet:
    """Runs once. Everything that is random is drawn from *seed*, so that a run can be repeated."""

    def __init__(self, wire: Wire, access: Access, wishes: Wishes, *, seed: int) -> None:
        self._wire, self._access, self._wishes = wire, access, wishes
        self._random = random.Random(seed)  # noqa: S311  (no secret)
        self._all: list[Agent] = []
        self._present: list[Agent] = []
        self.figures = Figures()

    async def run(self) -> Figures:
        """Enrol, then round after round: report, ask whether everything arrived once, ask the gate.

        Raises:
            CannotEnrol: the portal takes no nodes.
        """
        await self._come(self._wishes.agents)
        for number in range(self._wishes.rounds):
            if number:
                await self._churn()
            sent = await self._round(number + self._wishes.known)
            await self._ask_again(sent)
            await self._ask_gate()
        return self.figures

    async def _come(self, count: int) -> None:
        """*count* new nodes enrol and send their daily report, and a first tick where they are to be known."""
        new = [self._new_agent(len(self._all) + place) for place in range(count)]
        await _few_at_once(agent.enrol(self._access.enrolment_token, self._access.rules) for agent in new)
        self._all += new
        self._present += new
        for cadence in (Cadence.DAILY, Cadence.TICK) if self._wishes.known else (Cadence.DAILY,):
            first = [(agent, agent.write(cadence, number=0)) for agent in new]
            self.figures.deliveries += [delivery for _, delivery in first]
            await _few_at_once(agent.deliver(delivery) for agent, delivery in first)

    def _new_agent(self, number: int) -> Agent:
        fault = Fault.NONE
        if int((number + 1) * self._wishes.faults) > int(number * self._wishes.faults):
            fault = Fault.FAILS if number % 2 else Fault.HANGS
        off = self._random.uniform(-self._wishes.skew_s, self._wishes.skew_s)
        return Agent(self._wire, f"sim{number + 1:05}", fault, timedelta(seconds=off))

    async def _churn(self) -> None:
        leaving = round(self._wishes.churn * len(self._present))
        self._random.shuffle(self._present)
        del self._present[:leaving]
        await self._come(leaving)

    async def _round(self, number: int) -> list[tuple[Agent, Delivery]]:
        """Every present node measures now, and sends within the spread; the gate is asked all the while."""
        sent = [(agent, agent.write(Cadence.TICK, number=number)) for agent in self._present]
        self.figures.deliveries += [delivery for _, delivery in sent]
        asking = asyncio.create_task(self._keep_asking())
        try:
            await asyncio.gather(*(self._send_later(place, *one) for place, one in enumerate(sent)))
        finally:
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking
        self.figures.doubled += sum(delivery.news > 1 for _, delivery in sent)
        return sent

    async def _send_later(self, place: int, agent: Agent, delivery: Delivery) -> None:
        await asyncio.sleep(self._random.uniform(0, self._wishes.spread_s))
        copies = 1 if place % TWICE_EVERY else 2
        await asyncio.gather(*(agent.deliver(delivery) for _ in range(copies)))

    async def _ask_again(self, sent: list[tuple[Agent, Delivery]]) -> None:
        """Send once more what was accepted: the portal has to know it already."""

        async def again(agent: Agent, delivery: Delivery) -> None:
            before = delivery.news
            await agent.send(delivery)
            self.figures.forgotten += delivery.news > before

        await _few_at_once(again(agent, delivery) for agent, delivery in sent if delivery.accepted)

    async def _keep_asking(self) -> None:
        while True:
            await self._ask_gate()
            await asyncio.sleep(GATE_ASKED_EVERY_S)

    async def _ask_gate(self) -> None:
        """One question about the whole cluster, and whether the answer agrees with what the portal had accepted."""
        sound = {agent.hostname for agent in self._all if agent.reported and agent.fault is Fault.NONE}
        reply = await self._wire.call(
            "GET", f"/api/v1/clusters/{self._access.cluster}/readiness", token=self._access.gate_token
        )
        self.figures.gate_s.append(reply.seconds)
        if reply.status != HTTPStatus.OK:
            self.figures.gate_silent += 1
            return
        closed = set(parse_node_set(reply.json["nodes"]["not_ready_nodes"]))
        faulty = {agent.hostname for agent in self._all if agent.fault is not Fault.NONE}
        self.figures.wrong += [f"the gate called {name} ready, which is not" for name in sorted(faulty - closed)]
        self.figures.wrong += [f"the gate did not call {name} ready, which is" for name in sorted(sound & closed)]


async def _few_at_once(work: Iterable[Awaitable[_T]]) -> None:
    """Do all of it, `CALM` at a time."""
    room = asyncio.Semaphore(CALM)

    async def one(part: Awaitable[_T]) -> None:
        async with room:
            await part

    await asyncio.gather(*(one(part) for part in work))
