"""Telling that a run started, came back or goes on with a spare; schedulers tell the same over REST."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checks.models import Run, Stage
from checks.selectors.nodesets import fold_node_set
from checks.selectors.runs import pool_of, start_of
from checks.services.starts import note_restart, note_start, replace_node
from portal.ui.act_forms import reason_field
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_run_to_change
from portal.ui.requests import PersonRequest


def nodes_field(**options: Any) -> forms.CharField:
    """A node set."""
    return forms.CharField(
        **options,
        max_length=20_000,
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
        help_text=gettext_lazy("As Slurm writes them, for example gpu[001-064]."),
    )


class StartForm(forms.Form):
    """Where it started."""

    nodes = nodes_field(label=gettext_lazy("Nodes it started on"))


class RestartForm(forms.Form):
    """Where it came back, and why it had to."""

    nodes = nodes_field(label=gettext_lazy("Nodes it came back on"))
    reason = reason_field()


class ReplacementForm(forms.Form):
    """Which node went, and which came."""

    old = forms.CharField(label=gettext_lazy("Node that is taken out"), max_length=253)
    new = forms.CharField(
        label=gettext_lazy("Node that takes its place"),
        max_length=253,
        help_text=gettext_lazy("One of the run's pool."),
    )
    reason = reason_field()


@person_page("GET", "HEAD", "POST")
def tell_start(request: PersonRequest, slug: str) -> HttpResponse:
    """Note a start: the gate is asked once more, and what stands then is kept for every restart."""
    run = _led(request, slug)
    form = StartForm(posted(request), initial={"nodes": fold_node_set(node.hostname for node in pool_of(run))})
    act = _act(
        run,
        _("Tell that it started"),
        _(
            "The gate is asked for exactly these nodes. If it is open, the run is running from now on, and may come "
            "back after an interruption without new signatures."
        ),
    )
    refused = _("It runs already: tell that it came back instead.") if run.stage == Stage.RUNNING else ""
    return act_page(
        request,
        act,
        form,
        lambda: note_start(run=run, nodes=form.cleaned_data["nodes"], by=request.user, now=timezone.now()),
        refused=refused,
    )


@person_page("GET", "HEAD", "POST")
def tell_restart(request: PersonRequest, slug: str) -> HttpResponse:
    """Note that a run came back after an interruption."""
    run = _led(request, slug)
    form = RestartForm(posted(request), initial={"nodes": fold_node_set(_running_on(run))})
    act = _act(
        run,
        _("Tell that it came back"),
        _("The gate is asked whether these nodes are healthy and still what was signed; no new signature is needed."),
    )
    return act_page(
        request,
        act,
        form,
        lambda: note_restart(run=run, by=request.user, now=timezone.now(), **form.cleaned_data),
        refused=_not_started(run),
    )


@person_page("GET", "HEAD", "POST")
def tell_replacement(request: PersonRequest, slug: str) -> HttpResponse:
    """Note that a node of the pool took the place of one that the run ran on."""
    run = _led(request, slug)
    form = ReplacementForm(posted(request))
    running = _running_on(run)
    spare = [node.hostname for node in pool_of(run) if node.hostname not in running and node.retired_at is None]
    act = _act(
        run,
        _("Put a spare in"),
        _("The gate is asked whether the new node is healthy and still what was signed; no new signature is needed."),
        (_("Runs on"), fold_node_set(running) or "—"),
        (_("Rest of the pool"), fold_node_set(spare) or "—"),
    )
    return act_page(
        request,
        act,
        form,
        lambda: replace_node(run=run, by=request.user, now=timezone.now(), **form.cleaned_data),
        refused=_not_started(run),
    )


def _led(request: PersonRequest, slug: str) -> Run:
    """The run, for who answers for it: its owner, a lead or an administrator."""
    access = load_run_to_change(request, slug)
    if not access.leads:
        raise PermissionDenied
    return access.run


def _running_on(run: Run) -> tuple[str, ...]:
    latest = run.starts.first()
    return tuple(latest.hostnames) if latest else ()


def _not_started(run: Run) -> str:
    return "" if start_of(run) else _("It has not started yet: tell that first.")


def _act(run: Run, title: str, consequence: str, *facts: tuple[str, str]) -> Act:
    return Act(
        title=title,
        consequence=consequence,
        submit=_("Tell it"),
        done=_("Noted."),
        back=reverse("ui:run", args=[run.slug]),
        cluster=run.cluster,
        run=run,
        facts=facts,
        asks_proof=False,
    )
