"""The portal's own programs, as command lines."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from portal.quickstart.children import Child
from portal.quickstart.errors import QuickstartError
from portal.quickstart.place import CHECKOUT, Place
from portal.quickstart.servers import Servers

AGENT = Path(sys.executable).with_name("readiness-agent")
MANAGE = (sys.executable, str(CHECKOUT / "manage.py"))


def environment(place: Place, servers: Servers, *, port: int) -> dict[str, str]:
    """What distinguishes this portal; the owner's address is not in it, because only the migration may have that."""
    return {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "PYTHONPATH": str(CHECKOUT),
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "PORTAL_URL": f"http://127.0.0.1:{port}",
        "COUNTERSIGN_VAR": str(place.var),
        "STATIC_ROOT": str(place.var / "static"),
        "SECRET_KEY_FILE": str(place.secret("secret_key")),
        "TOKEN_PEPPERS_FILE": str(place.secret("token_peppers", prefix="1:")),
        "LEDGER_KEY_FILE": str(place.ledger_key()),
        "LEDGER_ANCHORS": str(place.anchors()),
    }


def inherited() -> dict[str, str]:
    """The environment we were started in, without what would contradict :func:`environment`."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_HANDED_ON}


_NOT_HANDED_ON = frozenset(
    {"DATABASE_OWNER_URL", "DATABASE_URL_FILE", "LEDGER_KEY_FILE", "REDIS_URL_FILE", "SECRET_KEY", "TOKEN_PEPPERS"}
)


def where_requests_come_in(environment: Mapping[str, str]) -> dict[str, str]:
    """*environment* without the key of the ledger, which web processes never have."""
    return {name: value for name, value in environment.items() if name != "LEDGER_KEY_FILE"}


def web(port: int) -> list[str]:
    """Pages and API."""
    return [
        str(Path(sys.executable).with_name("granian")),
        "--interface=wsgi",
        "--host=127.0.0.1",
        f"--port={port}",
        "--workers=2",
        "--blocking-threads=256",
        # A whole fleet that reports within a second is let in: who is told to come again must be heard first.
        "--backlog=8192",
        "--backpressure=8192",
        "--respawn-failed-workers",
        "--no-ws",
        "portal.wsgi:application",
    ]


def worker() -> list[str]:
    """Celery's worker."""
    return [sys.executable, "-m", "celery", "-A", "portal", "worker", "--concurrency=2", "--loglevel=WARNING"]


def beat(place: Place) -> list[str]:
    """Celery's clock."""
    schedule = place.var / "beat-schedule"
    return [sys.executable, "-m", "celery", "-A", "portal", "beat", f"--schedule={schedule}", "--pidfile=", "-lWARNING"]


def finish(step: Child, pause: Callable[[], None], *, what: str) -> None:
    """Wait, *pause* by *pause*, for a program that ends by itself.

    Raises:
        QuickstartError: it failed; the sentence carries its own last line.
    """
    while step.exit_status is None:
        pause()
    if step.exit_status != 0:
        raise QuickstartError(f"{what} failed: {step.last_words()} (log: {step.log})")


def start(command: Sequence[str], *, name: str, place: Place, environment: Mapping[str, str]) -> Child:
    """Start *command* in the checkout, with a log of its own and *environment* on top of the inherited one."""
    return Child(command, log=place.log(name), environment=inherited() | dict(environment))
