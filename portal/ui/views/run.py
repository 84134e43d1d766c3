"""One run, and its way from stage to stage."""

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.models import Stage
from checks.selectors.pages_status import foot_of
from checks.services.runs import MOVES, move_stage
from portal.ui.act_forms import StageForm
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.htmx import marker_of, render_live
from portal.ui.loaders import load_run, load_run_to_change
from portal.ui.pages.incidents_about import incidents_of_run
from portal.ui.pages.run import gate_url, run_page
from portal.ui.pages.run_outlook import run_outlook
from portal.ui.requests import PersonRequest


@person_page()
def run(request: PersonRequest, slug: str) -> HttpResponse:
    """May this run start on these nodes, now; and if not, what is missing and who can give it."""
    access, now = load_run(request, slug), timezone.now()
    page = run_page(user=request.user, access=access, now=now)
    outlook = run_outlook(access.run, now=now)
    troubles = incidents_of_run(access, now=now)
    context = {"page": page, "outlook": outlook, "troubles": troubles, "now": now} | foot_of(now=now)
    marker = marker_of(*page.seen, *outlook.seen, troubles and troubles.seen)
    return render_live(request, "run", context | {"gate_url": gate_url(access.run)}, marker=marker)


@person_page("GET", "HEAD", "POST")
def change_stage(request: PersonRequest, slug: str) -> HttpResponse:
    """Move the run on, or back; running comes from a start that was told, and from nowhere else."""
    found = load_run_to_change(request, slug).run
    ways = [(stage.value, stage.label) for stage in Stage if stage in MOVES[found.stage]]
    if not ways:
        raise PermissionDenied
    form = StageForm(posted(request), stages=ways)
    act = Act(
        title=_("Move the run on"),
        consequence=_("People plan by a run's stage; the gate asks for evidence and signatures all the same."),
        submit=_("Move it"),
        done=_("Moved."),
        back=reverse("ui:run", args=[slug]),
        cluster=found.cluster,
        run=found,
        asks_proof=False,
        facts=((_("Now"), str(Stage(found.stage).label)),),
    )
    return act_page(
        request,
        act,
        form,
        lambda: move_stage(run=found, by=request.user, now=timezone.now(), **form.cleaned_data),
    )
