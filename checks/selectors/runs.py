"""Runs as one person sees them, and what a node set would make of a pool."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checks.domain.verdicts import Purpose
from checks.models import OVER, Cluster, Node, Role, Run, RunStart, Stage, StartKind
from checks.selectors.gate_context import NoSuchRun, context_of_cluster
from checks.selectors.nodesets import parse_node_set
from checks.selectors.pages_access import ACTING_ROLES, clusters_of
from checks.selectors.readiness import answer_in
from checks.selectors.roles import roles_of

# Who answers for a run beside its owner.
LEADING_ROLES = frozenset({Role.LEAD, Role.ADMIN})
# Stages that say "go", "it goes" and "never": not for everybody who works on the machines.
LED_STAGES = frozenset({Stage.CLEARED, Stage.RUNNING, Stage.ABORTED})


@dataclass(frozen=True, slots=True)
class RunAccess:
    """One run, and what one person is in its cluster."""

    run: Run
    roles: frozenset[str]
    is_owner: bool

    @property
    def may_edit(self) -> bool:
        """Whether this person may change the run, as far as its stage lets anybody."""
        return bool(self.roles & ACTING_ROLES) and self.run.stage not in OVER

    @property
    def may_reckon(self) -> bool:
        """Whether this person may keep estimates and bills with the run: bills come when it is over."""
        return bool(self.roles & ACTING_ROLES)

    @property
    def leads(self) -> bool:
        """Whether this person may clear, start and abort the run."""
        return bool(self.roles & LEADING_ROLES) or (self.is_owner and bool(self.roles & ACTING_ROLES))


@dataclass(frozen=True, slots=True)
class PoolPreview:
    """What a node set names: enrolled nodes of the cluster, names that nobody enrolled, nodes taken out, ready ones."""

    nodes: tuple[str, ...]
    unknown: tuple[str, ...]
    retired: tuple[str, ...]
    ready_now: int


def get_run_for(user: Any, slug: str) -> RunAccess:
    """The run *slug* as *user* sees it.

    Raises:
        NoSuchRun: there is none, or not for this person.
    """
    found = Run.objects.select_related("cluster", "owner").filter(slug=slug, cluster__closed_at=None).first()
    roles = roles_of(user, found.cluster) if found else frozenset()
    if found is None or not roles:
        raise NoSuchRun(slug)
    return RunAccess(found, roles, found.owner_id == user.pk)


def runs_of(user: Any) -> tuple[RunAccess, ...]:
    """Every run of the open clusters in which *user* has a role, the latest start first."""
    accesses = {access.cluster.pk: access for access in clusters_of(user)}
    runs = Run.objects.select_related("cluster", "owner").filter(cluster__in=accesses)
    return tuple(RunAccess(run, accesses[run.cluster_id].roles, run.owner_id == user.pk) for run in runs)


def pool_of(run: Run) -> tuple[Node, ...]:
    """The nodes that the run may use, by name; those that were taken out since are among them."""
    return tuple(Node.objects.filter(runs=run).order_by("hostname"))


def start_of(run: Run) -> RunStart | None:
    """The start that a restart is asked against."""
    return RunStart.objects.filter(run=run, kind=StartKind.START).first()


def pool_preview(cluster: Cluster, nodes: str, *, now: datetime) -> PoolPreview:
    """What the pool *nodes* (a node set as Slurm writes it) would be.

    Raises:
        BadNodeSet: the text is no node set.
    """
    names = tuple(dict.fromkeys(name.lower() for name in parse_node_set(nodes)))
    found = dict(Node.objects.filter(cluster=cluster, hostname__in=names).values_list("hostname", "retired_at"))
    living = tuple(name for name in names if name in found and found[name] is None)
    return PoolPreview(
        nodes=living,
        unknown=tuple(name for name in names if name not in found),
        retired=tuple(name for name in names if found.get(name) is not None),
        ready_now=_healthy(cluster, living, now) if living else 0,
    )


def _healthy(cluster: Cluster, names: tuple[str, ...], now: datetime) -> int:
    """How many the gate calls healthy now."""
    context = context_of_cluster(cluster, now=now)
    return len(answer_in(context, nodes=names, purpose=Purpose.HEALTH, run=None, now=now).ready_nodes)
