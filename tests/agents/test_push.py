"""What counts as delivered, what is kept, what is refused: against a real HTTP server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.agent import Agent
from readiness_agent.node import Moment, now
from readiness_agent.push import Flushed, flush, pack
from readiness_agent.spool import Entry
from readiness_agent.transport import Answer, Limits, Unreachable, retry_after
from tests.agents.portals import Asked, LoopbackPortal, Reply, accept

NO_LOSS = {"spool": 0, "bad": 0}


@pytest.fixture
def spooled(agent: Agent) -> Callable[..., None]:
    """Puts reports with these ids into the node's spool."""
    agent.spool.open()

    def add(*ids: str, written: Moment | None = None) -> None:
        for name in ids:
            body = pack({"report_id": name})
            agent.spool.add(name, body, written or now(), NO_LOSS)

    return add


HANG_UP = Reply(is_given=False)


def flush_all(agent: Agent) -> Flushed:
    return flush(agent.portal, agent.spool)


def answering(status: int, document: Any = None, **headers: str) -> Callable[[Asked], Reply]:
    return lambda asked: Reply.of_json(status, document if document is not None else {"title": "no"}, **headers)


def page(status: int) -> Callable[[Asked], Reply]:
    return lambda asked: Reply(status, b"<html>Sign in to the network</html>", {"Content-Type": "text/html"})


def waiting(agent: Agent) -> int:
    return len(agent.spool.waiting())


