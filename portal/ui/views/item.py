"""One item: on one node, and over all nodes of a cluster."""

from django.http import Http404, HttpResponse
from django.utils import timezone

from checks.selectors.pages_status import foot_of
from portal.ui.guard import person_page
from portal.ui.htmx import POLL_CLOSELY_EVERY_S, POLL_EVERY_S, marker_of, render_live
from portal.ui.loaders import load_cluster, load_node
from portal.ui.pages.item import item_page, node_item_page
from portal.ui.pages.learning import learning_of
from portal.ui.requests import PersonRequest
from portal.ui.rules import rules_of
from portal.ui.stating import state_href
from portal.ui.words import WORST_FIRST


@person_page()
def node_item(request: PersonRequest, slug: str, hostname: str, item: str) -> HttpResponse:
    """Value, threshold, age, consequence, remedy and raw evidence of one item on one node."""
    access, node = load_node(request, slug, hostname)
    rules, now = rules_of(access.cluster, node).get(item), timezone.now()
    if rules is None:
        raise Http404
    page = node_item_page(access=access, node=node, rules=rules, subject=request.GET.get("subject"), now=now)
    if page is None:
        raise Http404
    stated = state_href(rules.item, access.cluster, access.roles, node=hostname)
    may = {"may_recheck": access.may_recheck, "may_decide": access.may_decide, "state_href": stated}
    context = {"page": page, "now": now, "cluster": access.cluster} | may | foot_of(now=now)
    every_s = POLL_CLOSELY_EVERY_S if page.recheck and page.recheck.open else POLL_EVERY_S
    return render_live(request, "node_item", context, marker=marker_of(*page.seen), every_s=every_s)


@person_page()
def item(request: PersonRequest, slug: str, item: str) -> HttpResponse:
    """Which nodes an item holds on, worst first."""
    access, now = load_cluster(request, slug), timezone.now()
    rules, only = rules_of(access.cluster).get(item), request.GET.get("verdict", "")
    if rules is None:
        raise Http404
    page = item_page(
        access=access,
        rules=rules,
        only=only if only in WORST_FIRST else "",
        number=request.GET.get("page", "1"),
        now=now,
    )
    stated = state_href(rules.item, access.cluster, access.roles, run=request.GET.get("run", ""))
    learned = learning_of(access.cluster, rules, now=now)
    context = {
        "page": page, "now": now, "state_href": stated, "learning": learned,
        "may_accept": access.may_decide,
    } | foot_of(now=now)  # fmt: skip
    return render_live(request, "item", context, marker=marker_of(*page.seen, *learned.seen))
