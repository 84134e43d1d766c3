"""HTTP as cron agents speak it: a fresh connection for each call, to this machine only, thousands at once."""

import asyncio
import http.client
import io
import ipaddress
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from checks.domain.errors import CountersignError

ANSWER_WITHIN_S = 60.0
#: What a call sees where no answer came: connection refused or cut, or nothing within a minute.
NO_ANSWER = 0


class NotThisMachine(CountersignError):
    """The address is not one of this machine's own."""

    code = "not_this_machine"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; ``status`` is `NO_ANSWER` where none came. ``seconds`` from the call to the last byte."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def json(self) -> dict[str, Any]:
        """The body's object; empty where it holds none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class Wire:
    """Calls to one portal, at most *at_once* open at the same time."""

    def __init__(self, url: str, *, at_once: int) -> None:
        self.url = url
        self._host, self._port = loopback_address(url)
        self._name = urlsplit(url).netloc
        self._room = asyncio.Semaphore(at_once)

    async def call(self, method: str, path: str, *, token: str, body: bytes = b"", **headers: str) -> Reply:
        """One call; *headers* are named with ``_`` for ``-``. Waiting for room does not count as the portal's time."""
        sent = {
            "Host": self._name, "Authorization": f"Bearer {token}", "Connection": "close",
            "Content-Length": str(len(body)), "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        async with self._room:
            started = time.monotonic()
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    said = await self._exchange("\r\n".join(lines).encode() + body)
                return _read(said, seconds=time.monotonic() - started)
            except (OSError, TimeoutError, http.client.HTTPException):
                return Reply(NO_ANSWER, {}, b"", time.monotonic() - started)

    async def _exchange(self, sent: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(sent)
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()


def loopback_address(url: str) -> tuple[str, int]:
    """Address and port of a portal on this machine.

    Raises:
        NotThisMachine: it is no plain http address, or its name stands for another machine, even one among several.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise NotThisMachine(f"{url} is no http:// address; give one such as http://127.0.0.1:8000.")
    port = parts.port or 80
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise NotThisMachine(f"{parts.hostname} stands for no machine ({error.strerror}).") from error
    if not all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in found):
        raise NotThisMachine(f"{url} is another machine; load is simulated against a loopback address only.")
    return min(found), port


class _Said(io.BytesIO):
    """Bytes in the place of a socket, as `http.client` reads one."""

    def makefile(self, *_: Any) -> io.BytesIO:
        return self


def _read(said: bytes, *, seconds: float) -> Reply:
    if not said:
        return Reply(NO_ANSWER, {}, b"", seconds)
    response = http.client.HTTPResponse(_Said(said))  # type: ignore[arg-type]
    response.begin()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, response.read(), seconds)
