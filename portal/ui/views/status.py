"""The portal's own state."""

from django.http import HttpResponse
from django.utils import timezone

from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_status import foot_of, open_trips
from checks.selectors.status import portal_status
from portal.ui.guard import person_page
from portal.ui.htmx import marker_of, render_live
from portal.ui.pages.status import status_page
from portal.ui.requests import PersonRequest


@person_page()
def status(request: PersonRequest) -> HttpResponse:
    """Does everything behind the pages run?"""
    now = timezone.now()
    trips = open_trips([access.cluster for access in clusters_of(request.user)])
    page = status_page(portal_status(now=now), trips)
    return render_live(request, "status", {"page": page, "now": now} | foot_of(now=now), marker=marker_of(*page.seen))
