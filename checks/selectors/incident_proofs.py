"""Whether a probe shows that a corrective action works: everything it names passes, by measurements made after it."""

from dataclasses import dataclass
from datetime import datetime

from checks.domain.verdicts import Verdict
from checks.models import CorrectiveAction, ScopeState
from checks.selectors.pages_verdicts import live_nodes, node_states


@dataclass(frozen=True, slots=True)
class Proof:
    """Rows that pass, of those that the action names."""

    passing: int
    rows: int


def proof_of(action: CorrectiveAction, *, now: datetime) -> Proof | None:
    """The proof, where there is one: at least one row, and each of them passes, is fresh and newer than the deed."""
    if action.done_at is None or not action.item:
        return None
    rows = _rows(action, now)
    passing = sum(shown == Verdict.PASS and at is not None and at > action.done_at for shown, at in rows)
    return Proof(passing, len(rows)) if rows and passing == len(rows) else None


def _rows(action: CorrectiveAction, now: datetime) -> list[tuple[str, datetime | None]]:
    """Verdict and time of each row; what does not apply there proves nothing and stands in nobody's way."""
    cluster = action.incident.cluster
    nodes = live_nodes(cluster) if action.node is None else live_nodes(cluster).filter(pk=action.node.pk)
    held = node_states(nodes, now=now).filter(item=action.item).exclude(raw=Verdict.NA)
    found = list(held.values_list("shown", "measured_at"))
    if not found and action.node is None:
        wide = ScopeState.objects.filter(cluster=cluster, item=action.item).exclude(raw=Verdict.NA)
        return [
            (Verdict.STALE if until is not None and until < now else raw, at)
            for raw, at, until in wide.values_list("raw", "observed_at", "valid_until")
        ]
    return found
