"""Which ready nodes a job could take: the gate's answer about a cluster or a run, and the switches of its nodes."""

from datetime import datetime
from typing import Final

import msgspec

from checks.domain.placement import UNKNOWN_SWITCH, ReadyNodes, choose_nodes
from checks.domain.verdicts import Purpose
from checks.selectors.gate_context import GateContext
from checks.selectors.prepared import Statement, fetch_row
from checks.selectors.readiness import answer_in

_DECODER: Final = msgspec.json.Decoder(dict[str, str] | None)
_SWITCHES: Final = Statement.of("""
    SELECT json_object_agg(hostname, switch)::text FROM checks_node
    WHERE cluster_id = %(cluster)s AND retired_at IS NULL AND switch <> ''
""")


def find_ready_nodes(context: GateContext, *, count: int, run: str | None = None, now: datetime) -> ReadyNodes:
    """*count* nodes that the gate calls ready at *now*, over the fewest switches; one statement more.

    Nodes that are healthy; for a *run* those of its pool on which it may start.

    A switch that is changed between the two statements moves a node to another group, and never in or out of *ready*.
    """
    purpose = Purpose.START if run else Purpose.HEALTH
    answer = answer_in(context, nodes=None, purpose=purpose, run=run, now=now)
    switches = _switches_of(context.cluster.id)
    ready = {node: switches.get(node, UNKNOWN_SWITCH) for node in answer.ready_nodes}
    return ReadyNodes(answer, choose_nodes(ready, count=count))


def _switches_of(cluster: int) -> dict[str, str]:
    row = fetch_row(_SWITCHES, {"cluster": cluster})
    return (_DECODER.decode(row[0]) if row and row[0] else None) or {}
