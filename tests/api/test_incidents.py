"""Incidents over REST: opened once, listed, searched, read; and heard of from Alertmanager."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from checks.models import Incident, IncidentEvent, LedgerEntry, Node, TokenKind
from tests.incidents import opened
from tests.lab import HOUR, MINUTE, NOON, bearer, healthy_node, lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]

TOLD: dict[str, Any] = {
    "cluster": "lab", "source": "pager", "external_id": "P-1", "title": "Rank 3 hangs",
    "started_at": "2026-11-30T09:00:00Z",
    "detected_at": "2026-11-30T09:20:00Z", "weight": "critical", "component": "nvlink", "error_class": "xid-74",
    "gpus_affected": 16, "nodes": [{"hostname": "gpu001", "part": "gpu3"}],
    "items": [{"item": "gpu-nvlink-links", "relation": "should_have_caught", "why": "half rate counts as up"}],
}  # fmt: skip


class Caller:
    """A program with an operator's token of one cluster."""

    def __init__(self, client: Client) -> None:
        self.client, self.cluster = client, lab()
        for name in ("gpu001", "gpu002"):
            healthy_node(self.cluster, name)
        Node.objects.filter(hostname="gpu001").update(serials={"system": "SRV-1", "gpu3": "GPU-13"})
        self.headers = bearer(TokenKind.OPERATOR, self.cluster)

    def tell(self, **changes: Any) -> Any:
        return self.client.post(
            "/api/v1/incidents", TOLD | changes, content_type="application/json", headers=self.headers
        )

    def read(self, path: str = "", **query: str) -> Any:
        return self.client.get(f"/api/v1/incidents{path}", query, headers=self.headers)

    def hear(
        self, status: str, *alerts: dict[str, Any], key: str = "{}:{alertname=Xid}", alertname: str = "Xid"
    ) -> Any:
        body = {
            "version": "4", "groupKey": key, "status": status, "receiver": "countersign", "truncatedAlerts": 0,
            "groupLabels": {"alertname": alertname}, "commonLabels": {"alertname": alertname, "severity": "critical"},
            "commonAnnotations": {"summary": "Xid errors on <b>GPUs</b>"}, "externalURL": "http://alerts",
            "alerts": alerts,
        }  # fmt: skip
        return self.client.post(
            "/api/v1/clusters/lab/alertmanager", body, content_type="application/json", headers=self.headers
        )


def alert(host: str = "gpu001:9400", *, at: datetime = NOON, ended: datetime | None = None, gpu: str = "3") -> Any:
    return {
        "status": "resolved" if ended else "firing", "labels": {"alertname": "Xid", "instance": host, "gpu": gpu},
        "annotations": {"summary": f"Xid on {host}"}, "startsAt": at.isoformat(), "generatorURL": "http://prometheus",
        "endsAt": ended.isoformat() if ended else "0001-01-01T00:00:00Z", "fingerprint": f"{host}{gpu}",
    }  # fmt: skip


@pytest.fixture
def caller(client: Client) -> Caller:
    return Caller(client)


def test_an_incident_is_opened_once_however_often_it_is_told(caller: Caller) -> None:
    first, again = caller.tell(), caller.tell(title="Told once more")

    assert (first.status_code, first.json()["outcome"]) == (201, "opened")
    assert (again.status_code, again.json()["outcome"]) == (200, "known")
    assert first.json()["number"] == again.json()["number"]
    # 16 GPUs for the three hours until noon.
    assert first.json()["lost_gpu_seconds"] == 16 * 3 * 3600
    assert LedgerEntry.objects.get(what="incident_opened").data["token"]


def test_the_same_class_in_the_same_part_joins(caller: Caller) -> None:
    first, second = caller.tell(), caller.tell(external_id="P-2")

    assert (second.status_code, second.json()["outcome"]) == (200, "joined")
    assert second.json()["number"] == first.json()["number"]
    assert caller.tell(external_id="P-2").json()["outcome"] == "known"


def test_an_incident_is_read_with_its_timeline_parts_and_items(caller: Caller) -> None:
    number = caller.tell().json()["number"]
    found = caller.read(f"/{number}").json()

    assert found["nodes"] == [
        {"hostname": "gpu001", "part": "gpu3", "machine_serial": "SRV-1", "part_serial": "GPU-13"}
    ]
    assert [event["kind"] for event in found["events"]] == ["opened", "linked"]
    assert found["items"][0]["relation"] == "should_have_caught"


