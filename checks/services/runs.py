"""Runs: written down, changed and moved on by people of the cluster. Each act is in the ledger."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from checks.domain.errors import CountersignError
from checks.models import OVER, Cluster, Node, Run, RunNode, Signature, Stage
from checks.selectors.nodesets import fold_node_set, parse_node_set
from checks.selectors.packages import run_state
from checks.selectors.pages_access import ACTING_ROLES
from checks.selectors.runs import LEADING_ROLES, LED_STAGES, pool_of
from checks.services.ledger import write_entry
from checks.services.link_items import judge_links_of
from checks.services.permissions import require_prose, require_reason, require_role
from checks.services.run_judging import audited_items, judge_run_items
from checks.services.run_spec import SPEC_FIELDS, InvalidRun, RunSpec, check_run

#: Where a run may go from where it is. *running* comes from a start that was told, and from nowhere else.
MOVES: Final[Mapping[str, frozenset[str]]] = {
    Stage.DRAFT: frozenset({Stage.CHECKING, Stage.ABORTED}),
    Stage.CHECKING: frozenset({Stage.DRAFT, Stage.REHEARSING, Stage.SIGNOFF, Stage.ABORTED}),
    Stage.REHEARSING: frozenset({Stage.CHECKING, Stage.SIGNOFF, Stage.ABORTED}),
    Stage.SIGNOFF: frozenset({Stage.CHECKING, Stage.REHEARSING, Stage.CLEARED, Stage.ABORTED}),
    Stage.CLEARED: frozenset({Stage.CHECKING, Stage.SIGNOFF, Stage.ABORTED}),
    Stage.RUNNING: frozenset({Stage.FINISHED, Stage.ABORTED}),
    Stage.FINISHED: frozenset(),
    Stage.ABORTED: frozenset(),
}
# What may change in a run that is on its way: what it is called and whose it is, not what was signed.
_UNSIGNED_FIELDS: Final = frozenset({"name", "owner"})
_FIXED: Final = OVER | {Stage.RUNNING}
# Parts of a run that audited evidence is held against.
_AUDITED: Final = frozenset({"artefacts", "planned_start", "planned_end"})
_NAMES_SHOWN = 10
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class RunNameTaken(CountersignError):
    """Another run of the site has that name, maybe in a cluster that the asker does not know."""

    code = "run_name_taken"
    status = 409


class RunIsFixed(CountersignError):
    """Its stage lets nothing of the kind change any more."""

    code = "run_is_fixed"
    status = 409


class MoveRefused(CountersignError):
    """From where the run is, it cannot go there."""

    code = "move_refused"
    status = 409


class BadPool(CountersignError):
    """The node set names nodes that are not there or were taken out, or fewer than the job needs."""

    code = "bad_pool"


@transaction.atomic
def create_run(
    *,
    cluster: Cluster,
    slug: str,
    spec: RunSpec,
    nodes: str,
    by: Any,
    now: datetime,
    owner: Any = None,
    token: str = "",
) -> Run:
    """Write a run down as a draft on the node set *nodes*; *owner* is who made it, unless somebody else is named.

    *by* is None where a program does it, with the operator's token whose public part is *token*; it names an owner.

    Raises:
        MayNot: *by* has no role in the cluster that acts.
        InvalidRun, BadPool, BadNodeSet, RunNameTaken: with what to change.
    """
    _require_role(by, cluster, ACTING_ROLES)
    if not _SLUG.fullmatch(slug):
        raise InvalidRun(_("Use small letters, digits and dashes for the run's short name, at most 63, such as run-7."))
    run = Run(cluster=cluster, slug=slug, owner=owner or by, created_by=by, created_at=now, **spec.columns())
    check_run(run)
    pool = _living_nodes(run, nodes)
    try:
        with transaction.atomic():
            run.save()
    except IntegrityError as error:
        raise RunNameTaken(_("The short name %(slug)s is taken; choose another.") % {"slug": slug}) from error
    RunNode.objects.bulk_create([RunNode(run=run, node=node) for node in pool])
    _write("run_created", run, by, token, "", now, {"pool": fold_node_set(node.hostname for node in pool)})
    return run


def edit_run(*, run: Run, changes: Mapping[str, object], by: Any, reason: str, now: datetime, token: str = "") -> Run:
    """Change what a run is to be; what was signed about it is outdated by that, and counts again if it is put back.

    Raises:
        MayNot, RunIsFixed, InvalidRun, BadPool, ReasonMissing: as `revise_run`.
    """
    return revise_run(run=run, changes=changes, nodes=None, by=by, reason=reason, now=now, token=token)


@transaction.atomic
def revise_run(
    *,
    run: Run,
    changes: Mapping[str, object],
    nodes: str | None,
    by: Any,
    reason: str,
    now: datetime,
    token: str = "",
) -> Run:
    """Change what a run is to be, and, unless *nodes* is None, let it use exactly that node set: both or nothing.

    Raises:
        MayNot: *by* has no role in the cluster that acts.
        RunIsFixed: it runs or is over, and the change is more than its name and owner.
        InvalidRun: a field is unknown, or cannot have that value.
        BadPool, BadNodeSet: names every node that is not there or was taken out; or they are too few.
        ReasonMissing: there are signatures, and no reason.
    """
    run = lock_run(run)
    _require_role(by, run.cluster, ACTING_ROLES)
    _require_open(run, changes if nodes is None else {**changes, "pool": nodes})
    reason = _reason_of_change(run, reason)
    acts: list[tuple[str, dict[str, Any]]] = []
    if changes:
        acts.append(("run_edited", _edit(run, changes)))
    if nodes is not None:
        acts.append(("pool_set", _swap_pool(run, nodes)))
        judge_links_of(run, now=now)
    _require_enough(run, len(pool_of(run)))
    if _AUDITED & changes.keys():  # what was audited may be another file than the run's own now, or the plan longer
        judge_run_items(run, audited_items(run), now=now)
    for what, data in acts:
        _write(what, run, by, token, reason, now, data)
    return run


@transaction.atomic
def clone_run(
    *,
    run: Run,
    slug: str,
    name: str,
    planned_start: datetime,
    by: Any,
    now: datetime,
    nodes: str | None = None,
    owner: Any = None,
    token: str = "",
) -> Run:
    """A new draft like *run*, as long as it, on its pool without the nodes that were taken out, or on *nodes*.

    Nothing that was signed about *run* is about the new one.

    Raises:
        MayNot, InvalidRun, BadPool, BadNodeSet, RunNameTaken: as `create_run`.
    """
    spec = RunSpec(
        name=name, nodes_needed=run.nodes_needed, world_size=run.world_size, model_name=run.model_name,
        planned_start=planned_start, planned_end=planned_start + (run.planned_end - run.planned_start),
        dataset=run.dataset, parameters=run.parameters, layout=run.layout,
        bytes_per_parameter=run.bytes_per_parameter, artefacts=tuple(run.artefacts),
    )  # fmt: skip
    if nodes is None:
        nodes = fold_node_set(node.hostname for node in pool_of(run) if node.retired_at is None)
    return create_run(
        cluster=run.cluster, slug=slug, spec=spec, nodes=nodes, by=by, now=now, owner=owner, token=token
    )  # fmt: skip


def set_pool(*, run: Run, nodes: str, by: Any, reason: str, now: datetime, token: str = "") -> Run:
    """Let the run use exactly the node set *nodes*, as Slurm writes it; that outdates what was signed about it.

    Raises:
        MayNot, RunIsFixed, BadPool, BadNodeSet, ReasonMissing: as `revise_run`.
    """
    return revise_run(run=run, changes={}, nodes=nodes, by=by, reason=reason, now=now, token=token)


@transaction.atomic
def move_stage(*, run: Run, to: str, by: Any, reason: str, now: datetime, token: str = "") -> Run:
    """Move the run on, or back. Who works in the cluster may; to clear or abort it takes a lead, an admin or its owner.

    Raises:
        MayNot: not this person.
        MoveRefused: the run cannot go there from where it is, or is to be cleared and is not signed in every layer.
        ReasonMissing: no reason is given.
    """
    run = lock_run(run)
    if by is not None:
        require_to_move(run, to, by)
    reason = require_reason(reason)
    if to not in MOVES[run.stage]:
        raise MoveRefused(_why_not(run, to))
    if to == Stage.CLEARED:
        _require_signed(run, now)
    before, run.stage = run.stage, to
    run.save(update_fields=["stage"])
    _write("stage_moved", run, by, token, reason, now, {"before": before, "after": to})
    return run


def lock_run(run: Run) -> Run:
    """The run as it is now, locked until the transaction ends: the first lock of each act on a run."""
    return Run.objects.select_related("cluster", "owner").select_for_update(of=("self",), no_key=True).get(pk=run.pk)


def require_to_move(run: Run, to: str, by: Any) -> None:
    """Whether *by* may bring *run* to that stage.

    Raises:
        MayNot: only a lead, an administrator or the run's owner may.
    """
    leads = to in LED_STAGES and run.owner_id != by.pk
    require_role(by, run.cluster, LEADING_ROLES if leads else ACTING_ROLES)


def _require_role(by: Any, cluster: Cluster, allowed: Collection[str]) -> None:
    """Whether *by* may; a program (None) was let in by the clusters that its token is bound to."""
    if by is not None:
        require_role(by, cluster, allowed)


def _edit(run: Run, changes: Mapping[str, object]) -> dict[str, Any]:
    """Store *changes*; what was before, and after."""
    unknown = sorted(set(changes) - SPEC_FIELDS - _UNSIGNED_FIELDS)
    if unknown:
        raise InvalidRun(_("%(field)s is no field of a run that can be changed.") % {"field": unknown[0]})
    before = {name: getattr(run, name) for name in changes}
    for name, value in changes.items():
        setattr(run, name, value)
    check_run(run)
    run.save(update_fields=list(changes))
    after = {name: getattr(run, name) for name in changes}
    return {"before": _shown(before), "after": _shown(after)}


def _swap_pool(run: Run, nodes: str) -> dict[str, Any]:
    """Store the pool; what was before, and after."""
    pool = {node.pk: node for node in _living_nodes(run, nodes)}
    before = {node.pk: node.hostname for node in pool_of(run)}
    RunNode.objects.filter(run=run).exclude(node__in=pool).delete()
    RunNode.objects.bulk_create([RunNode(run=run, node=node) for key, node in pool.items() if key not in before])
    after = fold_node_set(node.hostname for node in pool.values())
    return {"before": fold_node_set(before.values()), "after": after}


def _living_nodes(run: Run, nodes: str) -> list[Node]:
    """The nodes of the run's cluster that *nodes* names.

    Raises:
        BadPool: some are not there, or were taken out, or they are fewer than the job needs.
    """
    names = dict.fromkeys(name.lower() for name in parse_node_set(nodes))
    found = {node.hostname: node for node in Node.objects.filter(cluster=run.cluster, hostname__in=names)}
    _refuse(
        _("%(nodes)s: not enrolled in this cluster; enrol them first or correct the names."), set(names) - set(found)
    )
    retired = {node.hostname for node in found.values() if node.retired_at is not None}
    _refuse(_("%(nodes)s: taken out of this cluster; leave them out of the pool."), retired)
    _require_enough(run, len(found))
    return list(found.values())


def _refuse(sentence: str, names: set[str]) -> None:
    if names:
        shown = ", ".join(sorted(names)[:_NAMES_SHOWN]) + (" …" if len(names) > _NAMES_SHOWN else "")
        raise BadPool(sentence % {"nodes": shown})


def _require_enough(run: Run, pool: int) -> None:
    if pool < run.nodes_needed:
        said = _("The job needs %(needed)d nodes and the pool has %(pool)d; add nodes, or ask for fewer.")
        raise BadPool(said % {"needed": run.nodes_needed, "pool": pool})


def _require_open(run: Run, changes: Mapping[str, object]) -> None:
    if run.stage in OVER:
        raise RunIsFixed(_("%(run)s is over; make a copy of it and change that.") % {"run": run.slug})
    if run.stage in _FIXED and not set(changes) <= _UNSIGNED_FIELDS:
        said = _("%(run)s is running; what was signed of it cannot change until it has ended.")
        raise RunIsFixed(said % {"run": run.slug})


def _reason_of_change(run: Run, reason: str) -> str:
    """Why the run changes; it may be empty as long as nobody signed."""
    if Signature.objects.filter(package__run=run).exists():
        return require_reason(reason)
    return require_prose(reason)


def _require_signed(run: Run, now: datetime) -> None:
    """A stage that says "cleared" where signatures are missing would be a tick that does not count."""
    left = [layer.value for layer, state in run_state(run, now=now).layers.items() if not state.signed]
    if left:
        raise MoveRefused(_("Not signed now: %(layers)s. Have these signed first.") % {"layers": ", ".join(left)})


def _why_not(run: Run, to: str) -> str:
    if to == Stage.RUNNING:
        return _("A run is running once its start was told, with the nodes that it started on.")
    known = [str(Stage(stage).label) for stage in Stage if stage in MOVES[run.stage]]
    said = _("From “%(here)s” this run can go to: %(stages)s.")
    return said % {"here": Stage(run.stage).label, "stages": ", ".join(known) or _("nowhere, it is over")}


def _shown(values: Mapping[str, object]) -> dict[str, object]:
    """Values as the ledger keeps them; a person by name."""
    return {name: str(value) if name == "owner" else value for name, value in values.items()}


def _write(what: str, run: Run, by: Any, token: str, reason: str, now: datetime, data: dict[str, Any]) -> None:
    data = data if by is not None else data | {"token": token}
    write_entry(what=what, target=run.slug, who=by, cluster=run.cluster, reason=reason, now=now, data=data)
