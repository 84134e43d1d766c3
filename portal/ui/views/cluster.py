"""One cluster, the list of them, and one cluster's nodes as CSV."""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone

from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_export import HEADER, node_records
from checks.selectors.pages_status import foot_of
from checks.selectors.pages_summary import failing_hosts
from portal.ui.answers import answer_of
from portal.ui.csv_cells import safe_cell
from portal.ui.guard import person_page
from portal.ui.htmx import marker_of, render_live
from portal.ui.loaders import load_cluster
from portal.ui.pages.board import cluster_answers
from portal.ui.pages.cluster import cluster_page
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of


@person_page()
def clusters(request: PersonRequest) -> HttpResponse:
    """Every cluster that this person has a role in."""
    now = timezone.now()
    answers = cluster_answers(request.user, clusters_of(request.user), now=now)
    marker = marker_of([(each.cluster.slug, each.decision, each.counted) for each in answers])
    return render_live(
        request, "clusters", {"page": {"clusters": answers}, "now": now} | foot_of(now=now), marker=marker
    )


@person_page()
def cluster(request: PersonRequest, slug: str) -> HttpResponse:
    """May a job start on it, and which items hold on which nodes."""
    access, now = load_cluster(request, slug), timezone.now()
    page = cluster_page(
        cluster=access.cluster,
        answer=answer_of(request.user, access.cluster, None, now=now),
        failing=failing_hosts([access.cluster], now=now)[access.cluster.pk],
        rules=rules_of(access.cluster),
        place=request.GET.get("place", ""),
        now=now,
    )
    context = {"page": page, "now": now, "may_enrol": access.may_enrol} | foot_of(now=now)
    return render_live(request, "cluster", context, marker=marker_of(*page.seen))


@person_page()
def cluster_csv(request: PersonRequest, slug: str) -> StreamingHttpResponse:
    """Every row of every node, as it stands now."""
    access = load_cluster(request, slug)
    records = node_records(access.cluster, now=timezone.now())
    response = StreamingHttpResponse(_csv_lines(chain([HEADER], records)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{access.cluster.slug}-nodes.csv"'
    return response


class _Echo:
    """A file that hands back what is written to it, for csv to stream through."""

    def write(self, text: str) -> str:
        return text


def _csv_lines(records: Iterable[tuple[str, ...]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield from (writer.writerow([safe_cell(cell) for cell in record]) for record in records)
