"""A web process is killed in the middle of a signature: nothing of it is left, and it can be given again."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from checks.models import LedgerEntry, Manifest, Outbox, PinnedEvidence, Signature
from checks.selectors.anchors import KeyRing
from checks.selectors.ledger import verify_ledger
from portal.quickstart.place import CHECKOUT
from portal.quickstart.programs import web
from tests.databases import TestDatabases
from tests.fleet import Fleet
from tests.services.test_races import calls_waiting
from tests.ui.signing import SIGN_DATA, make_lab, sent

pytestmark = pytest.mark.django_db(transaction=True)

Connect = Callable[[str], psycopg.Connection]
PATIENCE_S = 30.0
CSRF = "c" * 32


class WebProcess:
    """Pages and API as a deployment serves them, on the database of the test."""

    def __init__(self, database_url: str, log: Any) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{port}"
        environment = os.environ | {
            "DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "portal.settings", "PORTAL_URL": self.url,
            "SECRET_KEY": settings.SECRET_KEY, "PYTHONPATH": str(CHECKOUT),
        }  # fmt: skip
        self._process = subprocess.Popen(
            web(port), cwd=CHECKOUT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        _until(self._serves, "the web process serves")

    def _serves(self) -> bool:
        with suppress(OSError):
            return bool(urllib.request.urlopen(f"{self.url}/healthz", timeout=1).status == 200)
        return False

    def post(self, path: str, form: dict[str, str], session: str) -> None:
        """Send *form* as the browser of that session does; its answer is lost."""
        body = urllib.parse.urlencode(form | {"csrfmiddlewaretoken": CSRF}).encode()
        cookies = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={CSRF}"
        with suppress(OSError):
            urllib.request.urlopen(
                urllib.request.Request(self.url + path, data=body, headers={"Cookie": cookies}), timeout=PATIENCE_S
            )

    def kill(self) -> None:
        """SIGKILL to it and to all of its workers, which are a group of their own."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)


def _until(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"not within {PATIENCE_S:.0f} s: {what}"
        time.sleep(0.05)


@pytest.fixture
def web_process(transactional_db: None, databases: TestDatabases, tmp_path: Any) -> Iterator[WebProcess]:
    with (tmp_path / "web.log").open("wb") as log:
        process = WebProcess(databases.url("app"), log)
        yield process
        process.kill()


def form_of(client: Client) -> dict[str, str]:
    """What the sign page's form holds, filled in."""
    page = client.get(SIGN_DATA).content.decode()
    held = dict(re.findall(r'name="(digest|role)" value="(\w+)"', page))
    return held | {"meaning": "reviewed", "comment": "", "seconds": "{}"}


def at_work() -> int:
    """How many other connections are in the middle of something."""
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(others, [connection.connection.info.backend_pid])
        return int(cursor.fetchone()[0])


def stored() -> tuple[int, ...]:
    return tuple(kind.objects.count() for kind in (Signature, Manifest, PinnedEvidence, LedgerEntry, Outbox))


def test_a_web_process_killed_in_the_middle_of_a_signature_leaves_nothing_of_it(
    web_process: WebProcess, fleet: Fleet, now: datetime, connect_as: Connect
) -> None:
    """It waits for the ledger, with its signature written and not committed: ``atomic`` on ``sign_layer``."""
    sable = make_lab(fleet, now).sight("sable").client
    form, before, held = form_of(sable), stored(), connect_as("app")
    held.execute("SELECT pg_advisory_xact_lock(hashtext('countersign.ledger'))")
    session = sable.cookies[settings.SESSION_COOKIE_NAME].value
    browser = threading.Thread(target=web_process.post, args=(SIGN_DATA, form, session))
    browser.start()
    assert calls_waiting(1)
    web_process.kill()
    browser.join(PATIENCE_S)
    held.rollback()
    held.close()
    _until(lambda: at_work() == 0, "what the killed process had begun is over")

    assert stored() == before
    assert sent(sable, SIGN_DATA)[0] == 302
    assert Signature.objects.get().round == 1
    assert LedgerEntry.objects.filter(what="signed").count() == 1
    assert verify_ledger(now=now, keys=KeyRing(None, {}), outside=()).breaks == ()
