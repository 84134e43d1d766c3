"""What people and chats were told, for tests of notices: a real web hook on loopback, and the mails of one round."""

import json
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

from django.core import mail

from checks.models import Outbox
from checks.services.notice_sending import send_notices
from checks.services.notices import plan_notices
from tests.lab import NOON


class Hook:
    """A web hook on loopback: what it was told, and what it answers."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.status = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.said.append(json.loads(body))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Nothing: the test says what it saw."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"json://127.0.0.1:{self.server.server_port}/secret-path"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def tell(*, now: datetime = NOON) -> list[Any]:
    """Do what the outbox asks for, and send; the mails of this round."""
    mail.outbox.clear()
    for row in Outbox.objects.filter(task="checks.notify", sent_at=None).order_by("pk"):
        plan_notices(entry_id=row.args[0], now=now)
        Outbox.objects.filter(pk=row.pk).update(sent_at=now)
    send_notices(now=now)
    return list(mail.outbox)


def readers(mails: list[Any]) -> set[str]:
    return {address for one in mails for address in one.to}


def subjects(mails: list[Any]) -> set[str]:
    return {one.subject for one in mails}
