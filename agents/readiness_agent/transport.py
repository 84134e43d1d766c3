"""HTTP to the portal: no redirects, no proxy but the configured one, and an end to every exchange.

``http.client`` and ``ssl`` are imported on the first exchange: most ticks have nothing to say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from readiness_agent import __version__
from readiness_agent.config import Config, check_portal, host_of, port_of
from readiness_agent.values import whole

if TYPE_CHECKING:
    from http.client import HTTPConnection

MAX_ANSWER_BYTES = 4 * 1024 * 1024

LONGEST_WAIT = 3600.0
"""Seconds for which the portal can make an agent wait, whatever it says."""


class Limits(NamedTuple):
    """Seconds: of silence on the socket, and for the whole exchange with name resolution."""

    silence: float
    total: float


REPORT_LIMITS = Limits(silence=10.0, total=30.0)
PLAN_LIMITS = Limits(silence=3.0, total=5.0)


class Unreachable(Exception):
    """No answer from the portal; the text says why and, where there is something to do, what."""


class NoAnswer(Unreachable):
    """The portal was reached and took the request, and did not answer it."""


class Late(Unreachable):
    """The whole exchange took too long, in whatever part of it."""


class Answer(NamedTuple):
    """What came back, whoever sent it: a proxy can answer, too."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Optional[Dict[str, Any]]:
        """The JSON object in the body; None for anything else, such as a proxy's page."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            return None
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class Portal:
    """The portal of one configuration. The connection is kept while a spool is flushed."""

    def __init__(self, config: Config, token: str, addresses: str = "") -> None:
        """*addresses* is a file in which to remember where the portal was found; without one, nothing is remembered."""
        self._config = config
        self._token = token
        self._addresses = addresses
        self._connection: Optional[HTTPConnection] = None
        self._is_late = False

    def get(self, path: str, headers: Mapping[str, str], limits: Limits = PLAN_LIMITS) -> Answer:
        """One GET; raises :class:`Unreachable`."""
        return self._exchange("GET", path, headers, None, limits)

    def post(self, path: str, headers: Mapping[str, str], body: bytes, limits: Limits = REPORT_LIMITS) -> Answer:
        """One POST of a JSON document, gzipped if *headers* say so; raises :class:`Unreachable`."""
        return self._exchange("POST", path, {"Content-Type": "application/json", **headers}, body, limits)

    def delete(self, path: str, limits: Limits = REPORT_LIMITS) -> Answer:
        """One DELETE; raises :class:`Unreachable`."""
        return self._exchange("DELETE", path, {}, None, limits)

    def close(self) -> None:
        """Drop the connection. One that a late thread still reads is left to it: closing would wait for that read."""
        if self._connection is not None and not self._is_late:
            self._connection.close()
        self._connection = None

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], limits: Limits
    ) -> Answer:
        sent = {
            "Authorization": f"Bearer {self._token}",
            "User-Agent": f"readiness-agent/{__version__}",
            "Accept": "application/json, application/problem+json",
            **headers,
        }
        if self._is_late:  # its thread may still use the connection
            raise Unreachable("the portal was too slow a moment ago: the rest goes with the next tick")
        try:
            return _within(limits.total, lambda: self._talk(method, path, sent, body, limits.silence))
        except Late:
            self._is_late = True
            raise

    def _talk(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], silence: float
    ) -> Answer:
        from http.client import HTTPException

        is_reused = self._connection is not None
        try:
            return self._send(self._connected(silence), method, path, headers, body)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            if not (is_reused and isinstance(error, ConnectionError)):
                raise NoAnswer(_explain(error, self._config)) from error
        try:  # the portal had closed the idle connection
            return self._send(self._connected(silence), method, path, headers, body)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise NoAnswer(_explain(error, self._config)) from error

    def _connected(self, silence: float) -> HTTPConnection:
        """The kept connection, or a new one; raises :class:`Unreachable`."""
        from http.client import HTTPException

        if self._connection is None:
            try:
                connection = _connection(self._config, silence, self._addresses)
                connection.connect()
            except (OSError, HTTPException, ValueError) as error:
                raise Unreachable(_explain(error, self._config)) from error
            self._connection = connection
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(silence)  # a report may take longer than the plan before it
        return self._connection

    def _send(
        self, connection: HTTPConnection, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes]
    ) -> Answer:
        base = "/" + self._config.portal.partition("://")[2].partition("/")[2]
        try:
            connection.request(method, base.rstrip("/") + path, body=body, headers=dict(headers))
            with connection.getresponse() as response:
                answer = response.read(MAX_ANSWER_BYTES)
                if response.read(1):
                    raise ValueError("the answer is longer than 4 MiB")
                return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, answer)
        finally:
            if self._is_late:  # nobody waits for this answer any more, nor closes what it came over
                connection.close()


def _connection(config: Config, silence: float, addresses: str) -> HTTPConnection:
    """A connection to be made to the portal, through the configured proxy if there is one. It follows nothing."""
    import http.client

    from readiness_agent.dialling import AddressBook, dial

    scheme, _, rest = check_portal(config.portal).partition("://")
    host, port = host_of(rest), port_of(rest)
    through = config.proxy.partition("://")[2] if scheme == "https" else ""
    connection: HTTPConnection
    if scheme == "http":
        connection = http.client.HTTPConnection(host, port or 80, timeout=silence)
    elif through:
        connection = http.client.HTTPSConnection(
            host_of(through), port_of(through) or 3128, timeout=silence, context=_tls(config)
        )
        connection.set_tunnel(host, port or 443)
    else:
        connection = http.client.HTTPSConnection(host, port or 443, timeout=silence, context=_tls(config))
    book = AddressBook(addresses) if addresses else None
    # The one place at which http.client lets its caller decide how a name becomes a socket.
    connection._create_connection = lambda target, *_: dial(target, silence, book)  # type: ignore[attr-defined]
    return connection


def _tls(config: Config) -> Any:
    import ssl

    context = ssl.create_default_context(cafile=config.ca_file or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _within(seconds: float, talk: Callable[[], Answer]) -> Answer:
    """Run *talk* in a thread and wait for *seconds*: a resolver or a trickling answer obeys no socket time-out.

    A thread that is late is left alone; it ends with the process, and a report it may still deliver is known by its
    id.
    """
    import threading

    answers: List[Answer] = []
    errors: List[BaseException] = []

    def run() -> None:
        try:
            answers.append(talk())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        raise Unreachable("no thread could be started to talk to the portal: this node is out of processes") from None
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise Late(f"the portal did not finish its answer within {seconds:.0f} s")
    return answers[0]


def _explain(error: BaseException, config: Config) -> str:
    """What a person can do about *error*."""
    portal = config.portal
    if isinstance(error, FileNotFoundError):
        return f"{portal}: ca_file {config.ca_file} is not there: name the file of the authority that issued it"
    text = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error) or type(error).__name__
    if "expired" in text or "not yet valid" in text:
        return f"{portal}: {text}; compare this node's clock with the portal's certificate"
    if getattr(error, "verify_message", ""):
        return f"{portal}: certificate not accepted ({text}); set ca_file to the authority that issued it"
    return f"{portal}: {text}"


def retry_after(answer: Answer) -> Optional[float]:
    """Seconds of a Retry-After header (a number or an HTTP date), at most an hour."""
    value = answer.headers.get("retry-after", "").strip()
    if not value:
        return None
    seconds = whole(value)
    return _seconds_until(value) if seconds is None else min(float(seconds), LONGEST_WAIT)


def _seconds_until(date: str) -> Optional[float]:
    import time
    from email.utils import parsedate_to_datetime

    try:
        return min(max(0.0, parsedate_to_datetime(date).timestamp() - time.time()), LONGEST_WAIT)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
