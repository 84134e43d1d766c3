"""One node, and the wish to have it measured again."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from checks.selectors.pages_status import foot_of
from checks.services.rechecks import measurable_items, request_recheck
from portal.ui.answers import answer_of
from portal.ui.guard import person_page
from portal.ui.htmx import POLL_CLOSELY_EVERY_S, POLL_EVERY_S, marker_of, render_live
from portal.ui.loaders import load_node, load_node_to_recheck
from portal.ui.pages.incidents_about import incidents_of_node
from portal.ui.pages.node import node_page
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of


@person_page()
def node(request: PersonRequest, slug: str, hostname: str) -> HttpResponse:
    """May this node take a job, and what is known of it."""
    access, found = load_node(request, slug, hostname)
    now = timezone.now()
    page = node_page(
        access=access,
        node=found,
        answer=answer_of(request.user, access.cluster, [hostname], now=now),
        rules=rules_of(access.cluster, found),
        layer=request.GET.get("layer", ""),
        now=now,
    )
    troubles = incidents_of_node(access, found, now=now)
    may = {"may_recheck": access.may_recheck, "may_decide": access.may_decide}
    context = {"page": page, "troubles": troubles, "now": now, "cluster": access.cluster} | may | foot_of(now=now)
    every_s = POLL_CLOSELY_EVERY_S if page.recheck and page.recheck.open else POLL_EVERY_S
    marker = marker_of(*page.seen, troubles and troubles.seen)
    return render_live(request, "node", context, marker=marker, every_s=every_s)


@person_page("POST")
def recheck(request: PersonRequest, slug: str, hostname: str) -> HttpResponse:
    """Have the node measure one item, or all it can, when its agent calls next."""
    found = load_node_to_recheck(request, slug, hostname)
    item = request.POST.get("item", "")
    items = [item] if item else sorted(measurable_items(found))
    request_recheck(node=found, items=items, requested_by=request.user, now=timezone.now())
    messages.info(request, _("The node measures again when its agent calls next, within a minute as a rule."))
    if item:
        return redirect("ui:node_item", slug=slug, hostname=hostname, item=item)
    return redirect("ui:node", slug=slug, hostname=hostname)
