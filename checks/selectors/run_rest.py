"""Runs as a program with an operator's token sees them: those of the clusters that the token is bound to."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet

from checks.domain.errors import CountersignError
from checks.domain.verdicts import Layer
from checks.models import Cluster, LedgerEntry, Membership, Run, Token
from checks.selectors.gate_context import NoSuchCluster, NoSuchRun
from checks.selectors.packages import PackageView, RunState, package_view, run_state

#: The most rows in one page of a list.
PAGE = 100


class NoSuchOwner(CountersignError):
    """A run belongs to somebody who works in its cluster."""

    code = "no_such_owner"

    def __init__(self, username: str) -> None:
        super().__init__(
            f"Nobody called {username!r} has a role in this cluster; name a run's owner by their user name."
        )


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first; *before* is what to ask for next, None at the end."""

    runs: tuple[Run, ...]
    before: int | None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Some entries, newest first; *before* is the number to ask for next, None at the end."""

    entries: tuple[LedgerEntry, ...]
    before: int | None


def cluster_of_token(token: Token, slug: str) -> Cluster:
    """The open cluster *slug*, where *token* is bound to it.

    Raises:
        NoSuchCluster: there is none, or not for this token.
    """
    found = clusters_of_token(token).filter(slug=slug).first()
    if found is None:
        raise NoSuchCluster(slug)
    return found


def run_of_token(token: Token, slug: str) -> Run:
    """The run *slug*, where *token* is bound to its cluster.

    Raises:
        NoSuchRun: there is none, or not for this token.
    """
    found = _runs_of(token).filter(slug=slug).first()
    if found is None:
        raise NoSuchRun(slug)
    return found


def run_for_evidence(token: Token, slug: str) -> Run:
    """The run *slug*, where *token* may send evidence about it: an operator's of its cluster, or a living node's of it.

    Raises:
        NoSuchRun: there is none, or not for this token.
    """
    if token.node is None:
        return run_of_token(token, slug)
    mine = Run.objects.select_related("cluster", "owner").filter(cluster=token.node.cluster_id, cluster__closed_at=None)
    found = mine.filter(slug=slug).first() if token.node.retired_at is None else None
    if found is None:
        raise NoSuchRun(slug)
    return found


def page_of_runs(token: Token, *, cluster: str = "", stage: str = "", before: int | None = None) -> RunPage:
    """The newest runs that were written down before the one numbered *before*, of one cluster or stage where named."""
    found = _runs_of(token).order_by("-id").prefetch_related("pool")
    wanted = {"cluster__slug": cluster, "stage": stage, "id__lt": before}
    rows = list(found.filter(**{name: value for name, value in wanted.items() if value})[: PAGE + 1])
    return RunPage(tuple(rows[:PAGE]), rows[PAGE - 1].pk if len(rows) > PAGE else None)


def page_of_ledger(run: Run, *, before: int | None = None) -> LedgerPage:
    """The newest acts about *run*, its layers, waivers and starts, with numbers below *before*."""
    about = Q(target=run.slug) | Q(target__startswith=f"{run.slug}/") | Q(target__startswith=f"{run.slug} ")
    found = LedgerEntry.objects.filter(about, cluster_id=run.cluster_id).order_by("-seq")
    rows = list((found if before is None else found.filter(seq__lt=before))[: PAGE + 1])
    return LedgerPage(tuple(rows[:PAGE]), rows[PAGE - 1].seq if len(rows) > PAGE else None)


def owner_named(cluster: Cluster, username: str) -> Any:
    """The active person called *username* who has a role in *cluster*.

    Raises:
        NoSuchOwner: there is none.
    """
    members = Membership.objects.filter(cluster=cluster).values("user")
    found = get_user_model().objects.filter(username=username, is_active=True, pk__in=members).first()
    if found is None:
        raise NoSuchOwner(username)
    return found


def state_and_packages(run: Run, *, now: datetime) -> tuple[RunState, dict[Layer, PackageView]]:
    """What there is to sign of *run* now, layer by layer."""
    state = run_state(run, now=now)
    return state, {layer: package_view(state, layer) for layer in Layer}


def clusters_of_token(token: Token) -> QuerySet[Cluster]:
    """The open clusters that *token* is bound to."""
    bound = Q(pk=token.cluster_id) | Q(pk__in=token.clusters.values("pk"))
    return Cluster.objects.filter(bound, closed_at=None)


def _runs_of(token: Token) -> QuerySet[Run]:
    return Run.objects.select_related("cluster", "owner").filter(cluster__in=clusters_of_token(token))
