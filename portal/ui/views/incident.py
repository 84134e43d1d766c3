"""One incident, its files, and everything that people do to it."""

from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import FileResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.domain.incidents.kinds import Opener, Standing
from checks.models import Cluster, Incident, IncidentAttachment
from checks.selectors.incidents import incident_for
from checks.selectors.pages_status import foot_of
from checks.services.attested_files import MOST_BYTES, MOST_FILES, SentFile
from checks.services.incident_files import attach_files
from checks.services.incident_links import link_item
from checks.services.incident_opening import Opened, Opening, open_incident
from checks.services.incident_records import Author
from checks.services.incidents import merge_incident, move_incident, note_on_incident, revise_incident
from portal.ui.acting import Act, act_page, posted
from portal.ui.guard import person_page
from portal.ui.incident_forms import FilesForm, IncidentForm, LinkForm, MergeForm, NoteForm, StandingForm, values_of
from portal.ui.kept_files import kept_file
from portal.ui.loaders import load_cluster_to_plan, load_incident, load_incident_to_act
from portal.ui.pages.incident import incident_page
from portal.ui.requests import PersonRequest


@person_page()
def incident(request: PersonRequest, number: int) -> HttpResponse:
    """What it cost, which items saw it, what is done about it, and what happened when."""
    access, now = load_incident(request, number), timezone.now()
    return render(request, "ui/incident/page.html", {"page": incident_page(access), "now": now} | foot_of(now=now))


@person_page()
def incident_file(request: PersonRequest, number: int, digest: str) -> FileResponse:
    """A file beside an incident, as it was sent: shown by no page, handed over as a file."""
    return kept_file(
        IncidentAttachment.objects.filter(incident=load_incident(request, number).incident, digest=digest).first()
    )


@person_page("GET", "HEAD", "POST")
def open_new(request: PersonRequest, slug: str) -> HttpResponse:
    """Write an incident down."""
    cluster, now = load_cluster_to_plan(request, slug).cluster, timezone.now()
    begun = {name: request.GET[name] for name in ("title", "nodes", "run", "component") if name in request.GET}
    form = IncidentForm(posted(request), cluster=cluster, initial={"started_at": now, "detected_at": now} | begun)
    act = Act(
        title=_("Open an incident"),
        consequence=_(
            "From now on its time counts. The same class of error in the same part joins the incident that is open for "
            "it, or opens the one again that ended within 90 days."
        ),
        submit=_("Open it"),
        done=_("It is written down."),
        back=reverse("ui:incidents"),
        cluster=cluster,
        asks_proof=False,
    )
    made: list[Opened] = []
    response = act_page(request, act, form, lambda: made.append(_opened(request, cluster, form)))
    return redirect("ui:incident", number=made[0].incident.pk) if made else response


def _opened(request: PersonRequest, cluster: Cluster, form: IncidentForm) -> Opened:
    opening = Opening(**form.columns(), touched=form.cleaned_data["nodes"])
    return open_incident(
        cluster=cluster, opening=opening, source=Opener.PERSON.value, author=Author(request.user), now=timezone.now()
    )


@person_page("GET", "HEAD", "POST")
def change_incident(request: PersonRequest, number: int) -> HttpResponse:
    """Correct what is known of it."""
    held = load_incident_to_act(request, number).incident
    form = IncidentForm(posted(request), cluster=held.cluster, initial=values_of(held))
    act = _act(
        held, _("Correct %(incident)s"), _("Correct it"), _("Corrected."),
        _("What was there before stands in the timeline, beside what you write."),
    )  # fmt: skip
    return act_page(
        request, act, form,
        lambda: revise_incident(
            incident=held, changes=form.columns(), touched=form.cleaned_data["nodes"], author=Author(request.user),
            now=timezone.now(),
        ),
    )  # fmt: skip


@person_page("GET", "HEAD", "POST")
def note(request: PersonRequest, number: int) -> HttpResponse:
    """Add a line to its timeline."""
    held = load_incident_to_act(request, number).incident
    form = NoteForm(posted(request), cluster=held.cluster)
    act = _act(
        held, _("Add to the timeline of %(incident)s"), _("Add it"), _("Added."),
        _("A line stays as it was written; a mistake is corrected by another line."),
    )  # fmt: skip
    return act_page(
        request, act, form,
        lambda: note_on_incident(
            incident=held, text=form.cleaned_data["text"], at=form.cleaned_data["at"], author=Author(request.user),
            now=timezone.now(),
        ),
    )  # fmt: skip


