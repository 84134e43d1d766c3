"""The record of a run: one document to print, to keep and to verify without the portal."""

from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone

from checks import certificate as certificate_code
from checks.selectors.pages_status import foot_of
from checks.services.sealing import certificate_of
from portal.printing import chromium, print_pdf
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.pages.run import gate_url, run_page
from portal.ui.requests import PersonRequest

_VERIFIER: Final = Path(certificate_code.__file__).with_name("verify_certificate.py")
_SHEETS: Final = ("tokens", "base", "layout", "components", "pages")


@person_page()
def record(request: PersonRequest, slug: str) -> HttpResponse:
    """The run as it stands now, as a document."""
    context = _context(request, slug)
    return render(request, "ui/certificate/page.html", context | {"prints": chromium()} | foot_of(now=context["now"]))


@person_page("GET")
def record_pdf(request: PersonRequest, slug: str) -> HttpResponse:
    """The same on paper, where the portal's host has a Chromium to print it."""
    context = _context(request, slug) | {"portal": settings.PORTAL_URL, "sheets": [*map(_sheet, _SHEETS)]}
    response = HttpResponse(print_pdf(render_to_string("ui/certificate/print.html", context, request)))
    response["Content-Type"] = "application/pdf"
    response["Content-Disposition"] = f'attachment; filename="{slug}-record.pdf"'
    response["Cache-Control"] = "private, no-store"
    return response


@person_page()
def certificate(request: PersonRequest, slug: str) -> HttpResponse:
    """The same as a file that ``verify_certificate.py`` verifies without the portal."""
    text = certificate_of(load_run(request, slug).run, now=timezone.now())
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}-certificate.json"'
    response["Cache-Control"] = "private, no-store"
    return response


@person_page("GET")
def verifier(request: PersonRequest) -> HttpResponse:
    """The program that verifies the file, for who has nothing but the file."""
    response = HttpResponse(_VERIFIER.read_bytes(), content_type="text/x-python; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{_VERIFIER.name}"'
    return response


def _context(request: PersonRequest, slug: str) -> dict[str, Any]:
    access, now = load_run(request, slug), timezone.now()
    page = run_page(user=request.user, access=access, now=now)
    return {"page": page, "now": now, "gate_url": gate_url(access.run), "on_record": True}


def _sheet(name: str) -> str:
    """A style sheet as the source has it: paper needs neither its hashed name nor a second request."""
    found = finders.find(f"css/{name}.css")
    assert found is not None  # noqa: S101  (it lies beside this code)
    return Path(str(found)).read_text(encoding="utf-8")
