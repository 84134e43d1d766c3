"""A portal of the tests' own: a real HTTP server on loopback that answers as it is told and keeps what it got."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def report(self) -> dict[str, Any]:
        """The report in a gzipped body."""
        document: dict[str, Any] = json.loads(gzip.decompress(self.body))
        return document


@dataclass(frozen=True)
class Reply:
    """One response to give."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    is_given: bool = True
    """False: the connection is closed instead."""

    @classmethod
    def of_json(cls, status: int, document: Any, **headers: str) -> Reply:
        """A JSON response; an underscore in a header's name stands for a hyphen."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, json.dumps(document).encode(), {"Content-Type": "application/json", **named})


PLAN = {
    "schemas": [1], "interval": 300, "poll_after": 60, "tick": ["one", "two"], "daily": ["slow"], "recheck": [],
    "allow": {"disruptive": False},
}  # fmt: skip


def accept(asked: Asked) -> Reply:
    """202 for a report, the plan for whoever asks for it."""
    if asked.method == "GET":
        return Reply.of_json(200, PLAN, ETag='"plan-1"')
    report = asked.report()
    return Reply.of_json(202, {"report_id": report["report_id"], "verdicts": [], "plan_etag": "plan-1", "recheck": []})


class LoopbackPortal:
    """Answers with ``answer``, which a test may replace at any time; ``asked`` is what came in, in order."""

    def __init__(self) -> None:
        self.answer: Callable[[Asked], Reply] = accept
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def reports(self) -> list[dict[str, Any]]:
        """Reports that came in, in order, delivered or not."""
        return [asked.report() for asked in self.asked if asked.path == "/api/v1/reports"]

    def close(self) -> None:
        """Stop listening; a second time does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        portal = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply(b"")

            def do_POST(self) -> None:
                self._reply(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

            def _reply(self, body: bytes) -> None:
                asked = Asked(
                    self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body
                )
                portal.asked.append(asked)
                reply = portal.answer(asked)
                if not reply.is_given:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: object) -> None:
                """The test reads ``asked``."""

        return Handler
