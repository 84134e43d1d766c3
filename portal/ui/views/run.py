"""One run."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from checks.selectors.pages_status import foot_of
from portal.ui.guard import person_page
from portal.ui.loaders import load_run
from portal.ui.requests import PersonRequest


@person_page()
def run(request: PersonRequest, slug: str) -> HttpResponse:
    """May this run start on these nodes, now; and if not, what is missing and who can give it."""
    access, now = load_run(request, slug), timezone.now()
    return render(request, "ui/run/page.html", {"run": access.run, "now": now} | foot_of(now=now))
