"""Rows of what is not a node's, judged by the same functions as a node's: one lock a row."""

from datetime import datetime

import msgspec

from checks.domain.items import Item
from checks.domain.verdicts import Reason, Verdict
from checks.models import Cluster, ScopeState
from checks.selectors.rules import ruleset_for
from checks.services.judging import judge_row_again
from checks.services.node_rows import StateRow

_COLUMNS = StateRow.__struct_fields__


def lock_scope_row(cluster: Cluster, item: Item, subject: str, *, now: datetime) -> ScopeState:
    """The row of *item* about *subject*, made where nobody measured it yet, locked until the transaction ends."""
    never = {
        "layer": item.layer, "cadence": item.cadence, "severity": item.severity, "shadow": item.shadow,
        "raw": Verdict.UNKNOWN, "reason": Reason.NEVER_MEASURED, "since": now, "item_version": item.version,
    }  # fmt: skip
    row, _made = ScopeState.objects.get_or_create(
        cluster=cluster, scope=item.scope, subject=subject, item=item.key, defaults=never
    )
    return ScopeState.objects.select_for_update(no_key=True).get(pk=row.pk)


def as_state(row: ScopeState) -> StateRow:
    """The row as the judge takes it."""
    return StateRow(**{name: getattr(row, name) for name in _COLUMNS})


def write_back(row: ScopeState, state: StateRow) -> ScopeState:
    """Store what the judge made of the row."""
    for name, held in msgspec.structs.asdict(state).items():
        setattr(row, name, held)
    row.save()
    return row


def rejudge_scope(*, cluster: Cluster, now: datetime) -> int:
    """Judge every row of *cluster* that is not a node's by the rules in force; returns how many changed.

    Inside a transaction. Rows of items that the rules do not know any more stay as they are: nothing asks for them.
    """
    ruleset = ruleset_for(cluster)
    rows = ScopeState.objects.select_for_update(no_key=True).filter(cluster=cluster, item__in=ruleset.items)
    changed = 0
    for row in rows.order_by("pk"):
        before = as_state(row)
        after = judge_row_again(before, ruleset, now=now)
        if after is not before:
            write_back(row, after)
            changed += 1
    return changed
