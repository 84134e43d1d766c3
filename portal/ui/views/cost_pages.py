"""The article's figures worked out, and the published rates behind every range."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from checks.selectors.cost_of_skipping import published_studies
from checks.selectors.costs import base_rates, book_named, books, currency_rates
from checks.selectors.pages_status import foot_of
from portal.ui.cost_csv import csv_response
from portal.ui.guard import person_page
from portal.ui.pages.cost_article import ArticlePage, article_page
from portal.ui.requests import PersonRequest

#: The article's provider.
PROVIDER = "aws"


@person_page()
def article(request: PersonRequest) -> HttpResponse:
    """What 100 checkpoints cost by every way, each claim judged, and scenarios to begin with."""
    now = timezone.now()
    return render(request, "ui/costs/article.html", {"page": _page(), "now": now} | foot_of(now=now))


@person_page()
def article_csv(request: PersonRequest) -> HttpResponse:
    """Every way with its sum, in US dollars to the cent."""
    page = _page()
    head = ("way", f"usd_for_{page.told_gb}_gb", f"usd_for_{page.usual_gb}_gb", *page.others)
    rows = (
        (
            one.route.value,
            *("" if amount is None else f"{amount:.2f}" for amount in (one.told, one.usual, *one.elsewhere)),
        )
        for one in page.routes
    )
    return csv_response("checkpoints-by-way.csv", head, rows)


@person_page()
def rates(request: PersonRequest) -> HttpResponse:
    """Published failure rates and what was counted, why one large run stopped, and what a dollar was elsewhere."""
    now = timezone.now()
    currencies = [(rate, rate.is_aged(now.date())) for rate in currency_rates().values()]
    shown: dict[str, Any] = {
        "rates": base_rates(),
        "studies": published_studies(),
        "currencies": currencies,
        "now": now,
    }
    return render(request, "ui/costs/rates.html", shown | foot_of(now=now))


def _page() -> ArticlePage:
    book = book_named(PROVIDER)
    return article_page(book, [one for one in books() if one.provider != book.provider])
