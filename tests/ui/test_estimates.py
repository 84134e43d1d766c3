"""Estimates that are kept with a run, and bills against them."""

from datetime import datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from checks.models import ActualCost, Estimate, LedgerEntry, Role
from checks.services.price_books import load_book
from tests.domain.cost.pricing import SHIPPED
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by
from tests.ui.signing import RUN, Lab, make_lab

pytestmark = pytest.mark.django_db
KEEP = f"{RUN}estimates/new/"


@pytest.fixture
def lab(fleet: Fleet, now: datetime) -> Lab:
    """The run of two nodes, and AWS's prices."""
    load_book(book=SHIPPED["aws"], confirmed=True, by=None, now=now)
    return make_lab(fleet, now)


@pytest.fixture
def wren(lab: Lab) -> Sight:
    """What the platform engineer sees, who works on the run."""
    return seen_by(lab.people["wren"])


def kept(sight: Sight, what_if: str = "days=10", name: str = "first plan") -> Estimate:
    answer = sight.client.post(KEEP, {"name": name, "what_if": what_if})
    assert (answer.status_code, answer["Location"]) == (302, f"{RUN}#cost"), answer.content.decode()
    return Estimate.objects.latest("id")


def bill(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("november.csv", text.encode(), content_type="text/csv")


def sent(sight: Sight, row: Estimate, text: str, status: int = 302) -> str:
    answer = sight.client.post(f"/costs/estimates/{row.pk}/bill/", {"bill": bill(text)})
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def test_what_a_run_costs_begins_with_what_is_known_of_it_and_can_be_kept(wren: Sight) -> None:
    page = wren.text("/costs/", run="cygnus-13b", days="10")

    assert 'name="gpus" value="16"' in page
    assert f'href="{KEEP}?days=10"' in page


def test_an_estimate_is_frozen_under_the_name_of_who_kept_it(wren: Sight) -> None:
    """16 GPUs x 10 days x 24 h x 6.88 = 26,419.20 USD of training, and what comes on top."""
    row = kept(wren)

    assert (row.scenario.name, row.by.username if row.by else "", row.run.slug if row.run else "") == (
        "first plan", "wren", "cygnus-13b",
    )  # fmt: skip
    assert row.expected > 26_419
    assert {entry.what for entry in LedgerEntry.objects.filter(target="cygnus-13b")} >= {
        "scenario_saved", "estimate_frozen",
    }  # fmt: skip


def test_the_runs_page_shows_the_newest_estimate_with_its_range(wren: Sight) -> None:
    kept(wren)
    row = kept(wren, "days=20", "longer")
    panel = wren.text(RUN).partition('id="cost"')[2].partition("</section>")[0]

    assert "longer" in panel
    assert "first plan" not in panel
    for amount in (row.low, row.expected, row.high):
        assert f"{amount:,.0f}" in panel


def test_a_run_without_an_estimate_says_where_to_make_one(wren: Sight) -> None:
    assert 'href="/costs/?run=cygnus-13b"' in wren.text(RUN)


def test_a_bill_a_fifth_above_is_amber_and_its_cause_is_named(wren: Sight) -> None:
    row = kept(wren)
    sent(wren, row, f"cause,amount,currency\ncompute,{float(row.expected) * 1.2:.2f},USD\n")
    page = wren.text(f"/costs/estimates/{row.pk}/")

    assert "is-warn" in page.partition('class="answer"')[2].partition("</section>")[0]
    assert "20 % over" in page
    assert "november.csv" in page
    assert "20 % over" in wren.text(RUN)


def test_a_bill_half_as_much_again_is_red(wren: Sight) -> None:
    row = kept(wren)
    sent(wren, row, f"cause,amount,currency\ncompute,{float(row.expected) * 1.5:.2f},USD\n")

    assert (
        "is-fail" in wren.text(f"/costs/estimates/{row.pk}/").partition('class="answer"')[2].partition("</section>")[0]
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cause,amount,currency\ncompute,1,USD\n", "check that it is this run"),
        ("a,b\n1,2\n", "cause"),
    ],
)
def test_what_is_no_bill_of_the_run_is_refused_and_nothing_is_kept(wren: Sight, text: str, sentence: str) -> None:
    assert sentence in sent(wren, kept(wren), text, status=422)
    assert not ActualCost.objects.exists()


def test_a_file_that_is_not_text_is_refused(wren: Sight) -> None:
    row = kept(wren)
    answer = wren.client.post(
        f"/costs/estimates/{row.pk}/bill/", {"bill": SimpleUploadedFile("a.csv", b"\xff\xfe\x00")}
    )

    assert answer.status_code == 422
    assert "The file is not UTF-8" in answer.content.decode()


def test_a_what_if_that_cannot_be_worked_out_is_not_kept(wren: Sight) -> None:
    assert "Give 1 or more." in wren.text(KEEP, gpus="0")
    assert not Estimate.objects.exists()


def test_who_may_only_look_keeps_nothing_and_reads_no_bill_in(lab: Lab, wren: Sight, fleet: Fleet) -> None:
    row, viewer = kept(wren), seen_by(person("vera", fleet.cluster, Role.VIEWER))

    viewer.text(f"/costs/estimates/{row.pk}/")
    assert "Keep it with" not in viewer.text("/costs/", run="cygnus-13b")
    for path in (KEEP, f"/costs/estimates/{row.pk}/bill/"):
        viewer.text(path, status=403)
        assert viewer.client.post(path, {"name": "x"}).status_code == 403


def test_nobody_keeps_or_reads_an_estimate_without_signing_in(wren: Sight) -> None:
    row = kept(wren)
    for path in (KEEP, *(f"/costs/estimates/{row.pk}/{part}" for part in ("", "lines.csv", "bill/"))):
        assert Client().get(path).headers["Location"].startswith("/accounts/login/?next="), path


def test_an_estimate_of_strangers_is_not_there(wren: Sight) -> None:
    row, stranger = kept(wren), seen_by(person("omar"))

    for path in ("", "lines.csv", "bill/"):
        stranger.text(f"/costs/estimates/{row.pk}/{path}", status=404)
    stranger.text(KEEP, status=404)


def test_its_lines_as_csv_add_up_to_what_it_says(wren: Sight) -> None:
    row = kept(wren)
    lines = wren.text(f"/costs/estimates/{row.pk}/lines.csv").splitlines()[1:]

    assert sum(float(line.split(",")[2]) for line in lines) == pytest.approx(float(row.expected), abs=0.1)
