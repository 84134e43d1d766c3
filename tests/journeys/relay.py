"""What lies between an agent and its portal: passes everything on, and fails when a test says so."""

import http.client
import json
import socket
from collections.abc import Callable
from typing import Any

from tests.agents.portals import Asked, LoopbackPortal, Reply
from tests.journeys.user import Portal

_KEPT = ("content-type", "etag", "retry-after")
_HANG_UP = Reply(is_given=False)

Accident = Callable[[], None]


class Relay:
    """Listens on an address of its own; ``answers`` are the portal's to reports, in order."""

    def __init__(self, portal: Portal) -> None:
        self.portal = portal
        self.answers: list[dict[str, Any]] = []
        self._front = LoopbackPortal()
        self._front.answer = self.pass_on

    @property
    def url(self) -> str:
        return self._front.url

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Every report that an agent sent, in order."""
        return self._front.reports()

    def close(self) -> None:
        self._front.close()

    def pass_on(self, asked: Asked) -> Reply:
        """Hand the request to the portal, and its answer back; hang up where the portal does not answer."""
        return self._pass_on(asked, asked.body)

    def lose_the_answer(self, accident: Accident) -> None:
        """The next report reaches the portal; then *accident* happens, and nobody hears the answer."""

        def fail(asked: Asked) -> Reply:
            self.pass_on(asked)
            accident()
            return _HANG_UP

        self._at_the_next_report(fail)

    def cut_the_body(self, accident: Accident) -> None:
        """Half of the next report reaches the portal when *accident* happens."""

        def fail(asked: Asked) -> Reply:
            self._send_half(asked)
            accident()
            return _HANG_UP

        self._at_the_next_report(fail)

    def spoil_the_next(self, spoil: Callable[[bytes], bytes]) -> None:
        """The next report reaches the portal as *spoil* makes it."""
        self._at_the_next_report(lambda asked: self._pass_on(asked, spoil(asked.body)))

    def _at_the_next_report(self, do: Callable[[Asked], Reply]) -> None:
        def answer(asked: Asked) -> Reply:
            if asked.path != "/api/v1/reports":
                return self.pass_on(asked)
            self._front.answer = self.pass_on
            return do(asked)

        self._front.answer = answer

    def _pass_on(self, asked: Asked, body: bytes) -> Reply:
        connection = http.client.HTTPConnection(self.portal.url.partition("//")[2], timeout=30)
        headers = {name: value for name, value in asked.headers.items() if name.lower() != "content-length"}
        try:
            connection.request(asked.method, asked.path, body=body or None, headers=headers)
            answer = connection.getresponse()
            kept = {name: answer.headers[name] for name in _KEPT if answer.headers[name]}
            reply = Reply(answer.status, answer.read(), kept)
        except (OSError, http.client.HTTPException):
            return _HANG_UP
        finally:
            connection.close()
        if asked.path == "/api/v1/reports":
            self.answers.append({"status": answer.status, **_json(reply.body)})
        return reply

    def _send_half(self, asked: Asked) -> None:
        host, _, port = self.portal.url.partition("//")[2].partition(":")
        head = "".join(f"{name}: {value}\r\n" for name, value in asked.headers.items())
        with socket.create_connection((host, int(port)), timeout=10) as half:
            half.sendall(f"POST {asked.path} HTTP/1.1\r\n{head}\r\n".encode() + asked.body[: len(asked.body) // 2])


def _json(body: bytes) -> dict[str, Any]:
    said = json.loads(body)
    return said if isinstance(said, dict) else {}