def test_delivered_reports_leave_the_spool_oldest_first(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2", "r3")

    flushed = flush_all(agent)

    assert [report["report_id"] for report in portal.reports()] == ["r1", "r2", "r3"]
    assert (flushed.sent, flushed.left, flushed.message) == (3, 0, "")


def test_a_report_travels_gzipped_with_its_token_and_age(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    moment = now()
    spooled("r1", written=moment._replace(boottime=moment.boottime - 3600, unix=0.0))

    flush_all(agent)

    headers = portal.asked[0].headers
    assert headers["content-encoding"] == "gzip"
    assert headers["authorization"] == "Bearer cs_agent_abcd1234_a-secret-of-the-tests"
    assert 3600 <= float(headers["report-age"]) < 3605


def test_a_report_of_an_earlier_boot_is_never_younger_than_this_boot(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    moment = now()
    spooled("r1", written=Moment(moment.unix + 86400, 5.0, "another-boot"))

    flush_all(agent)

    assert float(portal.asked[0].headers["report-age"]) >= moment.boottime


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
def test_an_answer_that_may_change_keeps_the_report(
    status: int, agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1")
    portal.answer = answering(status)

    flushed = flush_all(agent)

    assert waiting(agent) == 1
    assert str(status) in flushed.message


def test_a_refused_token_keeps_the_reports_and_says_what_to_do(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2")
    portal.answer = answering(401)

    flushed = flush_all(agent)

    assert waiting(agent) == 2
    assert "enrol it again" in flushed.message
    assert len(portal.asked) == 1


@pytest.mark.parametrize("status", [400, 409, 413, 422])
def test_a_refused_report_is_set_aside_and_the_next_one_goes(
    status: int, agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("refused", "fine")
    portal.answer = lambda asked: (
        Reply.of_json(status, {"detail": "too odd"}) if asked.report()["report_id"] == "refused" else accept(asked)
    )

    flushed = flush_all(agent)

    assert (flushed.sent, waiting(agent), len(list(Path(agent.spool.bad).iterdir()))) == (1, 0, 1)
    assert agent.spool.lost() == {"spool": 0, "bad": 1}
    assert "too odd" in flushed.message


def test_a_page_of_a_captive_portal_is_not_a_delivery(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1")
    portal.answer = page(200)

    flushed = flush_all(agent)

    assert waiting(agent) == 1
    assert "not the portal" in flushed.message


def test_an_answer_about_another_report_is_not_a_delivery(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1")
    portal.answer = answering(202, {"report_id": "r0", "verdicts": []})

    flush_all(agent)

    assert waiting(agent) == 1


def test_a_redirect_is_not_followed(agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]) -> None:
    spooled("r1")
    portal.answer = answering(307, {}, Location=f"{portal.url}/elsewhere")

    flushed = flush_all(agent)

    assert [asked.path for asked in portal.asked] == ["/api/v1/reports"]
    assert waiting(agent) == 1
    assert "redirect" in flushed.message


def test_one_report_the_portal_chokes_on_does_not_hold_up_the_others(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("choke", "fine")
    portal.answer = lambda asked: Reply(500) if asked.report()["report_id"] == "choke" else accept(asked)

    assert flush_all(agent).sent == 1
    assert waiting(agent) == 1


def test_a_portal_that_fails_at_the_oldest_and_at_the_newest_is_left_alone(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2", "r3", "r4", "r5")
    portal.answer = lambda asked: Reply(500)

    flush_all(agent)

    assert [report["report_id"] for report in portal.reports()] == ["r1", "r2", "r5"]


@pytest.mark.parametrize("choke", [Reply(500), HANG_UP])
def test_reports_that_the_portal_always_chokes_on_never_hold_up_the_new_ones(
    choke: Reply, agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("poison1", "poison2", "poison3", "fine1", "poison4", "fine2")
    portal.answer = lambda asked: choke if "poison" in asked.report()["report_id"] else accept(asked)

    flushed = flush_all(agent)

    assert sorted(flushed.answers) == ["fine1", "fine2"]
    assert [Path(path).name.partition("-")[2] for path in agent.spool.waiting()] == [
        "poison1", "poison2", "poison3", "poison4",
    ]  # fmt: skip


def test_a_proxy_that_refuses_everything_does_not_empty_the_spool(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2", "r3", "r4")
    portal.answer = page(404)

    flush_all(agent)

    assert waiting(agent) == 2
    assert agent.spool.lost() == {"spool": 0, "bad": 2}


def test_the_portals_own_refusals_are_all_set_aside(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2", "r3", "r4")
    portal.answer = answering(422)

    flush_all(agent)

    assert waiting(agent) == 0
    assert agent.spool.lost() == {"spool": 0, "bad": 4}


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"report_id": "r1"',
        b'{"report_id": "other"}',
        b'"r1"',
        b"\xff\xfe",
        b"",
    ],
)
def test_an_answer_that_is_not_about_this_report_delivers_nothing(
    body: bytes, agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1")
    portal.answer = lambda asked: Reply(200, body, {"Content-Type": "application/json"})

    assert flush_all(agent).sent == 0
    assert waiting(agent) == 1


def test_a_portal_that_was_too_slow_is_not_asked_again_in_the_same_run(agent: Agent, portal: LoopbackPortal) -> None:
    given_up = threading.Event()

    def linger(asked: Asked) -> Reply:
        given_up.wait(10)
        return accept(asked)

    portal.answer = linger
    with pytest.raises(Unreachable, match="did not finish"):
        agent.portal.get("/api/v1/agent/plan", {}, Limits(silence=5.0, total=0.1))

    with pytest.raises(Unreachable, match="too slow a moment ago"):
        agent.portal.get("/api/v1/agent/plan", {})
    given_up.set()
    assert len(portal.asked) == 1


def test_a_portal_that_is_not_there_keeps_everything(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1")
    portal.close()

    flushed = flush_all(agent)

    assert "refused" in flushed.message
    assert waiting(agent) == 1


def test_the_portals_retry_after_is_handed_on(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2")
    portal.answer = answering(429, Retry_After="120")

    assert flush_all(agent).retry_after == 120.0
    assert len(portal.asked) == 1


def test_a_connection_the_portal_closed_meanwhile_is_opened_again(
    agent: Agent, portal: LoopbackPortal, spooled: Callable[..., None]
) -> None:
    spooled("r1", "r2")
    portal.answer = lambda asked: (
        lambda reply: Reply(reply.status, reply.body, {**reply.headers, "Connection": "close"})
    )(accept(asked))

    assert flush_all(agent).sent == 2


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        ("999999", 3600.0),
        ("9" * 5000, 3600.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("\xb2", None),
        ("1e9", None),
        ("Mon, 01 Jan 0001 00:00:00 -0000", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
    ],
)
def test_retry_after_is_a_bounded_number_of_seconds(value: str, seconds: float | None) -> None:
    assert retry_after(Answer(429, {"retry-after": value}, b"")) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retry_after(Answer(503, {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, b"")) == 0.0


def test_an_answer_that_never_ends_is_given_up(agent: Agent, portal: LoopbackPortal) -> None:
    given_up = threading.Event()

    def linger(asked: Asked) -> Reply:
        given_up.wait(10)
        return accept(asked)

    portal.answer = linger

    with pytest.raises(Unreachable, match="did not finish"):
        agent.portal.get("/api/v1/agent/plan", {}, Limits(silence=5.0, total=0.1))
    given_up.set()


@pytest.mark.parametrize(("status", "lost"), [(503, 1), (422, 1), (202, 0)])
def test_a_report_that_neither_disk_nor_portal_took_is_counted(
    agent: Agent, portal: LoopbackPortal, status: int, lost: int
) -> None:
    agent.spool.open()
    in_memory = Entry("", "r1", now(), NO_LOSS, pack({"report_id": "r1"}))
    portal.answer = answering(status, {"report_id": "r1"})

    flush(agent.portal, agent.spool, [in_memory])

    assert agent.spool.lost() == {"spool": lost, "bad": 0}


def test_a_report_survives_a_kill_between_writing_and_sending(agent: Agent, portal: LoopbackPortal) -> None:
    script = (
        "import os, signal, sys; from readiness_agent.spool import Spool; from readiness_agent.node import now\n"
        "from readiness_agent.push import pack\n"
        "spool = Spool(sys.argv[1]); spool.open()\n"
        "spool.add('r1', pack({'report_id': 'r1'}), now(), {'spool': 0, 'bad': 0})\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "agents")}
    killed = subprocess.run([sys.executable, "-c", script, agent.paths.state], env=environment, check=False)
    assert killed.returncode == -9
    agent.spool.open()

    flush_all(agent)

    assert [report["report_id"] for report in portal.reports()] == ["r1"]
