"""The record of a run: one document to print, to keep and to verify without the portal."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from checks.selectors.pages_status import foot_of
from checks.services.certificates import issue_certificate
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.pages.run import gate_url, run_page
from portal.ui.requests import PersonRequest


@person_page()
def record(request: PersonRequest, slug: str) -> HttpResponse:
    """The run as it stands now, as a document."""
    access, now = load_run(request, slug), timezone.now()
    page = run_page(user=request.user, access=access, now=now)
    context = {"page": page, "now": now, "gate_url": gate_url(access.run), "on_record": True}
    return render(request, "ui/certificate/page.html", context | foot_of(now=now))


@person_page()
def certificate(request: PersonRequest, slug: str) -> HttpResponse:
    """The same as a file that ``verify_certificate.py`` verifies without the portal."""
    text = issue_certificate(load_run(request, slug).run, now=timezone.now())
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}-certificate.json"'
    response["Cache-Control"] = "private, no-store"
    return response
