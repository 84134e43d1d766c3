"""A cluster's rows as records of text."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from checks.models import Cluster
from checks.selectors.pages_verdicts import live_nodes, node_states

HEADER = (
    "node", "switch", "rack", "item", "subject", "layer", "verdict", "severity", "shadow", "reason", "detail", "value",
    "measured_at", "since", "settled",
)  # fmt: skip


def node_records(cluster: Cluster, *, now: datetime) -> Iterator[tuple[str, ...]]:
    """One record a (node, item, subject), nodes in order, worst first within a node; read in portions."""
    rows = node_states(live_nodes(cluster), now=now).select_related("node")
    for row in rows.order_by("node__hostname", "rank", "item", "subject").iterator(chunk_size=2000):
        yield (
            row.node.hostname, row.node.switch, row.node.rack, row.item, row.subject, row.layer, row.shown,
            row.severity, "yes" if row.shadow else "no", row.reason, row.detail,
            json.dumps(row.value.get("facts", {}), sort_keys=True), _iso(row.measured_at), _iso(row.since), row.settled,
        )  # fmt: skip


def _iso(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""
