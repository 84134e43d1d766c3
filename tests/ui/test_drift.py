"""What differs among nodes, on one page: ranked, filtered, as a file, and one click away from being an item."""

import csv
from datetime import datetime, timedelta

import pytest
from django.test import Client

from checks.domain.setting_items import item_key
from checks.models import Role
from checks.selectors.setting_items import open_settings
from portal.accounts.models import User
from tests.fleet import Fleet, healthy_nodes, make_fleet, person
from tests.settings_sent import BACKLOG, RMEM, tell
from tests.ui.conftest import Sight, seen_by

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
USUAL = {BACKLOG: "250000", RMEM: "212992", "sysctl:kernel.hostname": "x", **{f"sysctl:a.s{n}": "1" for n in range(9)}}


@pytest.fixture
def told(fleet: Fleet, now: datetime) -> Fleet:
    """Three nodes of helios that are alike but for one setting of gpu-003, and for their names."""
    for name in ("gpu-001", "gpu-002", "gpu-003"):
        own = {"sysctl:kernel.hostname": name} | ({RMEM: "4096"} if name == "gpu-003" else {})
        tell(fleet.node(name), USUAL | own, at=now - HOUR)
    return fleet


def test_the_odd_one_out_is_named_with_both_values(told: Fleet, sight: Sight) -> None:
    page = sight.text("/drift/")

    assert "net.core.rmem_max" in page
    assert "212992" in page
    assert "<mark>4096</mark>" in page
    assert "1 of 3" in page
    assert "gpu-003" in page


def test_names_of_machines_are_noise_and_stand_among_its_rules_alone(told: Fleet, sight: Sight) -> None:
    page = sight.text("/drift/")

    assert page.count("kernel.hostname") == 1
    assert page.index("kernel.hostname") > page.index('id="noise"')


def test_a_node_that_told_nothing_is_counted_as_missing(told: Fleet, sight: Sight) -> None:
    assert "3 of 4" in sight.text("/drift/?a=helios")


def test_the_filter_looks_into_names_values_and_nodes(told: Fleet, sight: Sight) -> None:
    for wanted, found in (("rmem", True), ("gpu-003", True), ("4096", True), ("swappiness", False)):
        assert ("<mark>4096</mark>" in sight.text("/drift/", q=wanted)) is found, wanted


def test_the_file_holds_the_same_rows(told: Fleet, sight: Sight) -> None:
    answer = sight.client.get("/drift/settings.csv", {"a": "helios"})
    rows = list(csv.reader(answer.getvalue().decode().splitlines()))

    assert rows[0] == ["setting", "usual", "others", "nodes_that_differ", "of_nodes", "nodes", "item"]
    assert rows[1:] == [[RMEM, "212992", "4096", "1", "3", "gpu-003", ""]]


def test_a_setting_that_an_item_watches_leads_to_it(told: Fleet, sight: Sight, now: datetime) -> None:
    tell(told.node("gpu-002"), USUAL | {BACKLOG: "1000"}, at=now)

    assert '<a class="id" href="/clusters/helios/items/sysctl-netdev-backlog/">' in sight.text("/drift/")


def test_a_node_is_shown_against_its_cohort_and_against_itself(told: Fleet, sight: Sight, now: datetime) -> None:
    tell(told.node("gpu-003"), USUAL | {RMEM: "4096", "sysctl:a.s1": "7"}, at=now - 3 * DAY)
    tell(told.node("gpu-003"), USUAL | {RMEM: "4096", "sysctl:a.s1": "1"}, at=now - HOUR / 2)

    page = sight.text("/drift/", a="helios", node="gpu-003")

    cohort, itself = page.split(">Against itself</h2>")
    assert "net.core.rmem_max" in cohort
    assert "a.s1" not in cohort
    assert "a.s1" in itself
    assert "since a day ago" in itself


def test_one_cluster_against_another_shows_what_tells_them_apart(told: Fleet, hana: User, now: datetime) -> None:
    boreas = make_fleet("boreas", at=now - 2 * HOUR)
    healthy_nodes(boreas, ["node-1", "node-2"], at=now - HOUR, switch="leaf")
    for name in ("node-1", "node-2"):
        tell(boreas.node(name), USUAL | {"sysctl:a.s4": "0", "sysctl:kernel.hostname": name}, at=now)
    person("wren", boreas.cluster, Role.LEAD)
    hana.memberships.create(cluster=boreas.cluster, role=Role.HARDWARE)

    page = seen_by(hana).text("/drift/", a="helios", b="boreas")

    assert "helios against boreas" in page
    assert page.index("a.s4") < page.index("net.core.rmem_max")
    assert "2 of 2" in page


def test_one_click_of_a_lead_makes_the_setting_an_item(told: Fleet) -> None:
    quill = person("quill", told.cluster, Role.LEAD)

    answer = seen_by(quill).client.post("/clusters/helios/settings/", {"name": RMEM, "equals": "212992"})

    assert answer.headers["Location"] == f"/clusters/helios/items/{item_key(RMEM)}/"
    assert [(one.row.name, one.row.equals, one.row.by) for one in open_settings(told.cluster)] == [
        (RMEM, "212992", quill)
    ]
    assert "Setting net.core.rmem_max" in seen_by(quill).text(answer.headers["Location"])


def test_who_may_make_a_setting_an_item_leads_the_cluster(told: Fleet) -> None:
    form = {"name": RMEM, "equals": "212992"}
    path = "/clusters/helios/settings/"

    assert Client().post(path, form).headers["Location"].startswith("/accounts/login/?next=")
    assert seen_by(person("omar")).client.post(path, form).status_code == 404
    for role in set(Role) - {Role.LEAD, Role.ADMIN}:
        assert seen_by(person(role.value, told.cluster, role)).client.post(path, form).status_code == 403, role
    lead = person("quill", told.cluster, Role.LEAD)
    assert seen_by(lead).client.get(path).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(lead)
    assert strict.post(path, form).status_code == 403
    assert open_settings(told.cluster) == ()


def test_who_does_not_lead_is_shown_no_button(told: Fleet, sight: Sight) -> None:
    assert "Make an item" not in sight.text("/drift/")
    assert "Make an item" in seen_by(person("quill", told.cluster, Role.LEAD)).text("/drift/")


def test_a_setting_that_no_agent_could_read_is_refused_in_one_sentence(told: Fleet) -> None:
    quill = person("quill", told.cluster, Role.LEAD)

    answer = seen_by(quill).client.post("/clusters/helios/settings/", {"name": "file:/etc/shadow", "equals": "x"})

    assert answer.status_code == 422
    assert "is no setting" in answer.content.decode()


def test_the_page_speaks_chinese_the_reasons_of_its_rules_included(told: Fleet, sight: Sight) -> None:
    sight.client.post("/accounts/language/", {"language": "zh-hans", "next": "/"})

    page = sight.text("/drift/")

    for said in ("按可疑程度排序", "多数节点", "节点自己的名字", "不在任何检查清单上"):
        assert said in page


def test_a_page_without_any_fingerprint_says_when_there_will_be_some(fleet: Fleet, sight: Sight) -> None:
    assert "within an hour of their first tick" in sight.text("/drift/")


def test_a_stranger_has_nothing_to_look_at(told: Fleet) -> None:
    omar = seen_by(person("omar"))

    assert "No cluster to look at" in omar.text("/drift/")
    for query in ({"a": "helios"}, {"a": "run/atlas"}, {"a": "helios", "node": "gpu-001"}):
        omar.text("/drift/", status=404, **query)
        omar.text("/drift/settings.csv", status=404, **query)
