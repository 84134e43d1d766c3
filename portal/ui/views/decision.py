"""One decision about one node: its consequence first, then the act."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from checks.domain.errors import CountersignError
from checks.models import Node
from checks.selectors.pages_status import foot_of
from portal.ui.decisions import Decision, decision_of, refused
from portal.ui.forms import DecisionForm
from portal.ui.guard import person_page
from portal.ui.loaders import load_node_to_decide
from portal.ui.requests import PersonRequest


@person_page("GET", "HEAD", "POST")
def decision(request: PersonRequest, slug: str, hostname: str, key: str) -> HttpResponse:
    """Say what follows and ask for a reason; a POST does it, or says that somebody was faster."""
    node = load_node_to_decide(request, slug, hostname)
    part = (request.POST if request.method == "POST" else request.GET).get("part", "")
    chosen = decision_of(key, node, part)
    if chosen is None:
        raise Http404
    form = DecisionForm(request.POST or None, initial={"seen": node.unconfirmed_serials})
    if request.method == "POST" and form.is_valid():
        _decide(request, chosen, node, form)
        return redirect("ui:node", slug=slug, hostname=hostname)
    now = timezone.now()
    context = {"decision": chosen, "node": node, "cluster": node.cluster, "part": part, "form": form, "now": now}
    status = 422 if form.is_bound else 200
    return render(request, "ui/decision/page.html", context | foot_of(now=now), status=status)


def _decide(request: PersonRequest, chosen: Decision, node: Node, form: DecisionForm) -> None:
    reason, seen = form.cleaned_data["reason"], form.cleaned_data["seen"] or {}
    what_was_seen = {"seen": seen} if chosen.key == "confirm" else {}
    try:
        chosen.act(node=node, by=request.user, reason=reason, now=timezone.now(), **what_was_seen)
    except CountersignError as refusal:
        node.refresh_from_db(fields=["reenrol_until"])
        messages.warning(request, refused(refusal, node))
    else:
        messages.success(request, chosen.done)
