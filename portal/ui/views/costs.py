"""What-ifs about costs: a form whose result follows, its tables as CSV, and the prices behind it."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from checks.domain.cost.errors import ImpossibleInput, PriceMissing
from checks.domain.cost.prices import Book
from checks.domain.cost.scenario import Scenario
from checks.selectors.cost_of_waiting import gpu_prices
from checks.selectors.costs import NoPrices, books, currency_rates, starting_scenario
from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_status import foot_of
from checks.selectors.runs import LEADING_ROLES
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.money import USD, Purse
from portal.ui.pages.costs import CostsPage, Sum, costs_page
from portal.ui.requests import PersonRequest
from portal.ui.scenario_form import BESIDES, ScenarioForm, query_of, values_of

# Where nothing was said: a large run on the newest machines.
USUAL = Scenario(gpus=512, days=30)


@dataclass(frozen=True, slots=True)
class Asked:
    """The what-if that an address describes: its form, and its page unless something has to be mended first."""

    form: ScenarioForm
    usual: dict[str, str]
    kept: Sum | None
    page: CostsPage | None
    refused: str

    @property
    def query(self) -> str:
        """The what-if as a query, without what is as usual."""
        return query_of({name: str(self.form.data.get(name, "")) for name in self.form.fields}, self.usual)


@person_page()
def costs(request: PersonRequest) -> HttpResponse:
    """What a run costs: the form and its result, or to the form alone the result."""
    asked = ask(request, books())
    if "keep" in request.GET:
        besides = {name: request.GET.get(name, "") for name in ("run", "currency")} | {"against": asked.query}
        return redirect(f"{reverse('ui:costs')}?{_joined(asked.query, besides)}")
    now = timezone.now()
    context = _context(request, asked) | {"now": now} | foot_of(now=now)
    template = "ui/costs/_live.html" if request.htmx else "ui/costs/page.html"
    response = render(request, template, context, status=422 if asked.page is None and not request.htmx else 200)
    if request.htmx:
        response["X-Live"] = "part"
        response["HX-Replace-Url"] = f"{reverse('ui:costs')}?{_joined(asked.query, _besides(request))}"
    patch_vary_headers(response, ["HX-Request"])
    return response


@person_page()
def costs_csv(request: PersonRequest) -> HttpResponse:
    """The line items of a what-if, in US dollars to the cent."""
    page = ask(request, books()).page
    rows = [] if page is None else [
        (line.key, f"{line.amount.low:.2f}", f"{line.amount.expected:.2f}", f"{line.amount.high:.2f}", line.formula,
         "; ".join(f"{one.name} = {one.value} {one.unit}".strip() for one in line.inputs),
         "; ".join(price.source for price in line.prices))
        for line in page.lines if line.formula
    ]  # fmt: skip
    return _csv("costs.csv", ("line", "low_usd", "expected_usd", "high_usd", "formula", "inputs", "sources"), rows)


@person_page()
def curve_csv(request: PersonRequest) -> HttpResponse:
    """The share of time that trains at each interval."""
    page = ask(request, books()).page
    points = page.curve.points if page else ()
    rows = [(f"{point.minutes:.2f}", *(f"{share:.6f}" for share in point.shares)) for point in points]
    return _csv("checkpoint-interval.csv", ("minutes", "few_failures", "as_expected", "many_failures"), rows)


@person_page()
def prices(request: PersonRequest) -> HttpResponse:
    """Every price book with its age, and which of its rows nobody has checked."""
    now = timezone.now()
    shown = [
        {
            "book": book,
            "is_aged": book.is_aged(now.date()),
            "days": (now.date() - book.as_of).days,
            "unverified": sum(not row.verified for row in book.rows),
        }
        for book in books()
    ]
    context = {"shown": shown, "clusters": _cluster_prices(request), "now": now}
    return render(request, "ui/costs/prices.html", context | foot_of(now=now))


def _cluster_prices(request: PersonRequest) -> list[dict[str, Any]]:
    """The reader's clusters, with what a GPU hour of each costs."""
    mine = clusters_of(request.user)
    found = gpu_prices([access.cluster.pk for access in mine])
    return [
        {
            "cluster": access.cluster,
            "price": found.get(access.cluster.pk),
            "may_price": bool(access.roles & LEADING_ROLES),
        }
        for access in mine
    ]


def ask(request: PersonRequest, known: tuple[Book, ...]) -> Asked:
    """Read the what-if out of the address; ``run=`` begins with that run, ``against=`` is what it is held against."""
    if not known:
        raise NoPrices
    usual = values_of(_usual(request), known[0].provider)
    form = ScenarioForm(_given(request.GET, usual), books=known)
    kept = _kept(request.GET.get("against", ""), usual, known)
    page, refused = _worked_out(form, kept)
    return Asked(form, usual, kept, page, refused)


def _usual(request: PersonRequest) -> Scenario:
    slug = request.GET.get("run", "")
    if not slug:
        return USUAL
    return starting_scenario(load_run(request, slug).run)


def _given(query: QueryDict, usual: dict[str, str]) -> dict[str, str]:
    return usual | {name: str(query[name]) for name in usual if name in query}


def _kept(query: str, usual: dict[str, str], known: tuple[Book, ...]) -> Sum | None:
    """What it is held against; nothing where that address says nothing that can be worked out."""
    if not query:
        return None
    page, _refused = _worked_out(ScenarioForm(_given(QueryDict(query), usual), books=known), None)
    return page.sum if page else None


def _worked_out(form: ScenarioForm, kept: Sum | None) -> tuple[CostsPage | None, str]:
    """The page, or the sentence that stands beside a field."""
    if form.is_valid():
        try:
            return costs_page(form.scenario(), form.book, kept=kept, today=timezone.now().date()), ""
        except ImpossibleInput as error:
            form.refuse(error)
        except PriceMissing as error:
            form.add_error("route", error.message)
    return None, next((str(said) for errors in form.errors.values() for said in errors), "")


def _context(request: PersonRequest, asked: Asked) -> dict[str, Any]:
    rates = currency_rates()
    rate = rates.get(request.GET.get("currency", ""))
    besides = _besides(request)
    codes = [USD, *rates] if rates else []
    return {
        "page": asked.page, "form": asked.form, "kept": asked.kept, "refused": asked.refused, "query": asked.query,
        "purse": Purse(rate), "besides": list(besides.items()),
        "alone": _joined(asked.query, besides | {"against": ""}),
        "currencies": [
            (code, f"?{_joined(asked.query, besides | {'currency': '' if code == USD else code})}") for code in codes
        ],
    }  # fmt: skip


def _besides(request: PersonRequest) -> dict[str, str]:
    return {name: request.GET[name] for name in BESIDES if request.GET.get(name)}


def _joined(query: str, besides: dict[str, str]) -> str:
    more = QueryDict(mutable=True)
    more.update({name: value for name, value in besides.items() if value})
    return "&".join(part for part in (query, more.urlencode()) if part)


def _csv(name: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    csv.writer(response).writerows([head, *rows])
    return response
