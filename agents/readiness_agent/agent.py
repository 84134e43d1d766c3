"""The agent of one node: its configuration, state, spool and portal, and how it measures."""

from __future__ import annotations

import os
from typing import Callable, Dict, List, Sequence

from readiness_agent.config import Config, Paths, load_config, read_token, require_unchangeable
from readiness_agent.errors import config_error
from readiness_agent.identity import IDENTITY
from readiness_agent.node import Moment, hostname, now
from readiness_agent.plan import Plan, checked_plan
from readiness_agent.report import Measured, Origin
from readiness_agent.runner import Outcome, Sensor, run_probes
from readiness_agent.source import LiveSource, Probe, ProbeContext
from readiness_agent.spool import Spool
from readiness_agent.state import State
from readiness_agent.stuck import StuckRegister, split
from readiness_agent.transport import Portal

NICENESS = 19


class Agent:
    """Everything a command needs that talks to the portal for this node."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.config: Config = load_config(paths)
        require_unchangeable(paths.token)
        require_unchangeable(paths.state)
        self.state = State(paths.in_state("state.json"))
        self.spool = Spool(paths.state)
        self.portal = Portal(self.config, read_token(paths.token), paths.in_state("address.json"))
        self.hostname = self.config.hostname.lower() or hostname()

    def plan(self) -> Plan:
        """The last good plan, or the defaults before the first."""
        return checked_plan(self.state.plan()) or Plan()

    def with_settings(self, probes: Sequence[Probe]) -> Sequence[Probe]:
        """*probes*, and those of the settings that the plan names: they are loaded where there are any."""
        named = self.plan().settings
        if not named:
            return probes
        from readiness_agent.probes.settings import setting_probes

        return (*probes, *setting_probes(named))

    def origin(self) -> Origin:
        """Live facts of this node."""
        return Origin(self.hostname)

    def measure(self, probes: Sequence[Probe]) -> Measured:
        """Run *probes* on this machine, except those with a process still stuck from an earlier run."""
        return measure(probes, self.config, self.paths)

    def require_live(self) -> None:
        """Refuse to measure this machine in the name of a replayed node; raises AgentError."""
        if self.config.origin == "replay":
            raise config_error("this node is a replayed one: push its captures with `readiness-agent replay`")


def measure(probes: Sequence[Probe], config: Config, paths: Paths) -> Measured:
    """Run *probes* live, but those with a process still stuck, and remember what had to be abandoned this time."""
    started = now()
    register = StuckRegister(paths.in_state("stuck.json"), started.boot_id)
    free, blocked = split(register, [IDENTITY, *probes])
    context = config.probe_context()._replace(memory_dir=register.directory)
    outcomes = run_probes(free, LiveSource, context)
    register.remember(outcomes)
    return Measured(in_order(probes, blocked + outcomes), started, now())


def measure_identity(paths: Paths) -> Dict[str, str]:
    """The serials of this machine, read in a process of its own."""
    return measure([], Config(portal=""), paths).serials()


def measure_elsewhere(
    probes: Sequence[Probe], context: ProbeContext, make_sensor: Callable[[], Sensor], moment: Moment
) -> Measured:
    """Run *probes* on what *make_sensor* shows instead of this machine, at the *moment* of that."""
    outcomes = run_probes([IDENTITY, *probes], make_sensor, context)
    return Measured(in_order(probes, outcomes), moment, moment)


def in_order(probes: Sequence[Probe], outcomes: Sequence[Outcome]) -> List[Outcome]:
    """Outcomes in the order of the registry, whatever ended first: the same facts make the same report."""
    position = {probe.name: place for place, probe in enumerate(probes)}
    return sorted(outcomes, key=lambda outcome: position.get(outcome.probe.name, -1))


def be_quiet(config: Config) -> None:
    """Give way to whatever else the node does: lowest priority, and the housekeeping CPU when one is configured."""
    os.nice(NICENESS - os.nice(0))
    if config.housekeeping_cpu >= 0:
        try:
            os.sched_setaffinity(0, {config.housekeeping_cpu})
        except OSError:
            pass  # that CPU is offline or not ours; running anywhere beats not measuring
