"""``make run``: prepare, start, fill with first data, say where to look, and keep everything running."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from portal.quickstart import programs
from portal.quickstart.agents import EXAMPLE_CAPTURE, EXAMPLE_NODE, example_node, this_machine
from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError
from portal.quickstart.place import Place, read_json, require_free_port, require_room, write_json
from portal.quickstart.portal_client import wait_until_alive
from portal.quickstart.servers import Server, Servers, start_servers
from portal.quickstart.summary import print_summary
from portal.quickstart.supervisor import GLANCE, Service, Ticker, stop_together

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
TICK_PERIOD = 60.0  # seconds, as cron starts the agent
REPLAY_PERIOD = 240.0  # seconds; under the interval at which evidence is due
REPLAY = ("replay", str(EXAMPLE_CAPTURE), "--as-node", EXAMPLE_NODE)


class Stopped(Exception):
    """Somebody pressed Ctrl-C or asked us to end."""


class StopRequest:
    """What a signal leaves: a note that is read where stopping is safe.

    Raising from the signal handler itself could break off a child's reaping half way, and hang the shutdown.
    """

    def __init__(self) -> None:
        self._asked = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Take note of Ctrl-C, SIGTERM and a closed terminal."""
        before = {one: signal.signal(one, self._note) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def pause(self) -> None:
        """Sleep for a glance.

        Raises:
            Stopped: somebody asked.
        """
        time.sleep(GLANCE)
        if self._asked:
            raise Stopped

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked = True


@dataclass(frozen=True, slots=True)
class Session:
    """What one run of the portal needs to know."""

    place: Place
    servers: Servers
    port: int
    environment: dict[str, str]
    pause: Callable[[], None]


def run(*, port: int) -> None:
    """Run until Ctrl-C or SIGTERM.

    Raises:
        QuickstartError: something that a person must change first.
    """
    _refuse_production()
    place = Place.of_this_checkout()
    stop_request = StopRequest()
    with place.held(), stop_request.noted():
        require_free_port(port)
        require_room(place)
        say("Countersign for evaluation on this machine only (not for production): starting …")
        servers = start_servers(place)
        try:
            _run_with(servers, place, port, stop_request)
        except Stopped:
            say("Stopping …")
        finally:
            servers.stop()
    say("Stopped; the data in var/ is kept.")


def say(sentence: str) -> None:
    print(sentence, flush=True)


def _run_with(servers: Servers, place: Place, port: int, stop_request: StopRequest) -> None:
    session = Session(place, servers, port, programs.environment(place, servers, port=port), stop_request.pause)
    write_json(place.environment, session.environment)
    _prepare(session)
    services = _services(session)
    tickers = _tickers(session)
    try:
        _first(services, "web").tend(say)
        wait_until_alive(session.environment["PORTAL_URL"], session.pause)
        notes = read_json(place.notes)
        _enrol_and_measure(session, notes)
        print_summary(notes, say)
        while True:
            for service in services:
                service.tend(say)
            for ticker in tickers:
                ticker.tend()
            session.pause()
    finally:
        for ticker in tickers:
            ticker.stop()
        stop_together([service for service in services if service.name not in servers.embedded])


def _prepare(session: Session) -> None:
    """Migrate as owner, load the catalogue and make the first data; collect static files meanwhile."""
    collecting = programs.start(
        [*programs.MANAGE, "collectstatic", "--noinput", "--verbosity=0"],
        name="collectstatic",
        place=session.place,
        environment=session.environment,
    )
    preparing = programs.start(
        [programs.MANAGE[0], "-m", "portal.quickstart.first_run"],
        name="first-run",
        place=session.place,
        environment=session.environment | {"DATABASE_OWNER_URL": session.servers.owner_url},
    )
    try:
        programs.finish(preparing, session.pause, what="Preparing the database")
        programs.finish(collecting, session.pause, what="Collecting static files")
    finally:
        preparing.stop()
        collecting.stop()


def _services(session: Session) -> list[Service]:
    """Everything that must run: the embedded servers, already started, and our own programs."""

    def program(name: str, command: list[str], given: dict[str, str]) -> Service:
        return Service(name, lambda: programs.start(command, name=name, place=session.place, environment=given))

    servers = [
        Service(name, lambda server=server: _restart(server), child=server.child)  # type: ignore[misc]
        for name, server in session.servers.embedded.items()
    ]
    return [
        *servers,
        program("web", programs.web(session.port), programs.where_requests_come_in(session.environment)),
        program("worker", programs.worker(), session.environment),
        program("beat", programs.beat(session.place), session.environment),
    ]


def _enrol_and_measure(session: Session, notes: dict[str, Any]) -> None:
    this = this_machine(session.place, session.environment, session.pause)
    this.enrol(notes["url"], token=notes["enrolment_token"])
    this.run("tick")
    example = example_node(session.place, session.environment, session.pause)
    example.enrol(
        notes["url"],
        token=notes["example_enrolment_token"],
        arguments=("--hostname", EXAMPLE_NODE, "--origin", "replay"),
    )
    example.run(*REPLAY)


def _tickers(session: Session) -> list[Ticker]:
    """What cron would do on the two nodes; a replayed capture goes stale like any other evidence."""
    this = this_machine(session.place, session.environment, session.pause)
    example = example_node(session.place, session.environment, session.pause)
    return [
        Ticker(lambda: this.start("tick"), period=TICK_PERIOD),
        Ticker(lambda: example.start(*REPLAY), period=REPLAY_PERIOD),
    ]


def _first(services: list[Service], name: str) -> Service:
    return next(service for service in services if service.name == name)


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
