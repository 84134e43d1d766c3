"""The board."""

from datetime import datetime, timedelta

from django.http import HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_status import foot_of
from portal.ui.guard import person_page
from portal.ui.htmx import marker_of, render_live
from portal.ui.pages.board import board_page
from portal.ui.requests import PersonRequest

# A look within this time of the one before is the same visit: reloading must not empty the list of changes.
SAME_VISIT = timedelta(minutes=30)
WITHOUT_A_VISIT = timedelta(days=1)


@person_page()
def board(request: PersonRequest) -> HttpResponse:
    """May a job start, what stops it, who must act."""
    now = timezone.now()
    start, is_visit = last_visit(request, now=now)
    page = board_page(
        user=request.user,
        mine=clusters_of(request.user),
        asked=request.GET.get("cluster", ""),
        start=start,
        is_visit=is_visit,
        now=now,
    )
    foot = foot_of(now=now)
    return render_live(
        request,
        "board",
        {"page": page, "now": now, "waiting": len(page.waiting)} | foot,
        marker=marker_of(*page.seen, foot),
    )


def last_visit(request: PersonRequest, *, now: datetime) -> tuple[datetime, bool]:
    """Since when to tell changes: the end of the visit before this one, else a day back. Polls are no visit."""
    ended, looked = _read(request, "visit_before"), _read(request, "looked_at")
    if looked and now - looked > SAME_VISIT:
        ended = looked
        request.session["visit_before"] = ended.isoformat()
    if not request.htmx and (looked is None or now - looked > timedelta(minutes=1)):
        request.session["looked_at"] = now.isoformat()
    return (ended, True) if ended else (now - WITHOUT_A_VISIT, False)


def _read(request: PersonRequest, key: str) -> datetime | None:
    return parse_datetime(request.session.get(key, ""))