@pytest.mark.parametrize(
    ("changes", "code", "status"),
    [
        ({"cluster": "other"}, "not_found", 404), ({"run": "nowhere"}, "not_found", 404),
        ({"component": "gremlin"}, "invalid_body", 422), ({"surprise": 1}, "invalid_body", 422),
        ({"started_at": "2026-11-30T09:00:00"}, "invalid_body", 422), ({"source": "person"}, "incident_refused", 422),
        ({"detected_at": "2026-11-30T08:00:00Z"}, "incident_times", 422),
        ({"summary": "<script>alert(1)</script>"}, "script_refused", 422),
        ({"items": [{"item": "no-such", "relation": "caught"}]}, "incident_refused", 422),
        ({"gpus_affected": -1}, "invalid_body", 422),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_with_a_sentence_and_leaves_nothing(
    caller: Caller, changes: dict[str, Any], code: str, status: int
) -> None:
    refused = caller.tell(**changes)

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert refused.json()["detail"].endswith(".")
    assert not Incident.objects.exists()


def test_a_list_goes_on_where_it_ended_and_knows_its_filters(caller: Caller) -> None:
    for number in range(53):
        opened(caller.cluster, error_class="", title=f"Number {number}")
    first = caller.read().json()
    rest = caller.client.get(first["next"], headers=caller.headers).json()

    assert (len(first["incidents"]), len(rest["incidents"]), rest["next"]) == (50, 3, None)
    assert [one["title"] for one in caller.read(q="number 52").json()["incidents"]] == ["Number 52"]
    assert caller.read(component="nvlink").json()["incidents"] == []
    assert len(caller.read(node="gpu001", standing="open").json()["incidents"]) == 50
    assert caller.read(colour="red").json()["code"] == "bad_question"
    assert caller.read(standing="asleep").json()["code"] == "bad_question"


@pytest.mark.parametrize("asked", ["吐量下", "降", "GPU-13", "xid 79", "gpu-nvl", "INC"])
def test_incidents_are_found_by_parts_of_identifiers_and_of_chinese(caller: Caller, asked: str) -> None:
    opened(caller.cluster, title="吞吐量下降 22 %", summary="gpu-nvlink-links")
    opened(caller.cluster, title="Nothing of it", error_class="", component="data", touched=())

    found = [one["title"] for one in caller.read(q=asked).json()["incidents"]]
    assert found == (["Nothing of it"] if asked == "INC" else []) + ["吞吐量下降 22 %"]


@pytest.mark.parametrize("asked", ["' | !q", "zzz", "&", "吐下"])
def test_what_is_not_there_is_not_found_whatever_signs_it_holds(caller: Caller, asked: str) -> None:
    opened(caller.cluster, title="吞吐量下降 22 %")

    assert caller.read(q=asked).json()["incidents"] == []


def test_a_group_of_alerts_that_fires_is_one_incident_and_resolved_it_is_stable(caller: Caller) -> None:
    fired = caller.hear("firing", alert(at=NOON - HOUR), alert("gpu002:9400", at=NOON - 50 * MINUTE))
    incident = Incident.objects.get()

    assert fired.json() == {"outcome": "opened", "incident": incident.pk}
    assert (incident.title, incident.weight) == ("Xid errors on ‹b›GPUs‹/b›", "critical")
    assert (incident.started_at, incident.source) == (NOON - HOUR, "alertmanager")
    assert list(incident.touched.values_list("hostname", "part", "part_serial")) == [
        ("gpu001", "gpu3", "GPU-13"), ("gpu002", "gpu3", ""),
    ]  # fmt: skip

    ended = caller.hear("resolved", alert(at=NOON - HOUR, ended=NOON - 10 * MINUTE))
    incident.refresh_from_db()
    assert ended.json()["outcome"] == "stable"
    assert (incident.standing, incident.stable_at) == ("stable", NOON - 10 * MINUTE)


def test_alertmanager_may_repeat_itself_in_any_order(caller: Caller) -> None:
    caller.hear("firing", alert(at=NOON - HOUR))
    caller.hear("firing", alert(at=NOON - HOUR))
    caller.hear("resolved", alert(at=NOON - HOUR, ended=NOON - MINUTE))
    late = caller.hear("firing", alert(at=NOON - HOUR))

    assert late.json()["outcome"] == "known"
    assert Incident.objects.get().standing == "stable"
    assert list(IncidentEvent.objects.order_by("id").values_list("kind", flat=True)) == ["opened", "stable"]


def test_a_group_that_fires_anew_opens_its_incident_again(caller: Caller) -> None:
    caller.hear("firing", alert(at=NOON - HOUR))
    caller.hear("resolved", alert(at=NOON - HOUR, ended=NOON - MINUTE))
    with time_machine.travel(NOON + timedelta(days=3), tick=False):
        again = caller.hear("firing", alert("gpu002:9400", at=NOON + timedelta(days=3)))

    assert again.json()["outcome"] == "reopened"
    assert Incident.objects.get().occurrences == 2


def test_another_group_is_another_incident_and_what_never_fired_is_ignored(caller: Caller) -> None:
    caller.hear("firing", alert(at=NOON - HOUR))
    other = caller.hear("firing", alert("gpu002:9400", at=NOON - HOUR), key="other")
    ignored = caller.hear("resolved", alert(at=NOON, ended=NOON), key="third")

    assert (other.json()["outcome"], Incident.objects.count()) == ("opened", 2)
    assert ignored.json() == {"outcome": "ignored", "incident": None}


def test_a_group_of_more_machines_than_an_incident_lists_is_told_all_the_same(caller: Caller) -> None:
    fired = caller.hear("firing", *(alert(f"node{number}:9400") for number in range(1_003)))
    incident = Incident.objects.get()

    assert (fired.status_code, fired.json()["outcome"]) == (200, "opened")
    assert set(incident.touched.values_list("part", flat=True)) == {""}
    assert incident.touched.count() == 1_000
    assert "1,003 machines" in incident.events.get(kind="opened").text


@pytest.mark.parametrize(
    "changes",
    [
        {"instance": "gpu\u202e001"}, {"instance": "\u200b"}, {"alertname": "X\u200bid\x07"},
        {"gpu": "\u0663"}, {"run": "\x00"},
    ],
    ids=["a turned host", "a host of nothing", "a class that cannot be seen", "a part in other digits", "no run"],
)  # fmt: skip
def test_no_label_keeps_an_alert_from_being_told(caller: Caller, changes: dict[str, str]) -> None:
    told = alert()
    told["labels"] |= changes

    assert caller.hear("firing", told, alertname=changes.get("alertname", "Xid")).status_code == 200
    assert Incident.objects.exists()


def test_a_description_that_a_browser_might_run_is_kept_as_code(caller: Caller) -> None:
    told = alert()
    told["annotations"]["description"] = "no `reads` of data:/mnt/corpus"

    assert caller.hear("firing", told).status_code == 200
    assert Incident.objects.get().summary == "```\nno 'reads' of data:/mnt/corpus\n```"


@pytest.mark.parametrize("start", ["0001-01-01T00:00:00+08:00", "9999-12-31T23:59:59-08:00"])
def test_an_alert_of_no_time_that_anybody_means_started_when_it_was_heard(caller: Caller, start: str) -> None:
    told = alert() | {"startsAt": start}

    assert caller.hear("firing", told, told | {"fingerprint": "another"}).status_code == 200
    assert Incident.objects.get().started_at == NOON


@pytest.mark.parametrize("column", ["startsAt", "endsAt"])
def test_an_alert_of_a_time_without_a_zone_is_refused_with_a_sentence(caller: Caller, column: str) -> None:
    refused = caller.hear("firing", alert() | {column: "2026-11-30T11:00:00"})

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_body")
    assert not Incident.objects.exists()


def test_an_alert_that_fired_before_somebody_said_stable_and_is_heard_after_it_opens_the_incident_again(
    caller: Caller,
) -> None:
    caller.hear("firing", alert(at=NOON - HOUR))
    Incident.objects.update(standing="closed", stable_at=NOON, closed_at=NOON)
    late = caller.hear("firing", alert("gpu002:9400", at=NOON - MINUTE))
    incident = Incident.objects.get()

    assert late.json()["outcome"] == "reopened"
    assert (incident.standing, incident.stable_at, incident.closed_at) == ("open", None, None)
    assert (incident.occurrences, incident.detected_at) == (1, NOON - HOUR)
    assert LedgerEntry.objects.get(what="incident_moved").data["after"] == "open"


def test_what_another_program_tells_late_leaves_the_incident_where_it_stands(caller: Caller) -> None:
    caller.tell()
    Incident.objects.update(standing="stable", stable_at=NOON)

    assert caller.tell(external_id="P-2").json()["outcome"] == "joined"
    assert Incident.objects.get().standing == "stable"


def merged(caller: Caller) -> int:
    """The number of the incident of group b, which that of group a was merged into; both fire."""
    caller.hear("firing", alert(at=NOON - HOUR), key="a")
    into: int = caller.hear("firing", alert("gpu002:9400", at=NOON - HOUR), key="b").json()["incident"]
    Incident.objects.exclude(pk=into).update(standing="merged", merged_into=into)
    return into


def test_a_group_that_resolves_leaves_the_incident_open_that_its_own_was_merged_into(caller: Caller) -> None:
    into = merged(caller)
    heard = [caller.hear("resolved", alert(at=NOON - HOUR, ended=NOON - MINUTE), key="a").json() for _ in range(2)]

    assert heard == [{"outcome": "noted", "incident": into}, {"outcome": "known", "incident": into}]
    incident = Incident.objects.get(pk=into)
    assert (incident.standing, incident.events.get(kind="noted").at) == ("open", NOON - MINUTE)


@pytest.mark.parametrize(("order", "standing"), [("ab", "stable"), ("b", "open")])
def test_an_incident_of_several_groups_is_stable_by_its_own_only_after_the_others(
    caller: Caller, order: str, standing: str
) -> None:
    into = merged(caller)
    hosts = {"a": "gpu001:9400", "b": "gpu002:9400"}
    for key in order:
        caller.hear("resolved", alert(hosts[key], at=NOON - HOUR, ended=NOON - MINUTE), key=key)

    assert Incident.objects.get(pk=into).standing == standing
