"""Gets reports to the portal: spool first, then send, oldest first; what was not acknowledged stays."""

from __future__ import annotations

import time
import zlib
from collections import deque
from typing import Any, Deque, Dict, NamedTuple, Optional, Sequence, Tuple, Union

from readiness_agent.files import json_bytes
from readiness_agent.node import Moment, now, seconds_since
from readiness_agent.spool import Entry, Spool, SpoolFull
from readiness_agent.transport import REPORT_LIMITS, Answer, Limits, NoAnswer, Portal, Unreachable, retry_after

FLUSH_SECONDS = 20.0
"""For one tick; what is left goes with the next."""

MAX_INDIGESTIBLE = 2
"""Reports in a row that the portal may choke on before the newest one is tried instead of the next."""

MAX_REFUSED_BY_STRANGERS = 2
"""Reports in a row that may be refused in other words than the portal's: a proxy's 404 must not empty a spool."""

AGAIN = (401, 408, 425, 429)
"""4xx that say nothing about the report itself: it is kept."""

DELIVERED, KEPT, REFUSED = "delivered", "kept", "refused"


class Delivery(NamedTuple):
    """What became of one try to send one report."""

    outcome: str
    message: str
    answer: Dict[str, Any]
    """The portal's words, when they are JSON."""
    is_choked: bool
    """The portal took the request and failed at it, without asking for a pause: this report may be why."""
    retry_after: Optional[float]


class Flushed(NamedTuple):
    """What became of the spool in one tick."""

    answers: Dict[str, Dict[str, Any]]
    """By report id, of those delivered."""
    sent: int
    left: int
    message: str
    """Why something is left; empty when nothing is."""
    retry_after: Optional[float]


