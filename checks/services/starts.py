"""A run starts, comes back after an interruption, or goes on with a spare: told by a scheduler or a person.

Told, and checked: under the run's and its packages' locks the gate is asked once more, and what stood then is frozen
for every restart.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from checks.domain.answers import Answer
from checks.domain.errors import CountersignError
from checks.domain.signoff import LayerState, restart_until
from checks.domain.verdicts import Layer, Purpose
from checks.models import OVER, Run, RunStart, Stage, StartKind
from checks.selectors.gate_context import context_of_cluster
from checks.selectors.nodesets import fold_node_set, parse_node_set
from checks.selectors.run_gate import AskedRun, ask_run
from checks.selectors.runs import start_of
from checks.services.ledger import write_entry
from checks.services.permissions import require_reason
from checks.services.runs import MoveRefused, lock_run, require_to_move
from checks.services.signing import lock_package


class NotReady(CountersignError):
    """The gate is closed for what was told; nothing was noted. ``answer`` says why."""

    code = "not_ready"
    status = 409

    def __init__(self, answer: Answer) -> None:
        super().__init__(_("The gate is closed for these nodes, so nothing was noted: ") + answer.next_action)
        self.answer = answer


@transaction.atomic
def note_start(*, run: Run, nodes: str, by: Any, token: str = "", now: datetime) -> RunStart:
    """Note that *run* started on *nodes* (a node set), and freeze what it may come back on until its end.

    *by* is None where a program told it, with the token whose public part is *token*.

    Raises:
        MayNot: *by* neither leads the cluster nor owns the run.
        MoveRefused: it runs already, or is over, or *nodes* are fewer than it needs.
        NotReady: the gate is closed for a start on these nodes.
    """
    run = lock_run(run)
    if by is not None:
        require_to_move(run, Stage.RUNNING, by)
    if run.stage == Stage.RUNNING or run.stage in OVER:
        raise MoveRefused(_("%(run)s runs already or is over; tell a restart instead.") % {"run": run.slug})
    asked = _ask_locked(run, _enough(run, parse_node_set(nodes)), Purpose.START, now)
    answer = _ready_answer(asked)
    before, run.stage = run.stage, Stage.RUNNING
    run.save(update_fields=["stage"])
    start = RunStart.objects.create(
        run=run, kind=StartKind.START, at=now, by=by, token=token, hostnames=list(answer.ready_nodes),
        basis=_basis(asked.layers), restart_until=restart_until(run.planned_start, run.planned_end),
    )  # fmt: skip
    _write("run_started", start, by, "", {"stage_before": before, "gate": answer.basis.value})
    return start


@transaction.atomic
def note_restart(*, run: Run, nodes: str, by: Any, reason: str, token: str = "", now: datetime) -> RunStart:
    """Note that *run* came back on *nodes* after an interruption; no signature is asked for.

    Raises:
        MayNot, ReasonMissing: as for a start; and a reason is needed.
        MoveRefused: *nodes* are fewer than the run needs.
        NotReady: the gate is closed for a restart on these nodes.
    """
    return _again(run, _enough(run, parse_node_set(nodes)), StartKind.RESTART, by, reason, token, now)


@transaction.atomic
def replace_node(*, run: Run, old: str, new: str, by: Any, reason: str, token: str = "", now: datetime) -> RunStart:
    """Let the node *new* of the pool take the place of *old* in the running run; no signature is asked for.

    Raises:
        MayNot, ReasonMissing: as for a restart.
        MoveRefused: *old* is no node that the run runs on, or *new* is one.
        NotReady: *new* is not of the pool, not healthy, or not what was signed.
    """
    run = lock_run(run)
    old, new = old.lower(), new.lower()
    latest = RunStart.objects.filter(run=run).first()
    running = list(latest.hostnames) if latest is not None else []
    if old not in running or new in running:
        said = _("%(run)s runs on %(nodes)s; name one of these, and a node that is not.")
        raise MoveRefused(said % {"run": run.slug, "nodes": fold_node_set(running) or "—"})
    after = [new if name == old else name for name in running]
    return _again(run, after, StartKind.REPLACEMENT, by, reason, token, now, asked=[new])


def _again(
    run: Run,
    names: Sequence[str],
    kind: StartKind,
    by: Any,
    reason: str,
    token: str,
    now: datetime,
    *,
    asked: Sequence[str] | None = None,
) -> RunStart:
    """Note another beginning of a run that was started; *asked* are the nodes that are new, None: all of them."""
    reason = require_reason(reason)
    run = lock_run(run)
    if by is not None:
        require_to_move(run, Stage.RUNNING, by)
    answer = _ready_answer(_ask_locked(run, list(names if asked is None else asked), Purpose.RESTART, now))
    first = start_of(run)
    assert first is not None  # noqa: S101  (without a start the gate is closed)
    noted = RunStart.objects.create(
        run=run, kind=kind, at=now, by=by, token=token, hostnames=list(names), basis=first.basis,
        restart_until=first.restart_until, reason=reason[:300],
    )  # fmt: skip
    _write(f"run_{_ACTS[kind]}", noted, by, reason, {"gate": answer.basis.value, "asked": list(asked or names)})
    return noted


_ACTS = {StartKind.RESTART: "restarted", StartKind.REPLACEMENT: "node_replaced"}


def _enough(run: Run, nodes: Sequence[str]) -> list[str]:
    """Each node once; the job needs as many as were signed, whatever the gate says of some of them."""
    names = list(dict.fromkeys(name.lower() for name in nodes))
    if len(names) < run.nodes_needed:
        said = _("%(run)s needs %(needed)s nodes and you named %(named)s; name every node that it runs on.")
        raise MoveRefused(said % {"run": run.slug, "needed": run.nodes_needed, "named": len(names)})
    return names


def _ask_locked(run: Run, nodes: Sequence[str], purpose: Purpose, now: datetime) -> AskedRun:
    """The gate's question with every package locked: nobody signs or revokes until this transaction has ended."""
    for layer in Layer:
        lock_package(run, layer)
    return ask_run(context_of_cluster(run.cluster, now=now), run=run.slug, nodes=nodes, purpose=purpose, now=now)


def _ready_answer(asked: AskedRun) -> Answer:
    answer = asked.answer()
    if not answer.ready:
        raise NotReady(answer)
    return answer


def _basis(layers: Mapping[Layer, LayerState]) -> list[dict[str, object]]:
    """The signatures that stand now; a layer that is not signed (past an override) is not among them."""
    return [
        {"layer": layer.value, "digest": held.digest, "round": held.round, "signatures": list(held.counting)}
        for layer, held in layers.items()
        if held.signed
    ]


def _write(what: str, start: RunStart, by: Any, reason: str, data: dict[str, Any]) -> None:
    frozen = {
        "nodes": fold_node_set(start.hostnames), "basis": start.basis, "restart_until": start.restart_until,
        "token": start.token,
    }  # fmt: skip
    run = start.run
    write_entry(
        what=what, target=run.slug, who=by, cluster=run.cluster, reason=reason, now=start.at, data=frozen | data
    )
