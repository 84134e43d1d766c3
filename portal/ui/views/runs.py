"""The runs of a person's clusters: listed, planned, changed, and planned again from another."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.models import Cluster, Run
from checks.selectors.pages_access import clusters_of
from checks.selectors.pages_status import foot_of
from checks.selectors.runs import pool_preview
from checks.services.runs import create_run, revise_run
from portal.ui.guard import person_page
from portal.ui.htmx import marker_of, render_live
from portal.ui.loaders import load_cluster_to_plan, load_run, load_run_to_change
from portal.ui.pages.runs import runs_page
from portal.ui.requests import PersonRequest
from portal.ui.run_form import RunForm, first_of, form_values, layout_mismatch

# A new run is proposed for a week, from tomorrow.
AHEAD, LENGTH = timedelta(days=1), timedelta(days=7)


@person_page()
def runs(request: PersonRequest) -> HttpResponse:
    """Every run that this person may see; those that are over apart."""
    now = timezone.now()
    page = runs_page(request.user, over=request.GET.get("stage") == "over", now=now)
    plannable = [access.cluster for access in clusters_of(request.user) if access.may_recheck]
    context = {"page": page, "now": now, "plannable": plannable} | foot_of(now=now)
    return render_live(request, "runs", context, marker=marker_of(page.seen))


@person_page("GET", "HEAD", "POST")
def plan_run(request: PersonRequest, slug: str) -> HttpResponse:
    """Plan a run on a cluster; ``?like=`` begins with another run's values."""
    cluster, now = load_cluster_to_plan(request, slug).cluster, timezone.now()
    start = now.replace(minute=0, second=0, microsecond=0) + AHEAD
    initial: dict[str, Any] = {"planned_start": start, "planned_end": start + LENGTH}
    like = load_run(request, name).run if (name := request.GET.get("like")) else None
    if like is not None:
        initial = _like(like, initial)
    form = RunForm(request.POST or None, cluster=cluster, like=like, initial=initial)
    if _sent(request) and form.is_valid():
        given = {"slug": form.cleaned_data["slug"], "spec": form.spec(), "nodes": form.nodes_text}
        run = _told(form, lambda: create_run(cluster=cluster, by=request.user, now=now, **given))
        if run:
            messages.info(request, _("%(run)s is planned. Its gates stay closed until they are signed.") % {"run": run})
            return redirect("ui:run", slug=run.slug)
    return _form_page(request, form, cluster, None)


@person_page("GET", "HEAD", "POST")
def change_run(request: PersonRequest, slug: str) -> HttpResponse:
    """Change a run. What is changed is part of what is signed, so the page says what that costs."""
    run, now = load_run_to_change(request, slug).run, timezone.now()
    form = RunForm(request.POST or None, cluster=run.cluster, run=run, initial=form_values(run))
    if _sent(request) and form.is_valid():
        reason = request.POST.get("reason", "")
        if _told(form, lambda: _change(run, form, by=request.user, reason=reason, now=now)):
            messages.info(request, _("Changed. What was signed about it before no longer counts."))
            return redirect("ui:run", slug=run.slug)
    return _form_page(request, form, run.cluster, run)


@person_page("GET", "HEAD", "POST")
def preview_pool(request: PersonRequest, slug: str) -> HttpResponse:
    """What the nodes and the layout in the form come to, while it is being filled in."""
    cluster = load_cluster_to_plan(request, slug).cluster
    response = render(request, "ui/runs/_preview.html", {"preview": _preview(cluster, request.POST or request.GET)})
    response["X-Live"] = "part"
    return response


def _change(run: Run, form: RunForm, *, by: Any, reason: str, now: datetime) -> Run:
    """Only what is another now, in one act."""
    spec = form.spec().columns()
    changes = {name: value for name, value in spec.items() if value != getattr(run, name)}
    pool = form.nodes_text if form.nodes_text != form.initial["nodes"] else None
    return revise_run(run=run, changes=changes, nodes=pool, by=by, reason=reason, now=now)


def _sent(request: PersonRequest) -> bool:
    """Whether the form was sent to be kept, and not only to be checked."""
    return request.method == "POST" and "check" not in request.POST


def _told(form: RunForm, act: Any) -> Run | None:
    """Do it; what the service refuses stands on the form, nothing of what was typed is lost."""
    try:
        run: Run = act()
    except CountersignError as error:
        form.add_error(None, error.message)
        return None
    return run


def _like(run: Run, moments: dict[str, Any]) -> dict[str, Any]:
    return form_values(run) | {"slug": "", "name": _("%(name)s, again") % {"name": run.name}} | moments


def _preview(cluster: Cluster, given: Any) -> dict[str, Any]:
    """Never an error page: what cannot be read yet is said."""
    numbers = {name: int(text) for name, text in given.items() if text.isdecimal() and len(text) < 10}
    said: dict[str, Any] = {"mismatch": layout_mismatch(numbers), "needed": numbers.get("nodes_needed")}
    try:
        pool = pool_preview(cluster, given.get("nodes", ""), now=timezone.now())
    except CountersignError as error:
        return said | {"error": error.message}
    short = said["needed"] and said["needed"] > pool.ready_now
    return said | {
        "pool": pool,
        "unknown": first_of(pool.unknown),
        "retired": first_of(pool.retired),
        "short": short,
        "per_node": _per_node(numbers),
    }


def _per_node(numbers: dict[str, int]) -> str:
    """Processes on each node, where that comes out even."""
    world, needed = numbers.get("world_size"), numbers.get("nodes_needed")
    if not world or not needed:
        return ""
    if world % needed:
        return _("%(world)d processes do not divide evenly over %(nodes)d nodes") % {"world": world, "nodes": needed}
    return _("%(n)d processes on each node") % {"n": world // needed}


def _form_page(request: PersonRequest, form: RunForm, cluster: Cluster, run: Run | None) -> HttpResponse:
    now = timezone.now()
    given = request.POST or {**form.initial, "nodes": form.initial.get("nodes", "")}
    context = {
        "form": form,
        "cluster": cluster,
        "run": run,
        "signed": run is not None and run.packages.filter(signatures__isnull=False).exists(),
        "preview": _preview(cluster, {name: str(value) for name, value in given.items()}),
        "now": now,
    }
    status = 422 if _sent(request) and form.errors else 200
    response = render(request, "ui/runs/form.html", context | foot_of(now=now), status=status)
    response["Cache-Control"] = "private, no-store"
    return response
