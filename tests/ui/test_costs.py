"""The page on which a what-if about costs is worked out."""

import csv
import html
import io
import re
from datetime import datetime

import pytest
from django.core.management import call_command
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
    for path in (
        "/costs/",
        "/costs/lines.csv",
        "/costs/curve.csv",
        "/costs/prices/",
        "/costs/article/",
        "/costs/article.csv",
        "/costs/rates/",
        "/costs/estimates/1/",
    ):
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


def test_the_article_is_worked_out_on_every_way_with_the_true_figure_of_each(sight: Sight) -> None:
    """12,000 GB: 0 beside, 540 through NAT, 1,062.20 to the internet, 480 accelerated; never 1,200."""
    rows = {
        row["way"]: row["usd_for_12000_gb"] for row in csv.DictReader(io.StringIO(sight.text("/costs/article.csv")))
    }

    assert (rows["same_region"], rows["into"], rows["nat"], rows["internet"], rows["accelerated"]) == (
        "0.00", "0.00", "540.00", "1062.20", "480.00",
    )  # fmt: skip
    page = sight.text("/costs/article/")
    for figure in ("1,062.20", "1,028", "1,277"):
        assert figure in page, figure


def test_each_claim_of_the_article_is_judged_with_its_figures(sight: Sight) -> None:
    """Reference figures: 130 GB = 121 GiB, 182 GB = 169.5 GiB; 200 ms of 512 GPUs 0.20; 50 steps 489; 72 h 253,624."""
    page = sight.text("/costs/article/")

    for figure in ("130 GB or 121 GiB", "182 GB or 169.5 GiB", "0.0885 USD", "0.20 USD", "489 USD", "253,624 USD",
                   "8.3 % of the capacity, 7,045 USD a day", "--no_python", "saves nothing", "torchrun"):  # fmt: skip
        assert figure in page, figure


def test_each_ready_scenario_opens_worked_out(sight: Sight) -> None:
    links = re.findall(r'href="(/costs/\?[^"]+)"', sight.text("/costs/article/").partition('id="sc"')[2])

    assert len(links) == 4
    for link in links:
        assert "One thing to mend first" not in sight.text(html.unescape(link))


def test_published_rates_stand_with_what_was_counted_and_their_source(sight: Sight) -> None:
    call_command("prices", "load", "--yes", stdout=io.StringIO())
    page = sight.text("/costs/rates/")

    for text in ("Meta RSC-1", "6.50", "hardware-type node failures", "https://arxiv.org/abs/2410.21680", "35.32"):
        assert text in page, text


def test_another_currency_names_its_dated_rate_and_says_when_that_is_old(sight: Sight) -> None:
    call_command("prices", "load", "--yes", stdout=io.StringIO())
    page = sight.text("/costs/", currency="EUR")

    assert "one US dollar was 0.955566 on 2025-02-21" in page
    assert "older than 90 days" in page


def test_sums_follow_the_currency_and_prices_stay_in_dollars(sight: Sight) -> None:
    """An hour of 512 GPUs at 6.88 is 3,522.56 USD; at 7.1884 yuan 25,321.57."""
    call_command("prices", "load", "--yes", stdout=io.StringIO())
    page = sight.text("/costs/", currency="CNY", provider="aws")

    assert "25,322" in page
    assert "512 × 6.88" in page
