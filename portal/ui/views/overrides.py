"""A gate forced open by one person, loudly; and closed again before its time."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.forcing import name_of
from checks.models import Override, Run
from checks.selectors.packages import run_state
from checks.selectors.runs import LEADING_ROLES, RunAccess
from checks.services.overrides import blockers_now, end_override, force_open
from portal.ui.act_forms import OverrideForm, ReasonForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.loaders import load_run_to_change
from portal.ui.pages.run import accepted_said
from portal.ui.requests import PersonRequest
from portal.ui.step_up import fresh_proof, step_up


@person_page("GET", "HEAD", "POST")
@step_up
def open_by_force(request: PersonRequest, slug: str) -> HttpResponse:
    """Force the gate open past exactly what stands in the way now, which the page lists."""
    run, now = _led(request, slug).run, timezone.now()
    state = run_state(run, now=now)
    blockers = blockers_now(run, now=now)
    accepted, shown = [accepted_said(state, entry) for entry in blockers], name_of(blockers)
    form = OverrideForm(posted(request), initial={"shown": shown})
    more: dict[str, object] = {"accepted": accepted, "include": "ui/act/_accepted.html"}
    if not accepted:
        more["refused"] = _("Nothing is in the way that could be accepted; the gate needs no force.")
    return act_page(
        request,
        _forcing(run),
        form,
        lambda: _force(request, run, form, shown),
        **more,
    )


def _force(request: PersonRequest, run: Run, form: OverrideForm, shown_now: str) -> None:
    """Do it; where the list has changed, the form that comes back stands for the new one."""
    seen = form.cleaned_data["shown"]
    form.data = {**request.POST.dict(), "shown": shown_now}
    force_open(
        run=run,
        by=request.user,
        reason=form.cleaned_data["reason"],
        ticket=form.cleaned_data["ticket"],
        until=form.until(timezone.now()),
        proof=fresh_proof(request),
        now=timezone.now(),
        shown=seen,
    )


@person_page("GET", "HEAD", "POST")
@step_up
def close_again(request: PersonRequest, slug: str, number: int) -> HttpResponse:
    """Take an override back: the gate decides on its merits from then on."""
    run, now = _led(request, slug).run, timezone.now()
    found = Override.objects.select_related("run__cluster").filter(run=run, pk=number, until__gte=now, end=None).first()
    if found is None:
        raise Http404
    form = ReasonForm(posted(request))
    act = Act(
        title=_("End the override"),
        consequence=_(
            "The gate decides on its merits again from this second on; a run that runs is not stopped by it."
        ),
        submit=_("End it"),
        done=_("Ended. The gate decides on its merits again."),
        back=reverse("ui:run", args=[slug]),
        cluster=run.cluster,
        run=run,
        facts=((_("Ticket"), found.ticket), (_("Reason"), found.reason)),
    )
    return act_page(
        request,
        act,
        form,
        lambda: end_override(
            override=found,
            by=request.user,
            reason=form.cleaned_data["reason"],
            proof=fresh_proof(request),
            now=timezone.now(),
        ),
    )


def _forcing(run: Run) -> Act:
    return Act(
        title=_("Force the gate open"),
        consequence=_(
            "Schedulers may start this run although it is not ready; everybody concerned is told at once. The record "
            "never shows it as signed. It ends by its time, with anything new in the way, or with another pool."
        ),
        submit=_("Force it open"),
        done=_("Forced open. Everybody concerned is told."),
        back=reverse("ui:run", args=[run.slug]),
        cluster=run.cluster,
        run=run,
        danger=True,
    )


def _led(request: PersonRequest, slug: str) -> RunAccess:
    access = load_run_to_change(request, slug)
    if not access.roles & LEADING_ROLES:
        raise PermissionDenied
    return access
