"""What the pages of one node, and of one item on it, show."""

from datetime import datetime

from checks.models import Evidence, LedgerEntry, Node
from checks.selectors.pages_verdicts import ShownState, node_states


def rows_of_node(node: Node, *, now: datetime) -> tuple[ShownState, ...]:
    """Every row of *node*, in no order: the page puts them into that of its rules."""
    return tuple(node_states(Node.objects.filter(pk=node.pk), now=now))


def rows_of_item(node: Node, item: str, *, now: datetime) -> tuple[ShownState, ...]:
    """One item's rows on *node*, one a subject, worst first."""
    rows = node_states(Node.objects.filter(pk=node.pk), now=now).filter(item=item)
    return tuple(rows.order_by("rank", "subject"))


def act_on(node: Node, what: str) -> LedgerEntry | None:
    """The newest ledger entry of that kind about *node*: who did it, when and why."""
    acts = LedgerEntry.objects.filter(cluster=node.cluster, what=what, target=f"{node.cluster.slug}/{node.hostname}")
    return acts.select_related("who").order_by("-id").first()


def evidence_of(row: ShownState) -> Evidence | None:
    """The raw text behind a row, where the agent sent some."""
    return Evidence.objects.filter(digest=row.evidence).first() if row.evidence else None
