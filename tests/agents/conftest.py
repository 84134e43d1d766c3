"""A node of the tests' own: enrolled at a portal on loopback, with its files in a temporary directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from readiness_agent.agent import Agent
from readiness_agent.config import Config, Paths, find_paths, save_config, save_token
from readiness_agent.facts import Findings, ProbeResult
from readiness_agent.files import make_private_directory
from readiness_agent.source import Probe, ProbeContext, Source
from tests.agents.portals import LoopbackPortal

TOKEN = "cs_agent_abcd1234_a-secret-of-the-tests"


@pytest.fixture
def portal() -> Iterator[LoopbackPortal]:
    """A portal that accepts everything until it is told otherwise."""
    portal = LoopbackPortal()
    yield portal
    portal.close()


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Where the node keeps its files."""
    return find_paths(str(tmp_path / "home"))


@pytest.fixture
def enrolled(paths: Paths, portal: LoopbackPortal) -> Paths:
    """The same, enrolled as ``node-1`` of cluster ``alpha``."""
    save_config(paths, Config(portal=portal.url, cluster="alpha", hostname="node-1"))
    save_token(paths.token, TOKEN)
    make_private_directory(paths.state)
    return paths


@pytest.fixture
def agent(enrolled: Paths) -> Iterator[Agent]:
    """The agent of that node."""
    agent = Agent(enrolled)
    yield agent
    agent.portal.close()


def uptime_probe(name: str, *items: str, cadence: str = "tick") -> Probe:
    """A probe that reads one real file of this machine and states a fact for each item."""

    def run(source: Source, context: ProbeContext) -> ProbeResult:
        findings = Findings(source.now_boottime())
        text = source.read("/proc/uptime")
        for item in items:
            findings.fact(item, "uptime", float(text.split()[0]), "seconds")
        findings.evidence(text, *items)
        return findings.result()

    return Probe(name, items, cadence, run)


def missing_tool_probe(name: str, item: str, cadence: str = "tick") -> Probe:
    """A probe whose tool is installed nowhere."""

    def run(source: Source, context: ProbeContext) -> ProbeResult:
        findings = Findings(source.now_boottime())
        with findings.attempt(item):
            source.run(["no-such-tool-of-any-vendor"])
        return findings.result()

    return Probe(name, (item,), cadence, run)
