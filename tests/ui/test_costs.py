"""The page on which a what-if about costs is worked out."""

import csv
import io
from datetime import datetime

import pytest
from django.test import Client

from checks.models import Role
from checks.services.price_books import load_book
from tests.domain.cost.pricing import SHIPPED
from tests.fleet import Fleet, person
from tests.ui.conftest import Sight, seen_by

pytestmark = pytest.mark.django_db
ARTICLE = "/costs/?gpus=64&checkpoint_gb=120&checkpoints_moved=100&route=internet&provider=aws"


@pytest.fixture(autouse=True)
def books(fleet: Fleet, now: datetime) -> None:
    """The shipped price books, loaded as ``prices load`` does."""
    for book in SHIPPED.values():
        load_book(book=book, confirmed=True, by=None, now=now)


def test_nobody_works_out_costs_without_signing_in() -> None:
    for path in ("/costs/", "/costs/lines.csv", "/costs/curve.csv", "/costs/prices/"):
        assert Client().get(path).headers["Location"].startswith("/accounts/login/?next="), path


def test_every_role_may_look(fleet: Fleet) -> None:
    for role in Role:
        seen_by(person(role.value, fleet.cluster, role)).text("/costs/", 200)


def test_a_run_of_strangers_begins_no_what_if(sight: Sight) -> None:
    sight.text("/costs/", 404, run="of-somebody-else")


def test_twelve_terabytes_out_of_aws_to_the_internet_cost_1062_dollars(sight: Sight) -> None:
    rows = csv.DictReader(io.StringIO(sight.text(ARTICLE.replace("/costs/", "/costs/lines.csv"))))
    assert {row["line"]: row["expected_usd"] for row in rows}["egress"] == "1062.20"


def test_the_page_shows_the_same_sum(sight: Sight) -> None:
    assert "1,062" in sight.text(ARTICLE)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"gpus": "0"}, "Give 1 or more."),
        ({"checkpoint_gb": "-5"}, "Give 0.000001 or more."),
        ({"spot_percent": "50", "spot_price": "9", "gpu_price": "6"}, "Spot is dearer than on-demand"),
        ({"gpus": "131072", "interval_min": "600"}, "Failures come faster than the run recovers from them"),
        ({"rates": "9, 3, 1"}, "Give three numbers that rise"),
    ],
)
def test_wrong_input_gets_one_sentence_beside_its_field(sight: Sight, given: dict[str, str], sentence: str) -> None:
    page = sight.text("/costs/", 422, **given)
    form = page.partition('id="scenario"')[2].partition("</form>")[0]
    assert form.count('class="error"') == 1
    assert sentence in form


def test_the_form_alone_gets_the_result_alone(sight: Sight) -> None:
    answer = sight.client.get("/costs/?gpus=64", headers={"HX-Request": "true"})
    assert answer.headers["X-Live"] == "part"
    assert answer.headers["HX-Replace-Url"] == "/costs/?gpus=64"
    assert "<html" not in answer.content.decode()


def test_what_is_kept_is_held_against_what_comes_next(sight: Sight) -> None:
    kept = sight.client.get("/costs/?gpus=64&keep=1").headers["Location"]
    page = sight.text(kept.replace("gpus=64&", "gpus=128&", 1))
    assert "Difference" in page


def test_every_price_that_nobody_checked_is_marked(sight: Sight) -> None:
    assert sight.text("/costs/prices/").count("</svg>unverified") == sum(
        not row.verified for book in SHIPPED.values() for row in book.rows
    )


def test_what_a_book_has_no_price_for_is_said_and_not_left_at_nothing(sight: Sight) -> None:
    azure = sight.text("/costs/?gpus=64&checkpoint_gb=120&checkpoints_moved=100&provider=azure")

    assert "This price book has no price for keeping checkpoints, requests to the store" in azure
    assert "has no price for" not in sight.text(ARTICLE)
