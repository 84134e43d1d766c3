"""Incidents: found, counted, exported; what no item sees, machines they come back to, and what others told."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language

from checks.selectors.incident_figures import MOST_BLIND, blind_spots
from checks.selectors.incident_lemons import lemon_machines, lemon_parts
from checks.selectors.incidents import known_elsewhere
from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_status import foot_of
from portal.ui.csv_files import csv_file
from portal.ui.guard import person_page
from portal.ui.pages.incidents import CSV_HEAD, IncidentLine, csv_records, head_figures, incidents_page
from portal.ui.requests import PersonRequest


@person_page()
def incidents(request: PersonRequest) -> HttpResponse:
    """The newest incidents that are asked for, and the figures of all; to the form alone what was found."""
    now = timezone.now()
    page = incidents_page(request.user, request.GET, now=now)
    if request.htmx:
        response = render(request, "ui/incidents/_found.html", {"page": page, "now": now})
        response["X-Live"] = "part"
        response["HX-Replace-Url"] = f"{request.path}?{page.query}"
    else:
        context = {"page": page, "figures": head_figures(page, now=now), "now": now} | foot_of(now=now)
        response = render(request, "ui/incidents/page.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@person_page()
def incidents_csv(request: PersonRequest) -> StreamingHttpResponse:
    """Every incident that is asked for."""
    return csv_file("incidents.csv", CSV_HEAD, csv_records(request.user, request.GET, now=timezone.now()))


@person_page()
def blind(request: PersonRequest) -> HttpResponse:
    """Incidents that no item caught, nor should have, by what they cost."""
    now = timezone.now()
    found = blind_spots(_clusters(request), now=now)
    lines = [IncidentLine.of(one) for one in found[:MOST_BLIND]]
    page = {"lines": lines, "count": found.count(), "now": now}
    return render(request, "ui/incidents/blind.html", page | foot_of(now=now))


@person_page()
def lemons(request: PersonRequest) -> HttpResponse:
    """Machines and parts that incidents touch more often than chance explains."""
    now, clusters = timezone.now(), _clusters(request)
    page = {
        "machines": lemon_machines(clusters, now=now),
        "parts": lemon_parts(clusters, now=now),
        "now": now,
    }
    return render(request, "ui/incidents/lemons.html", page | foot_of(now=now))


@person_page()
def known(request: PersonRequest) -> HttpResponse:
    """Incidents that others told in public, with the items that would see them."""
    now, item = timezone.now(), request.GET.get("item", "")
    chinese = (get_language() or "en").startswith("zh")
    lines = [
        {
            "precedent": one,
            "title": one.title_zh if chinese else one.title_en,
            "told": one.told_zh if chinese else one.told_en,
        }
        for one in known_elsewhere(item=item)
    ]
    page = {"lines": lines, "item": item, "clusters": clusters_of(request.user), "now": now}
    return render(request, "ui/incidents/known.html", page | foot_of(now=now))


def _clusters(request: PersonRequest) -> list[int]:
    """Keys of the clusters of the reader; of one where the address names it."""
    asked = request.GET.get("cluster", "")
    return [one.cluster.pk for one in clusters_of(request.user) if asked in ("", one.cluster.slug)]
