"""HTTP to the portal: no redirects, no proxy but the configured one, and an end to every exchange.

``http.client`` and ``ssl`` are imported on the first exchange: most ticks have nothing to say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from readiness_agent import __version__
from readiness_agent.config import Config, check_portal, host_of

if TYPE_CHECKING:
    from http.client import HTTPConnection

MAX_ANSWER_BYTES = 4 * 1024 * 1024


class Limits(NamedTuple):
    """Seconds: of silence on the socket, and for the whole exchange with name resolution."""

    silence: float
    total: float


REPORT_LIMITS = Limits(silence=10.0, total=30.0)
PLAN_LIMITS = Limits(silence=3.0, total=5.0)


class Unreachable(Exception):
    """No answer from the portal; the text says why and, where there is something to do, what."""


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
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


class Portal:
    """The portal of one configuration. The connection is kept while a spool is flushed."""

    def __init__(self, config: Config, token: str) -> None:
        self._config = config
        self._token = token
        self._connection: Optional[HTTPConnection] = None

    def get(self, path: str, headers: Mapping[str, str], limits: Limits = PLAN_LIMITS) -> Answer:
        """One GET; raises :class:`Unreachable`."""
        return self._exchange("GET", path, headers, None, limits)

    def post(self, path: str, headers: Mapping[str, str], body: bytes, limits: Limits = REPORT_LIMITS) -> Answer:
        """One POST of a JSON document, gzipped if *headers* say so; raises :class:`Unreachable`."""
        return self._exchange("POST", path, {"Content-Type": "application/json", **headers}, body, limits)

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
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
        return _within(limits.total, lambda: self._talk(method, path, sent, body, limits.silence))

    def _talk(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], silence: float
    ) -> Answer:
        from http.client import HTTPException

        is_reused = self._connection is not None
        try:
            return self._send(method, path, headers, body, silence)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            if not (is_reused and isinstance(error, ConnectionError)):
                raise Unreachable(_explain(error, self._config.portal)) from error
        try:  # the portal had closed the idle connection
            return self._send(method, path, headers, body, silence)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise Unreachable(_explain(error, self._config.portal)) from error

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], silence: float
    ) -> Answer:
        if self._connection is None:
            self._connection = _connection(self._config, silence)
        base = "/" + self._config.portal.partition("://")[2].partition("/")[2]
        self._connection.request(method, base.rstrip("/") + path, body=body, headers=dict(headers))
        response = self._connection.getresponse()
        answer = response.read(MAX_ANSWER_BYTES)
        if response.read(1):
            raise ValueError("the answer is longer than 4 MiB")
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, answer)


def _connection(config: Config, silence: float) -> HTTPConnection:
    """A connection to the portal, through the configured proxy if there is one. It follows nothing."""
    import http.client

    scheme, _, rest = check_portal(config.portal).partition("://")
    authority = rest.partition("/")[0]
    host, port = host_of(rest), _port(authority)
    if scheme == "http":
        return http.client.HTTPConnection(host, port or 80, timeout=silence)
    if not config.proxy:
        return http.client.HTTPSConnection(host, port or 443, timeout=silence, context=_tls(config))
    proxy = config.proxy.partition("://")[2]
    connection = http.client.HTTPSConnection(
        host_of(proxy), _port(proxy.partition("/")[0]) or 3128, timeout=silence, context=_tls(config)
    )
    connection.set_tunnel(host, port or 443)
    return connection


def _tls(config: Config) -> Any:
    import ssl

    context = ssl.create_default_context(cafile=config.ca_file or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _port(authority: str) -> Optional[int]:
    """The port in ``host:port`` or ``[address]:port``."""
    tail = authority.rpartition("]")[2] if authority.startswith("[") else authority
    port = tail.partition(":")[2]
    return int(port) if port.isdigit() else None


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
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise Unreachable(f"the portal did not finish its answer within {seconds:.0f} s")
    return answers[0]


def _explain(error: BaseException, portal: str) -> str:
    """What a person can do about *error*."""
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
    if value.isdigit():
        return min(float(value), 3600.0)
    return _seconds_until(value)


def _seconds_until(date: str) -> Optional[float]:
    import time
    from email.utils import parsedate_to_datetime

    try:
        return min(max(0.0, parsedate_to_datetime(date).timestamp() - time.time()), 3600.0)
    except (TypeError, ValueError):
        return None
