"""Forms as no page of ours sends them: each gets an answer, and nothing is half done."""

import json
from datetime import datetime, timedelta
from io import BytesIO

import pytest
from django.core.files.uploadedfile import UploadedFile
from django.urls import reverse

from checks.models import AttestedFile, LedgerEntry, Run, Signature
from tests.fleet import Fleet
from tests.ui.signing import RUN, SIGN_DATA, Lab, make_lab, sent
from tests.ui.test_runs import FORM, PLAN, PREVIEW

PIXEL = b"\x89PNG\r\n\x1a\n"
STATE = "/clusters/helios/items/data-spot-check/state/"


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    return make_lab(fleet, now)


@pytest.mark.parametrize(
    "seconds",
    [
        '{"gpu-ecc": Infinity}', '{"gpu-ecc": 1e999}', '{"gpu-ecc": NaN}', '{"gpu-ecc": -5}', '{"gpu-ecc": "5"}',
        '{"gpu\\u0000ecc": 5}', '{"gpu\\ud800ecc": 5}', "[" * 19_000, '{"a":' * 3_900, "[5]", "5", "{", "9" * 5_000,
    ],
)  # fmt: skip
def test_seconds_that_a_browser_made_up_are_left_out_of_a_signature(lab: Lab, seconds: str) -> None:
    assert sent(lab.sight("sable").client, SIGN_DATA, seconds=seconds)[0] == 302
    assert Signature.objects.get().annex["seconds"] == {}


def test_seconds_that_were_spent_are_kept_beside_them(lab: Lab) -> None:
    told = json.dumps({"data-spot-check": 31.9, "x\0": 5, "left-open": 10**12})
    assert sent(lab.sight("sable").client, SIGN_DATA, seconds=told)[0] == 302
    assert Signature.objects.get().annex["seconds"] == {"data-spot-check": 31, "left-open": 86_400}


@pytest.mark.parametrize(
    "shown_at",
    ["2026-01-01T00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-13-01T00:00Z", "noon"],
)
def test_a_page_that_says_nonsense_about_its_age_is_told_what_moved(lab: Lab, shown_at: str) -> None:
    assert sent(lab.sight("sable").client, SIGN_DATA, digest="0" * 64, shown_at=shown_at)[0] == 409


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Shanghai"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00", "9999-12-31T23:59", "9000-01-01T00:00"])
def test_a_run_in_another_age_leaves_every_list_of_runs_as_it_was(lab: Lab, zone: str, moment: str) -> None:
    lab.fleet.cluster.time_zone = zone
    lab.fleet.cluster.save(update_fields=["time_zone"])
    wren = lab.sight("wren")
    for field in ("planned_start", "planned_end"):
        assert wren.client.post(PLAN, FORM | {"slug": "aeon", field: moment}).status_code == 422
    assert not Run.objects.filter(slug="aeon").exists()
    assert wren.client.get("/runs/").status_code == 200


@pytest.mark.parametrize("number", ["²", "①", "-1", "1e3", "9" * 400, "\0"])
def test_a_number_that_is_none_is_no_error_page(lab: Lab, number: str) -> None:
    wren = lab.sight("wren")
    assert wren.client.post(PLAN, FORM | {"slug": "other", "world_size": number}).status_code == 422
    assert wren.client.post(PREVIEW, FORM | {"world_size": number}).status_code == 200


@pytest.mark.parametrize("reason", ["no\0", "x" * 100_000, "\u202eno"])
def test_a_reason_that_the_ledger_cannot_hold_changes_nothing(lab: Lab, reason: str) -> None:
    before = LedgerEntry.objects.count()
    form = FORM | {"nodes": "gpu-001", "nodes_needed": "1", "world_size": "8", "data_parallel": "4", "reason": reason}
    assert lab.sight("wren").client.post(f"{RUN}change/", form).status_code in (200, 422)
    assert LedgerEntry.objects.count() == before


def test_a_change_of_nodes_and_spec_is_made_as_a_whole_or_not_at_all(lab: Lab) -> None:
    """The pool would be set first, and the spec refused: a name that turns the line around."""
    before = LedgerEntry.objects.count()
    form = FORM | {"nodes": "gpu-[001-003]", "dataset": "corpus\u202ev4", "reason": "a spare"}
    page = lab.sight("wren").client.post(f"{RUN}change/", form)

    assert "dataset holds signs" in page.content.decode()
    assert sorted(lab.run.pool.values_list("hostname", flat=True)) == ["gpu-001", "gpu-002"]
    assert LedgerEntry.objects.count() == before


def test_of_a_file_no_more_is_read_than_could_be_kept(lab: Lab, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred files of a gigabyte each would be read into memory before their size was looked at."""
    read: list[tuple[int, ...]] = []

    def counting(file: UploadedFile, *size: int) -> bytes:
        read.append(size)
        assert file.file is not None
        return bytes(file.file.read(*size))

    monkeypatch.setattr(UploadedFile, "read", counting)
    files = [BytesIO(PIXEL + bytes([number])) for number in range(12)]
    until = (now + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M")
    response = lab.sight("ember").client.post(
        STATE,
        {
            "run": lab.run.slug, "fact_passed_share": "99.8", "fact_documents": "400", "statement": "Looked at it.",
            "valid_until": until, "evidence": files,
        },
    )  # fmt: skip

    assert (response.status_code, AttestedFile.objects.count()) == (422, 0)
    assert read == [(10 * 1024 * 1024 + 1,)] * 11


@pytest.mark.parametrize("number", [10**25, 2**63, 2**31])
def test_a_number_in_an_address_that_nothing_can_have_is_not_found(lab: Lab, number: int) -> None:
    quill = lab.sight("quill")
    addresses = [
        reverse("ui:revoke", args=[lab.run.slug, number]), reverse("ui:end_override", args=[lab.run.slug, number]),
        reverse("ui:approve_waiver", args=[lab.run.slug, number]),
        reverse("ui:end_waiver", args=[lab.run.slug, number]),
        reverse("ui:approve_policy", args=["helios", number]), reverse("ui:end_delegation", args=["helios", number]),
    ]  # fmt: skip
    for address in addresses:
        assert (quill.client.get(address).status_code, quill.client.post(address).status_code) == (404, 404)
