"""The four ways to look at drift, each as one page: a cohort, a node, A against B, and a run since it was signed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from checks.domain.drift.between import contrasts, shared_changes
from checks.domain.drift.cohort import cohort_drift, oddities
from checks.models import Cluster, Node, Run
from checks.selectors.drift_moments import last_good_run_of, last_signed, last_signed_of_node, last_start
from checks.selectors.fingerprints import (
    Prints,
    cohort_of,
    noise_in_force,
    prints_at,
    prints_now,
    prints_since,
    profiles_in,
)
from checks.selectors.rules import profile_of
from checks.selectors.runs import pool_of
from portal.ui.loaders import load_cluster, load_node, load_run
from portal.ui.pages.drift import Items, Row, change_rows, cohort_rows, contrast_rows, oddity_rows
from portal.ui.requests import PersonRequest

RUN = "run/"
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class DriftPage:
    """What one way to look found. ``counts`` are words and numbers for the head of the page."""

    title: str
    says: str
    usual: str
    other: str
    cluster: Cluster
    rows: Sequence[Row]
    prints: tuple[Prints, ...]
    equal: int | None = None
    noise: int | None = None
    unlike: int = 0
    one_sided: int = 0
    more: tuple["Section", ...] = ()
    moments: tuple[tuple[str, str, bool], ...] = ()
    profiles: tuple[str, ...] = ()

    @property
    def known(self) -> int:
        """Nodes whose settings are known, on the newest side."""
        return sum(len(one.prints) for one in self.prints)

    @property
    def asked(self) -> int:
        """Nodes that were looked at."""
        return sum(one.asked for one in self.prints)

    @property
    def oldest(self) -> tuple[str, datetime] | None:
        """Who was not heard of for longest."""
        return min((one.oldest for one in self.prints if one.oldest), key=lambda one: one[1], default=None)


@dataclass(frozen=True, slots=True)
class Section:
    """Another table of the same page."""

    title: str
    says: str
    usual: str
    other: str
    rows: Sequence[Row]
    empty: str


@dataclass(frozen=True, slots=True)
class Side:
    """A cluster, or a run: nodes, their fingerprints, and what they are called."""

    key: str
    title: str
    cluster: Cluster
    prints: Prints


def side_of(request: PersonRequest, key: str) -> Side:
    """The side that *key* names: a cluster's short name, or ``run/NAME``; another's is not found."""
    if not key.startswith(RUN):
        cluster = load_cluster(request, key).cluster
        return Side(key, cluster.slug, cluster, prints_now(cohort_of(cluster, cluster.profile)))
    run = load_run(request, key.removeprefix(RUN)).run
    pool, started = [node.pk for node in pool_of(run)], last_start(run)
    return Side(key, run.slug, run.cluster, prints_now(pool) if started is None else prints_at(pool, started))


def cohort_page(cluster: Cluster, profile: str) -> DriftPage:
    """The nodes of one hardware profile against one another."""
    profiles = profiles_in(cluster)
    if profile and profile not in profiles:
        raise Http404
    prints = prints_now(cohort_of(cluster, profile or cluster.profile))
    found = cohort_drift(prints.prints, noise_in_force().covers)
    return DriftPage(
        title=cluster.slug,
        says=_("each node against its cohort: the nodes of one hardware profile"),
        usual=_("Most nodes"),
        other=_("The others"),
        cluster=cluster,
        rows=list(cohort_rows(found, Items(cluster))),
        prints=(prints,),
        equal=found.equal,
        noise=found.noise,
        unlike=len(found.divided),
        profiles=profiles,
    )


def between_page(a: Side, b: Side) -> DriftPage:
    """A against B."""
    sides = a.prints, b.prints
    found = contrasts(a.prints.prints, b.prints.prints, noise_in_force().covers)
    return DriftPage(
        title=_("%(a)s against %(b)s") % {"a": a.title, "b": b.title},
        says=_("what is one thing throughout A and another throughout B comes first"),
        usual=a.title,
        other=b.title,
        cluster=b.cluster,
        rows=list(contrast_rows(found, Items(b.cluster))),
        prints=sides,
        equal=found.equal,
        noise=found.noise,
        unlike=found.unlike,
        one_sided=found.one_sided,
    )


def node_page(request: PersonRequest, slug: str, hostname: str, since: str, *, now: datetime) -> DriftPage:
    """One node against its cohort, and against itself at a moment that matters."""
    access, node = load_node(request, slug, hostname)
    cluster = access.cluster
    prints, items = prints_now(cohort_of(cluster, profile_of(cluster, node))), Items(cluster)
    mine = next((one for one in prints.prints if one.node == hostname), None)
    covers = noise_in_force().covers
    found = oddities(mine, prints.prints, covers) if mine is not None else ()
    moments = _moments_of(node, now)
    chosen = since if since in moments else next(iter(moments))
    then = prints_since([node.pk], moments[chosen][1])
    changed = shared_changes(then.before.prints, then.after.prints, covers)
    itself = Section(
        title=_("Against itself"),
        says=moments[chosen][0],
        usual=_("Then"),
        other=_("Now"),
        rows=list(change_rows(changed, 1, items)),
        empty=_("Nothing changed since.") if then.before.prints else _("It had told nothing by then."),
    )
    return DriftPage(
        title=hostname, says=_("this node against its cohort, and against itself"), usual=_("Most nodes"),
        other=hostname, cluster=cluster, rows=list(oddity_rows(found, items)), prints=(prints,), more=(itself,),
        moments=tuple((key, said, key == chosen) for key, (said, _at) in moments.items()),
    )  # fmt: skip


def run_page(run: Run) -> DriftPage:
    """The nodes of a run, now against the moment of its newest signature; of its start where nobody signed."""
    at, pool = last_signed(run), [node.pk for node in pool_of(run)]
    says = _("what changed on its nodes since the newest signature")
    if at is None:
        at, says = last_start(run), _("what changed on its nodes since its start")
    if at is None:
        at, says = run.created_at, _("what changed on its nodes since it was planned: nobody has signed yet")
    then = prints_since(pool, at)
    found = shared_changes(then.before.prints, then.after.prints, noise_in_force().covers)
    return DriftPage(
        title=run.slug, says=says, usual=_("Then"), other=_("Now"), cluster=run.cluster,
        rows=list(change_rows(found, len(then.before.prints), Items(run.cluster))), prints=(then.after,),
    )  # fmt: skip


def _moments_of(node: Node, now: datetime) -> dict[str, Any]:
    """Moments to compare a node with, by key: what they are called, and when."""
    moments: dict[str, Any] = {}
    signed, good = last_signed_of_node(node), last_good_run_of(node)
    if signed is not None:
        moments["signed"] = (_("since the newest signature"), signed)
    if good is not None:
        moments["run"] = (_("since the last good run, %(run)s") % {"run": good.run.slug}, good.at)
    return moments | {
        "day": (_("since a day ago"), now - timedelta(days=1)),
        "week": (_("since a week ago"), now - WEEK),
        "month": (_("since 30 days ago"), now - timedelta(days=30)),
    }
