"""Estimates that stay as they are: kept with a run, looked at again, and held against a bill."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.domain.cost.money import cents
from checks.models import ActualCost, Estimate, Run
from checks.selectors.costs import books
from checks.selectors.pages_status import foot_of
from checks.services.costs import estimate_run, import_actual
from portal.ui.acting import Act, act_page, posted
from portal.ui.cost_csv import LINES_HEAD, csv_response, line_rows
from portal.ui.guard import person_page
from portal.ui.loaders import load_estimate, load_run_to_reckon
from portal.ui.pages.estimate import estimate_shown
from portal.ui.requests import PersonRequest
from portal.ui.what_if import Asked, ask

_MOST_BYTES = 20_000_000


class KeepForm(forms.Form):
    """What the estimate is called; the what-if itself rides along."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    what_if = forms.CharField(max_length=4000, required=False, widget=forms.HiddenInput)


class BillForm(forms.Form):
    """A bill as a file."""

    bill = forms.FileField(
        label=gettext_lazy("Bill, CSV"), max_length=200,
        help_text=gettext_lazy(
            "An AWS Cost and Usage Report, or the columns cause (compute, egress, storage, requests, other), "
            "amount and currency."
        ),
    )  # fmt: skip

    def clean_bill(self) -> tuple[str, str]:
        """The file's name and its text."""
        sent = self.cleaned_data["bill"]
        if sent.size > _MOST_BYTES:
            raise forms.ValidationError(_("The file is larger than 20 MB: leave out what is not of this run."))
        try:
            return str(sent.name), sent.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise forms.ValidationError(_("The file is not UTF-8; export it again.")) from error


@person_page("GET", "HEAD", "POST")
def keep_estimate(request: PersonRequest, slug: str) -> HttpResponse:
    """Freeze the what-if that the address describes, with the prices of today, and keep it with the run."""
    run, now = load_run_to_reckon(request, slug).run, timezone.now()
    described = request.POST.get("what_if", "") if request.method == "POST" else request.GET.urlencode()
    asked = ask(QueryDict(described), books(), run=run, today=now.date())
    form = KeepForm(posted(request), initial={"name": _("Plan of %(day)s") % {"day": now.date()}, "what_if": described})
    return act_page(
        request, _keeping(run, asked), form, lambda: _keep(run, asked, form, by=request.user, now=now),
        refused=asked.refused,
    )  # fmt: skip


@person_page()
def estimate(request: PersonRequest, number: int) -> HttpResponse:
    """One estimate as it was frozen, and the newest bill against it."""
    (row, may_reckon), now = load_estimate(request, number), timezone.now()
    context: dict[str, Any] = {"page": estimate_shown(row), "may_reckon": may_reckon, "now": now}
    return render(request, "ui/costs/estimate.html", context | foot_of(now=now))


@person_page()
def estimate_csv(request: PersonRequest, number: int) -> HttpResponse:
    """Its lines, in US dollars to the cent."""
    row, _may_reckon = load_estimate(request, number)
    return csv_response(f"estimate-{number}.csv", LINES_HEAD, line_rows(estimate_shown(row).lines))


@person_page("GET", "HEAD", "POST")
def read_bill_in(request: PersonRequest, number: int) -> HttpResponse:
    """Hold a bill against the estimate; an earlier one stays in the record, and the newest counts."""
    row, may_reckon = load_estimate(request, number)
    if not may_reckon:
        raise PermissionDenied
    form = BillForm(posted(request), request.FILES or None)
    return act_page(request, _reading(row), form, lambda: _read_in(row, form, by=request.user))


def _keeping(run: Run, asked: Asked) -> Act:
    total = asked.page.sum.total if asked.page else None
    said = f"{cents(total.expected):,.0f} USD ({total.low:,.0f} – {total.high:,.0f})" if total else "—"
    return Act(
        title=_("Keep an estimate"),
        consequence=_(
            "It keeps a copy of today's prices and never changes again: another price, or another plan, makes another "
            "estimate. Bills are held against it."
        ),
        submit=_("Freeze it"),
        done=_("The estimate is kept with the run."),
        back=f"{reverse('ui:run', args=[run.slug])}#cost",
        cluster=run.cluster,
        run=run,
        facts=((_("Expected"), said), (_("Price book"), asked.form.book.name)),
        asks_proof=False,
    )


def _keep(run: Run, asked: Asked, form: KeepForm, *, by: Any, now: datetime) -> Estimate:
    provider, name = asked.form.book.provider, form.cleaned_data["name"]
    return estimate_run(run=run, name=name, scenario=asked.form.scenario(), provider=provider, by=by, now=now)


def _reading(row: Estimate) -> Act:
    return Act(
        title=_("Read a bill in"),
        consequence=_(
            "What was billed stands beside what was expected, cause by cause: amber from 15 % above, red from 30 %."
        ),
        submit=_("Read it in"),
        done=_("The bill stands beside the estimate."),
        back=reverse("ui:estimate", args=[row.pk]),
        cluster=row.cluster,
        run=row.run,
        facts=((_("Estimate"), str(row)), (_("Expected"), f"{row.expected:,.0f} USD")),
        uploads=True,
        asks_proof=False,
    )


def _read_in(row: Estimate, form: BillForm, *, by: Any) -> ActualCost:
    name, text = form.cleaned_data["bill"]
    return import_actual(frozen=row, text=text, file_name=name, by=by, now=timezone.now())
