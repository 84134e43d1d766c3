"""What-ifs about costs: a form whose result follows, its tables as CSV, and the prices behind it."""

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from checks.selectors.cost_of_waiting import gpu_prices
from checks.selectors.costs import books, currency_rates, measured_checkpoint_gb
from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_status import foot_of
from checks.selectors.runs import LEADING_ROLES, RunAccess
from portal.ui.cost_csv import LINES_HEAD, csv_response, line_rows
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.money import USD, Purse
from portal.ui.requests import PersonRequest
from portal.ui.scenario_form import BESIDES
from portal.ui.what_if import Asked, ask


@person_page()
def costs(request: PersonRequest) -> HttpResponse:
    """What a run costs: the form and its result, or to the form alone the result."""
    asked, access = _ask(request)
    if "keep" in request.GET:
        besides = {name: request.GET.get(name, "") for name in ("run", "currency")} | {"against": asked.query}
        return redirect(f"{reverse('ui:costs')}?{_joined(asked.query, besides)}")
    now = timezone.now()
    context = _context(request, asked, access) | {"now": now} | foot_of(now=now)
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
    page = _ask(request)[0].page
    return csv_response("costs.csv", LINES_HEAD, line_rows(page.lines if page else ()))


@person_page()
def curve_csv(request: PersonRequest) -> HttpResponse:
    """The share of time that trains at each interval."""
    page = _ask(request)[0].page
    points = page.curve.points if page else ()
    rows = [(f"{point.minutes:.2f}", *(f"{share:.6f}" for share in point.shares)) for point in points]
    return csv_response("checkpoint-interval.csv", ("minutes", "few_failures", "as_expected", "many_failures"), rows)


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


def _ask(request: PersonRequest) -> tuple[Asked, RunAccess | None]:
    """The what-if of this address; ``run=`` begins with that run."""
    slug = request.GET.get("run", "")
    access = load_run(request, slug) if slug else None
    run = access.run if access else None
    return ask(request.GET, books(), run=run, today=timezone.now().date()), access


def _context(request: PersonRequest, asked: Asked, access: RunAccess | None) -> dict[str, Any]:
    rates = currency_rates()
    rate = rates.get(request.GET.get("currency", ""))
    besides = _besides(request)
    codes = [USD, *rates] if rates else []
    return {
        "page": asked.page, "form": asked.form, "kept": asked.kept, "refused": asked.refused, "query": asked.query,
        "purse": Purse(rate), "rate": rate, "rate_is_aged": bool(rate and rate.is_aged(timezone.now().date())),
        "run": access.run if access else None, "may_keep": bool(access and access.may_reckon),
        "measured_gb": measured_checkpoint_gb(access.run) if access else None,
        "besides": list(besides.items()),
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
