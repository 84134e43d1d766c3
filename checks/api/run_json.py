"""Runs, what is signed about them and what happened to them, as JSON."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from checks.domain.verdicts import Layer
from checks.models import LedgerEntry, Node, Run, RunStart, Signature
from checks.selectors.blockers import SignBlocker
from checks.selectors.nodesets import fold_node_set
from checks.selectors.packages import PackageView, RunState

_PLAIN = (
    "slug", "name", "stage", "nodes_needed", "world_size", "layout", "model_name", "parameters", "bytes_per_parameter",
    "dataset", "artefacts",
)  # fmt: skip


def run_json(run: Run, pool: Iterable[Node]) -> dict[str, Any]:
    """A run; *nodes* is its pool as a node set, those that were taken out of the cluster included."""
    return {
        **{name: getattr(run, name) for name in _PLAIN},
        "cluster": run.cluster.slug,
        "owner": run.owner.get_username(),
        "nodes": fold_node_set(node.hostname for node in pool),
        "planned_start": run.planned_start.isoformat(),
        "planned_end": run.planned_end.isoformat(),
        "created_at": run.created_at.isoformat(),
    }


def start_json(start: RunStart) -> dict[str, Any]:
    """A start, restart or replacement as it was noted."""
    return {
        "run": start.run.slug, "kind": start.kind, "at": start.at.isoformat(),
        "nodes": fold_node_set(start.hostnames), "restart_until": start.restart_until.isoformat(),
        "basis": [{name: part[name] for name in ("layer", "digest", "round")} for part in start.basis],
    }  # fmt: skip


def manifest_json(state: RunState, views: Mapping[Layer, PackageView]) -> dict[str, Any]:
    """What there is to sign of each layer now, and what is in the way."""
    return {
        "run": state.run.slug, "at": state.now.isoformat(), "policy": state.policy.number,
        "layers": [_layer_json(view) for view in views.values()],
    }  # fmt: skip


def signatures_json(state: RunState) -> dict[str, Any]:
    """What the signatures of each layer amount to now, and every one there ever was, oldest first."""
    return {
        "run": state.run.slug, "at": state.now.isoformat(), "signed": state.signed,
        "layers": [
            {
                "layer": layer, "state": standing.state, "round": standing.round, "until": _text(standing.until),
                "missing_roles": list(standing.missing_roles),
                "outdated_nodes": fold_node_set(
                    node.hostname for node in state.nodes if node.uuid in standing.outdated_nodes
                ),
                "signatures": [
                    _signature_json(one, standing.why_not.get(one.pk)) for one in state.signatures[layer]
                ],
            }
            for layer, standing in state.layers.items()
        ],
    }  # fmt: skip


def entry_json(entry: LedgerEntry) -> dict[str, Any]:
    """One act as the ledger keeps it."""
    return {
        "seq": entry.seq, "at": entry.at.isoformat(), "who": entry.name, "what": entry.what, "target": entry.target,
        "reason": entry.reason, "data": entry.data, "digest": entry.digest,
    }  # fmt: skip


def _layer_json(view: PackageView) -> dict[str, Any]:
    return {
        **view.package.as_json(),
        "digest": view.package.digest,
        "state": view.state.state,
        "signable": view.signable,
        "blockers": [_blocker_json(one) for one in view.blockers],
        "left_out": fold_node_set(node.hostname for node in view.left_out),
    }


def _blocker_json(one: SignBlocker) -> dict[str, str]:
    return {
        "node": one.hostname, "item": one.item, "subject": one.subject, "code": one.code, "detail": one.detail,
    }  # fmt: skip


def _signature_json(one: Signature, why_not: str | None) -> dict[str, Any]:
    revocation = getattr(one, "revocation", None)
    return {
        "id": one.pk, "role": one.role, "name": one.printed_name, "meaning": one.meaning, "comment": one.comment,
        "digest": one.manifest_id, "round": one.round, "signed_at": one.signed_at.isoformat(),
        "expires_at": _text(one.expires_at), "counts": why_not is None, "why_not": why_not,
        "revoked": None if revocation is None else {
            "at": revocation.at.isoformat(), "by": str(revocation.by), "reason": revocation.reason,
        },
    }  # fmt: skip


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
