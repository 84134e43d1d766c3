"""Agents stand in line, and never take the last thread or connection from who asks the gate."""

import json
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db import connection

from portal.connections import ConnectionsToLend
from portal.lanes import AT_ONCE, LONGEST_PAUSE_S, PLACES, THREADS, Lanes, Line
from portal.quickstart import programs
from tests.architecture.source_files import ROOT

REPORTS, GATE = {"PATH_INFO": "/api/v1/reports"}, {"PATH_INFO": "/gate/lab"}


class Slow:
    """An application whose reports wait until they are let go."""

    def __init__(self) -> None:
        self.let_go, self.working, self.most = threading.Event(), 0, 0
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ is REPORTS:
            with self._lock:
                self.working += 1
                self.most = max(self.most, self.working)
            self.let_go.wait(10)
            with self._lock:
                self.working -= 1
        start_response("200 OK", [])
        return [b"he", b"re"]


def ask(lanes: Lanes, environ: dict[str, Any]) -> tuple[str, dict[str, str], bytes]:
    """Status, headers and body."""
    said: list[Any] = []
    body = b"".join(lanes(environ, lambda *told: said.extend(told)))
    return said[0], dict(said[1]), body


def test_the_gate_is_answered_while_reports_fill_the_line() -> None:
    slow = Slow()
    lanes = Lanes(slow)
    reports = [threading.Thread(target=ask, args=(lanes, REPORTS)) for _ in range(3 * AT_ONCE)]
    for report in reports:
        report.start()

    assert ask(lanes, GATE)[0] == "200 OK"
    slow.let_go.set()
    for report in reports:
        report.join(10)
    assert slow.most <= AT_ONCE


def test_a_report_for_which_the_line_is_too_long_is_told_when_to_come_again() -> None:
    slow = Slow()
    lanes = Lanes(slow)
    lanes._line._inside = PLACES

    status, headers, body = ask(lanes, REPORTS)

    assert status == "503 Service Unavailable"
    assert int(headers["Retry-After"]) >= 1
    assert json.loads(body)["code"] == "busy"


def test_appointments_are_one_after_the_other_and_at_most_a_minute_away() -> None:
    line = Line(clock=lambda: 1000.0)
    line._inside, line._seconds_each = PLACES, 0.4
    told: list[int] = []
    for _ in range(2000):
        with line.turn() as seconds:
            assert seconds is not None
            told.append(seconds)

    assert told == sorted(told)
    assert 1 < told[0] < told[100] < told[-1] == LONGEST_PAUSE_S


def test_a_line_that_has_emptied_lets_in_at_once() -> None:
    line = Line()
    for _ in range(3 * PLACES):
        with line.turn() as seconds:
            assert seconds is None


def test_a_report_that_fails_gives_its_place_back() -> None:
    def failing(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        raise RuntimeError

    lanes = Lanes(failing)
    for _ in range(AT_ONCE + 1):
        with pytest.raises(RuntimeError):
            ask(lanes, REPORTS)

    assert lanes._line._inside == 0


def test_web_processes_are_started_with_the_threads_that_the_lanes_count_on() -> None:
    commands = [" ".join(programs.web(8000)), (ROOT / "Dockerfile").read_text(encoding="utf-8")]

    assert [re.findall(r"--blocking-threads=(\d+)", command) for command in commands] == [[str(THREADS)]] * 2


@pytest.mark.django_db(transaction=True)
def test_a_connection_goes_from_one_thread_to_the_next_and_is_opened_once() -> None:
    lending, backends = ConnectionsToLend(2), set()

    def ask_database() -> None:
        with lending.lent(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backends.add(cursor.fetchone())

    for _ in range(3):
        thread = threading.Thread(target=ask_database)
        thread.start()
        thread.join(10)
    lending._free.get_nowait().close()

    assert len(backends) == 1
