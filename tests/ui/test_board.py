"""The board: can we start, what stops us, who must act, what changed."""

import gzip
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checks.domain.verdicts import Purpose
from checks.models import Heartbeat, Role
from checks.selectors.readiness import answer_gate
from checks.services.heartbeats import note_alive
from checks.services.people import grant_role
from portal.accounts.models import User
from tests.fleet import Fleet, healthy_nodes, make_fleet, person
from tests.ui.conftest import HOUR, MINUTE, Sight, seen_by


def test_it_asks_whether_a_job_may_start_and_answers_as_the_gate_does(sight: Sight, hana: User, now: datetime) -> None:
    gate = answer_gate(user=hana, cluster="helios", nodes=None, purpose=Purpose.HEALTH, run=None, now=now)
    page = sight.text("/")
    assert gate.decision == "not_ready"
    assert "May a job start on" in page
    assert "Not yet" in page
    assert f"{len(gate.ready_nodes)} of {gate.asked} nodes are ready." in page


def test_a_cluster_whose_nodes_all_pass_may_start(db: None, now: datetime) -> None:
    fleet = make_fleet("boreas", at=now - 2 * HOUR)
    healthy_nodes(fleet, ["b01", "b02"], at=now - MINUTE)
    page = seen_by(person("vera", fleet.cluster, Role.VIEWER)).text("/")
    assert "All 2 nodes pass every blocking item on fresh evidence." in page
    assert "nothing stops it" in page
    assert "Nobody: nothing is waiting for a person." in page


def test_what_stops_it_says_where_how_much_what_is_needed_and_who_cures_it(sight: Sight) -> None:
    page = sight.text("/")
    row = page[page.index("PCIe link width") :][:900]
    assert "gpu-003 GPU 3" in row
    assert "8\u202flanes" in row
    assert "16\u202flanes" in row
    assert 'data-label="Owner">Hardware<' in row
    assert 'href="/clusters/helios/nodes/gpu-003/items/gpu-pcie-width/?subject=gpu3"' in page


def test_a_tool_that_hangs_is_one_cause_whatever_it_takes_with_it(sight: Sight, fleet: Fleet, now: datetime) -> None:
    hung = dict.fromkeys(("gpu-ecc", "gpu-present", "gpu-fabric"), ("hung", "nvidia-smi did not answer within 10 s"))
    fleet.report("gpu-002", at=now, problems=hung)
    page = sight.text("/")
    assert page.count("A tool hangs") == 2  # once as a cause, once as somebody's task
    assert "3 items" in page


def test_the_reader_s_own_tasks_come_first_and_say_you(sight: Sight) -> None:
    page = sight.text("/")
    assert "You: Hardware engineer" in page
    assert page.index("You: Hardware engineer") < page.index("Reseat the GPU")


def test_a_dead_worker_says_so_loudly(sight: Sight, now: datetime) -> None:
    for name in ("worker", "beat", "sweep"):
        note_alive(name=name, now=now)
    assert "No sign of life" not in sight.text("/")
    Heartbeat.objects.filter(name="worker").update(at=now - timedelta(minutes=6))
    page = sight.text("/")
    assert 'role="alert"' in page
    assert "No sign of life from: Worker." in page


def test_a_cluster_without_nodes_shows_the_command_that_enrols_one(db: None, now: datetime) -> None:
    fleet = make_fleet("empty", at=now)
    page = seen_by(person("lena", fleet.cluster, Role.LEAD)).text("/")
    assert "curl -fsSO http://127.0.0.1:8000/agent/install.sh &amp;&amp; sudo sh install.sh" in page
    assert "/clusters/empty/enrol/" in page
    assert "Cannot tell" in page


def test_somebody_without_a_cluster_is_told_whom_to_ask(db: None) -> None:
    assert "Ask an administrator of a cluster" in seen_by(person("nina")).text("/")


def test_what_failed_since_yesterday_stands_there_and_an_earlier_visit_is_remembered(
    sight: Sight, now: datetime
) -> None:
    page = sight.text("/")
    assert "gpu-pcie-width on gpu-003" in page
    assert "the last day" in page
    session = sight.client.session
    session["looked_at"] = (now - 3 * HOUR).isoformat()
    session.save()
    assert "your last visit" in sight.text("/")


def test_nodes_that_came_in_are_one_line_and_their_first_passes_none(sight: Sight) -> None:
    page = sight.text("/")
    since = page[page.index('aria-labelledby="since"') :]
    assert "4 nodes enrolled" in since
    assert "gpu-ecc" not in since  # it passed at once; what a load proved an hour later is news
    assert "gpu-pcie-width on gpu-003" in since


def test_nobody_is_told_more_than_six_things_at_once(sight: Sight, fleet: Fleet, now: datetime) -> None:
    low = {"live": 1, "configured": 1}
    items = ("sysctl-somaxconn", "sysctl-syn-backlog", "sysctl-netdev-backlog", "sysctl-file-max")
    fails: dict[str, dict[str, object]] = {item: {**low} for item in items} | {
        "sysctl-swappiness": {"live": 60, "configured": 60},
        "ulimit-nofile": {"soft": 1024, "hard": 1024},
        "hung-io": {"longest_wait": 90.0},
        "clock-sync": {"synchronized": False},
    }
    fleet.report("gpu-002", at=now, changed=fails)
    acts = sight.text("/").partition('class="acts"')[2].partition("</section>")[0]
    platform = acts.partition("AI platform engineer")[2].partition("Hardware engineer")[0]
    assert platform.count('class="clip"') == 6
    assert "more in the list" in platform


def test_changes_older_than_the_last_visit_are_not_told_again(sight: Sight, now: datetime) -> None:
    session = sight.client.session
    session["visit_before"] = session["looked_at"] = now.isoformat()
    session.save()
    assert "No verdict changed and no node went silent." in sight.text("/")


def test_the_number_of_queries_does_not_follow_the_number_of_nodes(sight: Sight, fleet: Fleet, now: datetime) -> None:
    sight.text("/")
    with CaptureQueriesContext(
        connection,
    ) as few:
        sight.text("/")
    healthy_nodes(fleet, [f"gpu-{number:03d}" for number in range(10, 22)], at=now - MINUTE)
    with CaptureQueriesContext(connection) as many:
        sight.text("/")
    assert len(many) == len(few)
    assert len(few) <= 18


def test_the_board_is_under_100_kb_with_all_that_it_loads(sight: Sight) -> None:
    page = sight.text("/")
    loaded = set(re.findall(r'(?:src|href)="/static/([^"?]+)"', page))
    assert len(loaded) >= 9
    static = sum(len(gzip.compress(Path(finders.find(path)).read_bytes())) for path in loaded)
    assert len(page.encode()) + static < 100_000


@pytest.mark.parametrize("slug", ["helios", "boreas"])
def test_any_cluster_can_be_put_in_focus(sight: Sight, hana: User, now: datetime, slug: str) -> None:
    other = make_fleet("boreas", at=now - HOUR, profile="8xh100")
    grant_role(user=hana, cluster=other.cluster, role=Role.VIEWER, by=None, now=now)
    page = sight.text("/", cluster=slug)
    assert f'May a job start on <a href="/clusters/{slug}/">{slug}</a>, now?' in page