def pack(report: Dict[str, Any]) -> bytes:
    """The gzip form of a report, the same bytes for the same report."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(json_bytes(report)) + packer.flush()


def written_at(report: Dict[str, Any]) -> Moment:
    """The clocks at which a report was written."""
    clock = report["clock"]
    return Moment(clock["unix"], clock["boottime"], report["node"]["boot_id"])


def store(spool: Spool, report: Dict[str, Any]) -> Tuple[Entry, str]:
    """Spool *report*; when the disk refuses, the entry lives in memory only, and the second value says why."""
    body, written = pack(report), written_at(report)
    try:
        return spool.add(report["report_id"], body, written, report["lost"]), ""
    except (OSError, SpoolFull) as error:
        reason = f"spool unwritable ({error}); the report is sent from memory"
        return Entry("", report["report_id"], written, report["lost"], body), reason


def send(portal: Portal, entry: Entry, age: float, limits: Limits = REPORT_LIMITS) -> Delivery:
    """Try once to deliver one report that is *age* seconds old."""
    headers = {"Content-Encoding": "gzip", "Report-Age": f"{max(0.0, age):.3f}"}
    try:
        answer = portal.post("/api/v1/reports", headers, entry.body, limits)
    except Unreachable as error:
        return Delivery(KEPT, str(error), {}, isinstance(error, NoAnswer), None)
    return _judge_answer(answer, entry.report_id)


def flush(portal: Portal, spool: Spool, unspooled: Sequence[Entry] = ()) -> Flushed:
    """Send what waits, oldest first, then *unspooled* reports, for at most ``FLUSH_SECONDS``."""
    round_ = _Flush(portal, spool)
    waiting: Deque[Union[str, Entry]] = deque([*spool.waiting(), *unspooled])
    while waiting and round_.goes_on:
        one = waiting.pop() if round_.is_doubtful else waiting.popleft()
        entry = spool.load(one) if isinstance(one, str) else one
        if entry is not None:
            round_.deliver(entry)
    flushed = round_.summary()
    lose(spool, [entry for entry in unspooled if not entry.path and entry.report_id not in flushed.answers])
    return flushed


def lose(spool: Spool, entries: Sequence[Entry]) -> None:
    """Count reports that lay in memory only and end with this process, for a later report to tell."""
    try:
        spool.count_lost(len(entries))
    except OSError:
        pass  # not even memory takes a file: the tick says that its state cannot be kept


class _Flush:
    """One tick's sending.

    A report that the portal chokes on must not hold up all others for a week: after some such in a row the newest
    report is tried, and tells whether the portal is at fault or those before are.
    """

    def __init__(self, portal: Portal, spool: Spool) -> None:
        self._portal = portal
        self._spool = spool
        self._end = time.monotonic() + FLUSH_SECONDS
        self._answers: Dict[str, Dict[str, Any]] = {}
        self._choked_on = 0
        self._refused_by_strangers = 0
        self._message = ""
        self._retry_after: Optional[float] = None
        self.goes_on = True

    @property
    def is_doubtful(self) -> bool:
        """Whether the newest report is to be tried next."""
        return self._choked_on == MAX_INDIGESTIBLE

    def deliver(self, entry: Entry) -> None:
        """Try one report, and see whether there is a point in trying another one now."""
        left = self._end - time.monotonic()
        if left <= 0:
            self._message, self.goes_on = "time is up; the rest goes with the next tick", False
            return
        delivery = send(self._portal, entry, seconds_since(entry.written, now()), _limits(left))
        _settle(self._spool, entry, delivery)
        if delivery.outcome == DELIVERED:
            self._answers[entry.report_id] = delivery.answer
            self._choked_on = self._refused_by_strangers = 0
            return
        self._message, self._retry_after = delivery.message, delivery.retry_after
        self.goes_on = self._may_go_on(delivery)

    def _may_go_on(self, delivery: Delivery) -> bool:
        if delivery.outcome == REFUSED:
            self._refused_by_strangers = 0 if delivery.answer else self._refused_by_strangers + 1
            return self._refused_by_strangers < MAX_REFUSED_BY_STRANGERS
        self._choked_on += 1
        return delivery.is_choked and self._choked_on <= MAX_INDIGESTIBLE

    def summary(self) -> Flushed:
        """What came of it."""
        left = len(self._spool.waiting())
        return Flushed(self._answers, len(self._answers), left, self._message, self._retry_after)


def _limits(left: float) -> Limits:
    return Limits(min(REPORT_LIMITS.silence, left), min(REPORT_LIMITS.total, left))


def _settle(spool: Spool, entry: Entry, delivery: Delivery) -> None:
    """Delete what was delivered, set aside what was refused; what lives in memory only has no file to settle."""
    if not entry.path:
        return
    if delivery.outcome == DELIVERED:
        spool.delivered(entry)
    elif delivery.outcome == REFUSED:
        spool.set_aside(entry.path, entry.lost)


def _judge_answer(answer: Answer, report_id: str) -> Delivery:
    """Only a JSON answer that names the report counts as delivered."""
    words, status, wait = answer.json() or {}, answer.status, retry_after(answer)
    if 200 <= status < 300:
        if words.get("report_id") == report_id:
            return Delivery(DELIVERED, "", words, False, wait)
        message = f"something between here and the portal answered {status}, not the portal: check portal and proxy"
        return Delivery(KEPT, message, words, False, wait)
    said = str(words.get("detail") or words.get("title") or "")
    message = f"the portal answered {status}{': ' + said if said else ''}"
    if 400 <= status < 500 and status not in AGAIN:
        return Delivery(REFUSED, f"{message}; the report is kept in bad/", words, False, wait)
    return Delivery(KEPT, _advice(status, message), words, status >= 500 and wait is None, wait)


def _advice(status: int, message: str) -> str:
    if status == 401:
        return f"{message}; this node's token is not accepted: enrol it again, nothing is lost meanwhile"
    if 300 <= status < 400:
        return f"{message}, a redirect, which is never followed: set portal to the address it really has"
    return message
