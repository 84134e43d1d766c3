"""A portal as ``make run`` starts it, with data of its own, for all journeys of a session."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.running import RunningPortal
from tests.journeys.signoff import Team, make_team
from tests.journeys.user import Agent, Portal


@pytest.fixture(scope="session")
def portal() -> Iterator[Portal]:
    """A running portal; ended as Ctrl-C ends it."""
    with tempfile.TemporaryDirectory(prefix="cs-journey-") as place:
        running = RunningPortal(Path(place))
        try:
            running.start()
            yield running.portal
        finally:
            running.stop()


@pytest.fixture(scope="module")
def own_portal() -> Iterator[RunningPortal]:
    """A portal that the tests of one file may kill and freeze; it runs when a test begins."""
    with tempfile.TemporaryDirectory(prefix="cs-journey-own-") as place:
        running = RunningPortal(Path(place))
        try:
            running.start()
            yield running
        finally:
            running.stop()


@pytest.fixture(scope="session")
def team(portal: Portal) -> Team:
    """Five people who sign for one cluster."""
    return make_team(portal, "pact")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent that has not enrolled yet."""
    home = tmp_path / "agent"
    home.mkdir(mode=0o700)
    return Agent(home)