_SAYS = {
    Standing.STABLE: (
        lambda: _("%(incident)s is stable"),
        lambda: _("The trouble has ended: from then on it costs nothing more. It can be looked through in peace."),
    ),
    Standing.CLOSED: (
        lambda: _("Close %(incident)s"),
        lambda: _("It was looked through. The same trouble within 90 days opens it again, with its actions."),
    ),
    Standing.OPEN: (
        lambda: _("%(incident)s is not over"),
        lambda: _("It is open again, and its time counts on from its start."),
    ),
}


@person_page("GET", "HEAD", "POST")
def move(request: PersonRequest, number: int, to: str) -> HttpResponse:
    """Say where it stands now."""
    held = load_incident_to_act(request, number).incident
    if to not in {one.value for one in _SAYS}:
        raise Http404
    standing = Standing(to)
    title, consequence = _SAYS[standing]
    form = StandingForm(posted(request), cluster=held.cluster, dated=standing is Standing.STABLE)
    act = _act(held, title(), _("Say so"), _("Written down."), consequence())
    return act_page(
        request, act, form,
        lambda: move_incident(
            incident=held, to=standing, author=Author(request.user), now=timezone.now(), **form.cleaned_data
        ),
    )  # fmt: skip


@person_page("GET", "HEAD", "POST")
def link(request: PersonRequest, number: int) -> HttpResponse:
    """Say what an item of the checklist was to it."""
    held = load_incident_to_act(request, number).incident
    form = LinkForm(posted(request), cluster=held.cluster, initial={"item": request.GET.get("item", "")})
    act = _act(
        held, _("Which item saw %(incident)s?"), _("Link it"), _("Linked."),
        _("The item's page counts it, and its back-test takes the days before it as days that should have warned."),
    )  # fmt: skip
    return act_page(
        request, act, form,
        lambda: link_item(incident=held, linking=form.linking(), author=Author(request.user), now=timezone.now()),
    )  # fmt: skip


@person_page("GET", "HEAD", "POST")
def merge(request: PersonRequest, number: int) -> HttpResponse:
    """Say that it is the same trouble as another one."""
    held = load_incident_to_act(request, number).incident
    form = MergeForm(posted(request))
    act = _act(
        held, _("%(incident)s is the same as another"), _("Merge it"), _("Merged."),
        _("The other one takes its machines, its items and its first moments. What was lost is counted once."),
    )  # fmt: skip
    return act_page(request, act, form, lambda: _merge(request, held, form))


def _merge(request: PersonRequest, held: Incident, form: MergeForm) -> object:
    now = timezone.now()
    into = incident_for(request.user, form.cleaned_data["into"], now=now).incident
    return merge_incident(
        incident=held, into=into, author=Author(request.user), reason=form.cleaned_data["reason"], now=now
    )


@person_page("GET", "HEAD", "POST")
def attach(request: PersonRequest, number: int) -> HttpResponse:
    """Keep pictures or PDFs with it."""
    held = load_incident_to_act(request, number).incident
    form = FilesForm(posted(request), request.FILES or None)
    act = _act(
        held, _("Add files to %(incident)s"), _("Add them"), _("Added."),
        _("Each is kept as it is, by what its bytes say it is, and handed out as a file only."), uploads=True,
    )  # fmt: skip
    return act_page(
        request, act, form,
        lambda: attach_files(
            incident=held, files=_sent(form), author=Author(request.user), now=timezone.now()
        ),
    )  # fmt: skip


def _sent(form: FilesForm) -> list[SentFile]:
    """No more of each is read than could be kept."""
    sent = form.cleaned_data["pictures"][: MOST_FILES + 1]
    return [SentFile(each.name, each.read(MOST_BYTES + 1)) for each in sent]


def _act(held: Incident, title: str, submit: str, done: str, consequence: str, **more: Any) -> Act:
    return Act(
        title=title % {"incident": held}, consequence=consequence, submit=submit, done=done,
        back=reverse("ui:incident", args=[held.pk]), cluster=held.cluster,
        facts=((_("Incident"), f"{held}, {held.title}"),), asks_proof=False, **more,
    )  # fmt: skip
