"""Incidents in the browser: opened, found, told more of, ended, and learned from; nobody's words run in a page."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import resolve
from pytest_django import Settings

from checks.domain.incidents.kinds import ActionKind, ActionState, Relation, Standing
from checks.models import CorrectiveAction, Incident, IncidentAttachment, Role
from checks.services.attested_files import SentFile
from checks.services.incident_actions import Plan, move_action, propose_action
from checks.services.incident_files import attach_files
from checks.services.incident_links import Linking, link_item
from checks.services.incident_records import Author, Touched
from checks.services.incidents import move_incident
from portal.accounts.models import User
from portal.ui.urls import urlpatterns
from tests.fleet import Fleet, person
from tests.incidents import opened
from tests.ui.conftest import Sight, seen_by

HOUR = timedelta(hours=1)
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 64
NEW = "/clusters/helios/incidents/new/"


@pytest.fixture
def incident(fleet: Fleet, now: datetime, hana: User) -> Incident:
    """Rank 3 hung on gpu-001 three hours ago."""
    return opened(
        fleet.cluster, by=hana, now=now, started_at=now - 3 * HOUR, detected_at=now - 2 * HOUR,
        touched=(Touched("gpu-001", "gpu3"),), gpus_affected=16,
    ).incident  # fmt: skip


@pytest.fixture
def wren(fleet: Fleet) -> User:
    return person("wren", fleet.cluster, Role.PLATFORM, display_name="Wren")


def at(incident: Incident, rest: str = "") -> str:
    return f"/incidents/{incident.pk}/{rest}"


def form(now: datetime, **changes: Any) -> dict[str, Any]:
    """What a person writes into the form of a new incident."""
    moment = (now - HOUR).strftime("%Y-%m-%dT%H:%M")
    return {
        "title": "22 % slower for nine hours", "weight": "major", "component": "nvlink", "named_class": "half-rate",
        "started_at": moment, "detected_at": moment, "nodes": "gpu-[001-002]\ngpu-003 gpu3,gpu4",
        "summary": "One **NVSwitch** came back at half rate.",
    } | changes  # fmt: skip


def test_a_person_opens_an_incident_and_reads_what_is_known_of_it(sight: Sight, fleet: Fleet, now: datetime) -> None:
    answer = sight.client.post(NEW, form(now))
    incident = Incident.objects.get()
    page = sight.text(answer.headers["Location"])

    assert answer.headers["Location"] == at(incident)
    assert sorted(incident.touched.values_list("hostname", "part")) == [
        ("gpu-001", ""), ("gpu-002", ""), ("gpu-003", "gpu3"), ("gpu-003", "gpu4"),
    ]  # fmt: skip
    assert "<strong>NVSwitch</strong>" in page
    assert "A blind spot." in page
    assert "nobody said yet how many GPUs stood still" in page


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"title": ""}, "This field is required"), ({"nodes": "gpu-[00"}, "gpu-[00"),
        ({"nodes": "gpu-001 left"}, "left is no part"), ({"summary": "<script>alert(1)</script>"}, "would run"),
        ({"started_at": "2199-01-01T00:00", "detected_at": "2199-01-01T00:00"}, "still to come"),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_kept_says_why(
    sight: Sight, fleet: Fleet, now: datetime, changes: dict[str, str], sentence: str
) -> None:
    answer = sight.client.post(NEW, form(now, **changes))

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Incident.objects.exists()


def test_no_word_of_anybody_runs_in_a_page(sight: Sight, incident: Incident, hana: User) -> None:
    Incident.objects.update(
        title="<img src=x onerror=alert(1)>", summary="<svg onload=alert(1)> [x](javascript:alert(1))"
    )
    for path in ("/incidents/", at(incident), "/incidents/blind-spots/"):
        page = sight.text(path)
        assert "<img src=x" not in page, path
        assert "<svg onload" not in page, path
        assert 'href="javascript' not in page, path


def test_the_list_finds_by_words_and_tells_when_nothing_is_there(sight: Sight, incident: Incident) -> None:
    assert str(incident) in sight.text("/incidents/", q="rank hangs")
    assert "Nothing of that kind" in sight.text("/incidents/", q="unheard")
    assert str(incident) not in sight.text("/incidents/", standing="closed")
    part = sight.client.get("/incidents/", {"q": "gpu-001"}, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert str(incident) in part


@pytest.mark.parametrize("before", ["x", "0", "-1", "9" * 30, "²"])
def test_a_page_that_no_address_leads_to_is_no_error(sight: Sight, incident: Incident, before: str) -> None:
    sight.text("/incidents/", before=before)


def test_the_export_holds_what_the_list_finds_and_no_formula(sight: Sight, incident: Incident) -> None:
    Incident.objects.update(title="=HYPERLINK(1)")
    lines = b"".join(sight.client.get("/incidents/incidents.csv", {"q": "gpu-001"})).decode().splitlines()

    assert lines[0].startswith("incident,cluster,run,step,title,standing")
    assert lines[1].split(",")[4] == "'=HYPERLINK(1)"
    assert len(lines) == 2


def test_head_figures_are_the_middle_and_the_slow_end(sight: Sight, fleet: Fleet, incident: Incident) -> None:
    page = " ".join(re.sub(r"<[^>]*>", " ", sight.text("/incidents/")).split())

    assert "Found after 1 h 00 min 1 h 00 min at nine of ten" in page
    # 16 GPUs for three hours.
    assert "Lost 48 GPU-hours" in page


def test_the_way_from_open_to_closed(sight: Sight, incident: Incident, now: datetime) -> None:
    ended = (now - HOUR).strftime("%Y-%m-%dT%H:%M")
    assert sight.client.post(at(incident, "to/stable/"), {"at": ended, "text": "fabric manager"}).status_code == 302
    assert sight.client.post(at(incident, "to/closed/"), {"text": ""}).status_code == 302
    incident.refresh_from_db()

    assert incident.standing == "closed"
    assert sight.client.post(at(incident, "to/stable/"), {"text": ""}).status_code == 409
    assert sight.client.get(at(incident, "to/merged/")).status_code == 404


def test_an_item_that_should_have_caught_it_ends_the_blind_spot(sight: Sight, incident: Incident) -> None:
    assert str(incident) in sight.text("/incidents/blind-spots/")
    sight.client.post(
        at(incident, "link/"), {"item": "gpu-nvlink-links", "relation": "should_have_caught", "why": "half rate is up"}
    )

    assert str(incident) not in sight.text("/incidents/blind-spots/")
    assert "r-should_have_caught" in sight.text(at(incident))


def test_an_action_is_verified_by_somebody_else_than_who_did_it(sight: Sight, incident: Incident, wren: User) -> None:
    sight.client.post(at(incident, "actions/new/"), {"title": "Name the link speed", "kind": "threshold"})
    action = CorrectiveAction.objects.get()
    for to in ("accepted", "done"):
        assert sight.client.post(at(incident, f"actions/{action.pk}/{to}/"), {"text": ""}).status_code == 302
    own = sight.client.post(at(incident, f"actions/{action.pk}/verified/"), {"text": "64 of 64"})
    other = seen_by(wren).client.post(at(incident, f"actions/{action.pk}/verified/"), {"text": "64 of 64 pass"})
    action.refresh_from_db()

    assert (own.status_code, other.status_code) == (403, 302)
    assert (action.state, action.proof, action.verified_by) == ("verified", "64 of 64 pass", wren)


def test_an_incident_is_merged_by_its_name(sight: Sight, incident: Incident, fleet: Fleet, now: datetime) -> None:
    other = opened(fleet.cluster, now=now, error_class="", started_at=now, detected_at=now).incident
    assert sight.client.post(at(other, "merge/"), {"into": "the first", "reason": "same"}).status_code == 422
    assert sight.client.post(at(other, "merge/"), {"into": "INC-9999", "reason": "same"}).status_code == 404
    assert sight.client.post(at(other, "merge/"), {"into": str(incident), "reason": "same"}).status_code == 302

    assert "Merged." in sight.text(at(other))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("scope.png", b"<html><script>alert(1)</script>", "is no PNG, JPEG, WebP or PDF"),
        ("scope.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no PNG, JPEG, WebP or PDF"),
        ("huge.png", PNG + b"0" * (50 * 1024 * 1024), "is larger than 10 MB"),
        ('<img src=x onerror="1">.png', PNG, "plain name"),
    ],
)
def test_a_file_that_is_too_large_disguised_or_badly_named_is_refused_with_a_sentence(
    sight: Sight, incident: Incident, settings: Settings, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    settings.VAR_DIR = tmp_path
    answer = sight.client.post(at(incident, "attach/"), {"pictures": SimpleUploadedFile(name, content)})

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not IncidentAttachment.objects.exists()


def test_a_picture_is_handed_out_as_a_file_and_never_shown(
    sight: Sight, incident: Incident, settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    sight.client.post(at(incident, "attach/"), {"pictures": SimpleUploadedFile("scope.png", PNG)})
    file = IncidentAttachment.objects.get()
    answer = sight.client.get(at(incident, f"files/{file.digest}"))

    assert answer.headers["Content-Disposition"].startswith("attachment;")
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Content-Type"]) == ("nosniff", "image/png")
    assert b"".join(answer) == PNG  # type: ignore[arg-type]


# Who opens which address: whoever sees the cluster, or whoever works in it.
LOOK, ACT = set(Role), set(Role) - {Role.VIEWER}


@pytest.fixture
def asked(incident: Incident, hana: User, now: datetime, settings: Settings, tmp_path: Path) -> dict[str, set[Role]]:
    """Every address of incidents of a cluster, with something behind each."""
    settings.VAR_DIR = tmp_path
    author = Author(hana)
    link_item(incident=incident, linking=Linking("gpu-xid", Relation.RELATED), author=author, now=now)
    (file,) = attach_files(incident=incident, files=[SentFile("a.png", PNG)], author=author, now=now)
    action = propose_action(incident=incident, plan=Plan(ActionKind.HARDWARE, "Swap it"), author=author, now=now)
    move_action(action=action, to=ActionState.ACCEPTED, author=author, now=now)
    move_incident(incident=incident, to=Standing.STABLE, author=author, now=now)
    return {
        at(incident): LOOK, at(incident, f"files/{file.digest}"): LOOK, NEW: ACT,
        **{at(incident, rest): ACT for rest in (
            "change/", "note/", "to/closed/", "link/", "merge/", "attach/", "actions/new/",
            f"actions/{action.pk}/done/",
        )},
    }  # fmt: skip


# What every reader sees, of the clusters that they see.
FOR_ALL = {
    "/incidents/": "incidents", "/incidents/incidents.csv": "incidents_csv", "/incidents/lemons/": "lemons",
    "/incidents/blind-spots/": "blind_spots", "/incidents/known/": "known_incidents",
}  # fmt: skip


def test_no_address_of_incidents_is_left_out(asked: dict[str, set[Role]]) -> None:
    held = {resolve(path).url_name for path in (*asked, *FOR_ALL)}

    assert held == {route.name for route in urlpatterns if "incidents/" in str(route.pattern)}


def test_nobody_sees_any_of_it_without_signing_in(asked: dict[str, set[Role]]) -> None:
    for path in (*asked, *FOR_ALL):
        assert Client().get(path).headers["Location"].startswith("/accounts/login/?next="), path
        assert Client().post(path).status_code in (302, 405), path


def test_a_stranger_cannot_tell_it_from_nothing(asked: dict[str, set[Role]], incident: Incident) -> None:
    omar = seen_by(person("omar"))
    for path in asked:
        absent = path.replace("helios", "nowhere").replace(f"/{incident.pk}/", "/987654/")
        assert omar.client.get(path).status_code == omar.client.get(absent).status_code == 404, path
        assert omar.client.post(path).status_code in (404, 405), path
    for path in FOR_ALL:
        answer = omar.client.get(path)
        body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[arg-type]
        assert str(incident).encode() not in body, path


@pytest.mark.parametrize("role", list(Role))
def test_each_role_opens_what_it_may_and_nothing_else(fleet: Fleet, asked: dict[str, set[Role]], role: Role) -> None:
    client = seen_by(person(f"some-{role}", fleet.cluster, role)).client
    for path, roles in asked.items():
        answer = client.get(path)
        assert answer.status_code == (200 if role in roles else 403), (path, role)
        b"".join(answer)  # a file is closed once it was read
        if role not in roles:
            assert client.post(path).status_code == 403, (path, role)


def test_forms_without_their_secret_are_refused(asked: dict[str, set[Role]], hana: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(hana)
    for path, roles in asked.items():
        if roles is ACT:
            assert client.post(path).status_code == 403, path
