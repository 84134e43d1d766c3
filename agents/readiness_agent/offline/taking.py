"""The whole of an offline measurement: permission, nobody else there, the claim, the probes, the report."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from readiness_agent.agent import Agent
from readiness_agent.config import Config, Paths, read_token
from readiness_agent.errors import AgentError, log
from readiness_agent.facts import CouldNotMeasure
from readiness_agent.files import make_private_directory
from readiness_agent.lock import TickLock
from readiness_agent.node import hostname, now
from readiness_agent.offline.bench import WORK, OfflineProbe, configured_directories, remove_work_directory
from readiness_agent.offline.claim import take_node
from readiness_agent.offline.session import LEAST_SECONDS, Watch, live_bench, run_session
from readiness_agent.offline.turns import Turns
from readiness_agent.offline.watch import foreign_use
from readiness_agent.push import Flushed, flush, store
from readiness_agent.report import Measured, all_evidence, build_report

REFUSED = 2
LONGEST = 240 * 60.0
"""Seconds of one session without a portal; with one its claim says."""


class Pushed(NamedTuple):
    """A report, and what the portal answered (nothing: it waits in the spool)."""

    report: Dict[str, Any]
    answer: Optional[Dict[str, Any]]


def measure_alone(probes: Sequence[OfflineProbe], config: Config, paths: Paths, seconds: Optional[float]) -> Measured:
    """Measure without a portal: nothing is taken, nothing is sent.

    Raises:
        AgentError: exit 2 where the configuration does not allow it, or somebody uses the node.
    """
    with _Exclusive(config, paths, config.hostname.lower() or hostname()):
        end = now().boottime + LONGEST
        return _measure(probes, config, paths, lambda: end - now().boottime, seconds)


def measure_and_push(agent: Agent, probes: Sequence[OfflineProbe], seconds: Optional[float]) -> Pushed:
    """Take the node, measure, push; the push gives the node back, and so does whatever else ends this.

    Raises:
        AgentError: exit 2 where the configuration, the portal or somebody on the node is against it, 3 when the portal
            is away.
    """
    items = [item for probe in probes for item in probe.items]
    with _Exclusive(agent.config, agent.paths, agent.hostname):
        wanted = sum(min(probe.seconds, seconds or probe.seconds) + probe.overhead for probe in probes)
        claim = take_node(agent, items, wanted)
        pushed: Optional[Pushed] = None
        try:
            measured = _measure(
                probes, agent.config, agent.paths, lambda: claim.seconds_left, seconds, _turns_of(agent)
            )
            pushed = _push(agent, measured)
            return pushed
        finally:
            if pushed is None or pushed.answer is None:
                claim.give_back()
            agent.portal.close()


def _measure(
    probes: Sequence[OfflineProbe],
    config: Config,
    paths: Paths,
    left: Callable[[], float],
    seconds: Optional[float],
    turns: Optional[Turns] = None,
) -> Measured:
    if seconds is not None:
        probes = [probe._replace(seconds=min(seconds, probe.seconds)) for probe in probes]
    name = config.hostname.lower() or hostname()
    started = now()
    watch = Watch(lambda own: foreign_use(name, own), left)
    outcomes = run_session(probes, live_bench(config, paths.state, turns), watch)
    return Measured(outcomes, started, now())


def _turns_of(agent: Agent) -> Turns:
    """The portal for a probe: with a connection of its own, since it measures in a process of its own."""
    return Turns(agent.config, read_token(agent.paths.token), agent.hostname, agent.paths.in_state("address.json"))


def _push(agent: Agent, measured: Measured) -> Pushed:
    evidence: List[Dict[str, Any]] = [entry for outcome in measured.outcomes for entry in all_evidence(outcome)]
    report = build_report(
        "offline", measured, agent.origin(), evidence=evidence, lost=agent.spool.lost(), plan_etag=None
    )
    lock = TickLock(agent.paths.in_state("lock"))
    if not lock.acquire_within(LEAST_SECONDS * 12):
        log("a tick has been running for a minute: the report waits in the spool and goes with it")
    try:
        agent.spool.open()
        entry, complaint = store(agent.spool, report)
        flushed: Flushed = flush(agent.portal, agent.spool, [] if entry.path else [entry])
    finally:
        lock.release()
    for message in filter(None, (complaint, flushed.message)):
        log(message)
    return Pushed(report, flushed.answers.get(report["report_id"]))


class _Exclusive:
    """One offline measurement at a time, allowed here, and with nobody else on the node when it begins."""

    def __init__(self, config: Config, paths: Paths, name: str) -> None:
        self._config, self._paths, self._name = config, paths, name
        self._lock = TickLock(paths.in_state("offline.lock"))

    def __enter__(self) -> None:
        require_allowed(self._config)
        make_private_directory(self._paths.state)
        if not self._lock.acquire():
            raise AgentError("an offline measurement is running already: wait for its end", REFUSED)
        try:
            self._clean_and_look()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _clean_and_look(self) -> None:
        for directory in configured_directories(self._config):
            try:
                remove_work_directory(os.path.join(directory, WORK))
            except CouldNotMeasure as error:
                raise AgentError(error.detail, REFUSED) from None
        stranger = foreign_use(self._name)
        if stranger:
            raise AgentError(f"not measured: {stranger}", REFUSED)


def require_allowed(config: Config) -> None:
    """Refuse where the node's own configuration does not let anything disturb a job.

    Raises:
        AgentError: exit 2.
    """
    if not config.allow_disruptive:
        raise AgentError(
            "not measured: this node's agent.json does not allow what disturbs a job; set allow_disruptive to true",
            REFUSED,
        )
