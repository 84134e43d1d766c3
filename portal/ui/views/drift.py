"""Drift: what differs, as a page and as a file; and a setting that becomes an item, blocks, and ends."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.setting_items import item_key
from checks.models import Cluster, Incident
from checks.selectors.fingerprints import noise_in_force
from checks.selectors.pages_access import ClusterAccess, clusters_of
from checks.selectors.pages_status import foot_of
from checks.selectors.runs import LEADING_ROLES, runs_of
from checks.selectors.setting_items import OpenSetting, open_setting, open_settings
from checks.services.setting_items import accept_setting_item, end_setting_item, make_setting_item
from portal.ui.act_forms import ConfirmForm, ReasonForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.csv_files import csv_file
from portal.ui.guard import person_page
from portal.ui.loaders import load_cluster, load_incident_to_act, load_run
from portal.ui.pages.drift import MOST_SHOWN, csv_rows, filtered
from portal.ui.pages.drift_views import RUN, DriftPage, between_page, cohort_page, node_page, run_page, side_of
from portal.ui.requests import PersonRequest
from portal.ui.step_up import fresh_proof, step_up

HEADER = ("setting", "usual", "others", "nodes_that_differ", "of_nodes", "nodes", "item")


@person_page()
def drift(request: PersonRequest) -> HttpResponse:
    """What differs, ranked, for whichever way of looking the address asks for."""
    now = timezone.now()
    page = _asked(request)
    if page is None:
        return render(request, "ui/drift/none.html", {"now": now} | foot_of(now=now))
    wanted = request.GET.get("q", "")
    rows = filtered(page.rows, wanted)
    access = load_cluster(request, page.cluster.slug)
    context = {
        "page": page, "rows": rows[:MOST_SHOWN], "hidden": max(len(rows) - MOST_SHOWN, 0), "q": wanted, "now": now,
        "query": request.GET.urlencode(), "leads": bool(access.roles & LEADING_ROLES),
        "noise_rules": noise_in_force().rules, "settings": open_settings(page.cluster),
        "escaped": _escaped(request, request.GET.get("incident", "")),
        "on_checklist": sum(bool(row.item) for row in page.rows),
    }  # fmt: skip
    return render(request, "ui/drift/page.html", context | _choices(request) | foot_of(now=now))


@person_page()
def drift_csv(request: PersonRequest) -> StreamingHttpResponse:
    """Every row of that page."""
    page = _asked(request)
    rows = [] if page is None else filtered(page.rows, request.GET.get("q", ""))
    return csv_file("drift.csv", HEADER, csv_rows(rows))


@person_page("POST")
def make_setting(request: PersonRequest, slug: str) -> HttpResponse:
    """One click: the setting is an item of the cluster, asked of every node with the next tick."""
    cluster, name = _led(request, slug).cluster, request.POST.get("name", "")
    reason = request.POST.get("reason", "") or _("It differs among the nodes.")
    make_setting_item(
        cluster=cluster, name=name, equals=request.POST.get("equals", ""), by=request.user, reason=reason,
        now=timezone.now(), escaped=_escaped(request, request.POST.get("incident", "")),
    )  # fmt: skip
    said = _(
        "%(name)s is an item now: the next tick of each node is judged by it. It warns until a second lead accepts."
    )
    messages.info(request, said % {"name": name.partition(":")[2]})
    return redirect("ui:item", slug=slug, item=item_key(name))


@person_page("GET", "HEAD", "POST")
@step_up
def accept_setting(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Let a setting block, as the second person."""
    cluster = _led(request, slug).cluster
    found = _open(cluster, number)
    act = Act(
        title=_("Let a setting block"),
        consequence=_("From now on a node without that value may not start, and neither may a node that cannot tell."),
        submit=_("Let it block"),
        done=_("It blocks from now on."),
        back=_back(slug),
        cluster=cluster,
        facts=_facts(found),
    )
    more = {}
    if found.row.by_id == request.user.pk:
        more["refused"] = _("You made it an item yourself: another lead or administrator has to accept that it blocks.")
    elif found.accepted is not None:
        more["refused"] = _("It blocks already.")
    return act_page(
        request,
        act,
        ConfirmForm(posted(request)),
        lambda: accept_setting_item(item=found.row, by=request.user, proof=fresh_proof(request), now=timezone.now()),
        **more,
    )


@person_page("GET", "HEAD", "POST")
@step_up
def end_setting(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Ask no node for that setting any more."""
    cluster = _led(request, slug).cluster
    found, form = _open(cluster, number), ReasonForm(posted(request))
    act = Act(
        title=_("End an item"),
        consequence=_("No node is asked for that setting any more; drift goes on showing it."),
        submit=_("End it"),
        done=_("Ended."),
        back=_back(slug),
        cluster=cluster,
        facts=_facts(found),
        danger=True,
    )
    return act_page(
        request,
        act,
        form,
        lambda: end_setting_item(
            item=found.row,
            by=request.user,
            reason=form.cleaned_data["reason"],
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
    )


def _asked(request: PersonRequest) -> DriftPage | None:
    """The way of looking that the address asks for; the first cluster's cohort where it asks for none."""
    a, b, node = (request.GET.get(name, "") for name in ("a", "b", "node"))
    if not a:
        first = next(iter(clusters_of(request.user)), None)
        if first is None:
            return None
        a = first.cluster.slug
    if node:
        return node_page(request, a, node, request.GET.get("since", ""), now=timezone.now())
    if b and b != a:
        return between_page(side_of(request, a), side_of(request, b))
    if a.startswith(RUN):
        return run_page(load_run(request, a.removeprefix(RUN)).run)
    return cohort_page(load_cluster(request, a).cluster, request.GET.get("profile", ""))


def _escaped(request: PersonRequest, number: str) -> Incident | None:
    """The incident that somebody looks for the cause of, where the address names one."""
    return load_incident_to_act(request, int(number)).incident if number.isdecimal() and len(number) < 10 else None


def _choices(request: PersonRequest) -> dict[str, Any]:
    clusters = [(access.cluster.slug, access.cluster.slug) for access in clusters_of(request.user)]
    runs = [(f"{RUN}{access.run.slug}", access.run.slug) for access in runs_of(request.user)[:50]]
    a = request.GET.get("a", "") or (clusters[0][0] if clusters else "")
    return {
        "clusters": clusters,
        "runs": runs,
        "a": a,
        "b": request.GET.get("b", ""),
        "node": request.GET.get("node", ""),
    }


def _led(request: PersonRequest, slug: str) -> ClusterAccess:
    access = load_cluster(request, slug)
    if not access.roles & LEADING_ROLES:
        raise PermissionDenied
    return access


def _open(cluster: Cluster, number: int) -> OpenSetting:
    found = open_setting(cluster, number)
    if found is None:
        raise Http404
    return found


def _back(slug: str) -> str:
    return f"{reverse('ui:drift')}?a={slug}"


def _facts(found: OpenSetting) -> tuple[tuple[str, str], ...]:
    row = found.row
    return (
        (_("Setting"), row.name),
        (_("Has to be"), row.equals),
        (_("Made by"), str(row.by)),
        (_("Reason"), row.reason),
    )
