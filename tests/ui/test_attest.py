"""Stating what no probe measures: judged at once, with evidence that is kept under its digest."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from checks.models import Attestation, AttestedFile, Role
from tests.fleet import Fleet, person
from tests.ui.conftest import seen_by
from tests.ui.signing import Lab, make_lab
from tests.ui.test_step_up import prove

STATE = "/clusters/helios/items/ops-runbook/state/"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 64


@pytest.fixture
def lab(fleet: Fleet, now: datetime, settings: object, tmp_path: Path) -> Lab:
    settings.VAR_DIR = tmp_path  # type: ignore[attr-defined]
    return make_lab(fleet, now)


def _form(now: datetime, **changed: object) -> dict[str, object]:
    until = (now + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")
    return {
        "run": "cygnus-13b", "fact_confirmed": "True", "statement": "Read it with the night shift.",
        "valid_until": until, **changed,
    }  # fmt: skip


def test_a_statement_is_judged_and_its_evidence_is_kept_and_handed_back(lab: Lab, now: datetime) -> None:
    wren = lab.sight("wren")
    assert 'value="cygnus-13b" selected' in wren.text(STATE, run="cygnus-13b")
    picture = SimpleUploadedFile("board.png", PNG, content_type="image/png")
    assert wren.client.post(STATE, _form(now, evidence=picture)).status_code == 302
    stated = Attestation.objects.latest("id")
    assert (stated.item, str(stated.by), stated.facts) == ("ops-runbook", "Wren", {"confirmed": True})
    kept = AttestedFile.objects.get()
    response = wren.client.get(f"/clusters/helios/evidence/{kept.digest}")
    assert b"".join(response.streaming_content) == PNG
    assert response.headers["Content-Disposition"].startswith("attachment;")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_file_that_only_calls_itself_a_picture_is_refused_and_nothing_is_stated(lab: Lab, now: datetime) -> None:
    before = Attestation.objects.count()
    page = SimpleUploadedFile("board.png", b"<script>alert(1)</script>", content_type="image/png")
    response = lab.sight("wren").client.post(STATE, _form(now, evidence=page))
    assert response.status_code == 422
    assert "board.png is no PNG, JPEG, WebP or PDF" in response.content.decode()
    assert Attestation.objects.count() == before


def test_whoever_wants_to_state_something_proves_themselves_before_the_form(lab: Lab) -> None:
    client = seen_by(lab.people["wren"]).client
    assert client.get(STATE).headers["Location"].startswith("/accounts/reauthenticate/")
    prove(client, STATE)
    assert client.get(STATE).status_code == 200


def test_an_item_that_a_probe_measures_cannot_be_stated(lab: Lab) -> None:
    lab.sight("wren").text("/clusters/helios/items/gpu-ecc/state/", status=404)


def test_a_viewer_states_nothing_and_a_stranger_sees_no_evidence(lab: Lab, now: datetime) -> None:
    vera = seen_by(person("vera", lab.fleet.cluster, Role.VIEWER))
    prove(vera.client, "/")
    vera.text(STATE, status=403)
    assert vera.client.post(STATE, _form(now)).status_code == 403
    picture = SimpleUploadedFile("board.png", PNG, content_type="image/png")
    lab.sight("wren").client.post(STATE, _form(now, evidence=picture))
    path = f"/clusters/helios/evidence/{AttestedFile.objects.get().digest}"
    assert seen_by(person("omar")).client.get(path).status_code == 404
