"""``make run``: prepare, start, fill with first data, say where to look, and keep everything running."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from portal.quickstart import programs
from portal.quickstart.agents import EXAMPLE_CAPTURE, EXAMPLE_NODE, MEASURED, example_node, this_machine
from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError
from portal.quickstart.place import Place, read_json, require_free_port, write_json
from portal.quickstart.portal_client import wait_until_alive
from portal.quickstart.servers import Server, Servers, start_servers
from portal.quickstart.summary import print_summary
from portal.quickstart.supervisor import GLANCE, Service, Ticker, stop_together

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
TICK_PERIOD = 60.0  # seconds, as cron starts the agent
REPLAY_PERIOD = 240.0  # seconds; under the interval at which evidence is due
REPLAY = ("replay", str(EXAMPLE_CAPTURE), "--as-node", EXAMPLE_NODE)


class Stopped(BaseException):
    """Somebody pressed Ctrl-C or asked us to end."""


@dataclass(frozen=True, slots=True)
class Session:
    """What one run of the portal needs to know."""

    place: Place
    servers: Servers
    port: int
    environment: dict[str, str]

    def step(self, command: Sequence[str], *, what: str, extra: dict[str, str] | None = None) -> None:
        """Run a program that ends by itself; it is ended with us.

        Raises:
            QuickstartError: it failed.
        """
        child = programs.start(command, name="setup", place=self.place, environment=self.environment | (extra or {}))
        try:
            programs.finish(child, what=what)
        finally:
            child.stop()


def run(*, port: int) -> None:
    """Run until Ctrl-C or SIGTERM.

    Raises:
        QuickstartError: something that a person must change first.
    """
    _refuse_production()
    place = Place.of_this_checkout()
    with place.held(), _stopped_by_signals():
        require_free_port(port)
        say("Countersign for evaluation on this machine only (not for production): starting …")
        servers = start_servers(place)
        try:
            _run_with(servers, place, port)
        except Stopped:
            say("Stopping …")
        finally:
            servers.stop()
    say("Stopped; the data in var/ is kept.")


def say(sentence: str) -> None:
    print(sentence, flush=True)


def _run_with(servers: Servers, place: Place, port: int) -> None:
    session = Session(place, servers, port, programs.environment(place, servers, port=port))
    write_json(place.environment, session.environment)
    _prepare(session)
    services = _services(session)
    tickers = _tickers(session)
    try:
        for service in services:
            service.tend(say)
        wait_until_alive(session.environment["PORTAL_URL"])
        notes = read_json(place.notes)
        _enrol_and_measure(session, notes)
        print_summary(notes, say)
        while True:
            for service in services:
                service.tend(say)
            for ticker in tickers:
                ticker.tend()
            time.sleep(GLANCE)
    finally:
        for ticker in tickers:
            ticker.stop()
        stop_together([service for service in services if service.name not in servers.embedded])


def _prepare(session: Session) -> None:
    """Migrate as owner, collect static files meanwhile, load the catalogue, make the first data."""
    collecting = programs.start(
        [*programs.MANAGE, "collectstatic", "--noinput", "--verbosity=0"],
        name="collectstatic",
        place=session.place,
        environment=session.environment,
    )
    try:
        owner = {"DATABASE_OWNER_URL": session.servers.owner_url}
        session.step([*programs.MANAGE, "migrate", "--database=owner", "--noinput"], what="Migration", extra=owner)
        session.step([*programs.MANAGE, "catalog", "load", "--yes"], what="Loading the catalogue")
        session.step([programs.MANAGE[0], "-m", "portal.quickstart.first_run"], what="Making the first data")
        programs.finish(collecting, what="Collecting static files")
    finally:
        collecting.stop()


def _services(session: Session) -> list[Service]:
    """Everything that must run: the embedded servers, already started, and our own programs."""

    def program(name: str, command: list[str]) -> Service:
        return Service(
            name,
            lambda: programs.start(command, name=name, place=session.place, environment=session.environment),
        )

    servers = [
        Service(name, lambda server=server: _restart(server), child=server.child)  # type: ignore[misc]
        for name, server in session.servers.embedded.items()
    ]
    return [
        *servers,
        program("web", programs.web(session.port)),
        program("worker", programs.worker()),
        program("beat", programs.beat(session.place)),
    ]


def _enrol_and_measure(session: Session, notes: dict[str, Any]) -> None:
    this = this_machine(session.place, session.environment)
    this.enrol(notes["url"], token=notes["enrolment_token"])
    this.run("check", accepted=MEASURED)
    example = example_node(session.place, session.environment)
    example.enrol(
        notes["url"],
        token=notes["example_enrolment_token"],
        arguments=("--hostname", EXAMPLE_NODE, "--origin", "replay"),
    )
    example.run(*REPLAY, accepted=MEASURED)


def _tickers(session: Session) -> list[Ticker]:
    """What cron would do on the two nodes; a replayed capture goes stale like any other evidence."""
    this = this_machine(session.place, session.environment)
    example = example_node(session.place, session.environment)
    return [
        Ticker(lambda: this.start("tick"), period=TICK_PERIOD),
        Ticker(lambda: example.start(*REPLAY), period=REPLAY_PERIOD),
    ]


def _restart(server: Server) -> Child:
    server.start()
    return server.child


def _refuse_production() -> None:
    url = os.environ.get("PORTAL_URL", "")
    if url and urlsplit(url).hostname not in LOOPBACK:
        raise QuickstartError(
            f"PORTAL_URL={url} means other machines, and make run serves this one only: "
            "deploy with docker-compose.yml, or unset PORTAL_URL."
        )


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """The first of these signals ends the run in good order; a second one cannot break that off."""
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, frame: FrameType | None) -> None:
        for one in asked:
            signal.signal(one, signal.SIG_IGN)
        raise Stopped

    before = {one: signal.signal(one, stop) for one in asked}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
