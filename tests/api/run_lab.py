"""How the tests of a run's questions ask: real rows made through services, and a gate token bound to the cluster."""

from datetime import datetime, timedelta
from typing import Any

import time_machine
from django.db import connection
from django.test import Client

from checks.models import Node, NodeItemState, NodeReadiness, Role, Waiver
from checks.selectors.nodesets import parse_node_set
from checks.services.runs import set_pool
from checks.services.waivers import approve_waiver, ask_waiver
from tests.api.gate_lab import Gate
from tests.lab import MINUTE, NOON
from tests.link_lab import prove_links
from tests.signed import Signing, proof, tick

NARROW = {"gpu-pcie-width": {"width": 8}}


class RunGate(Gate):
    """Asks about one run; what every answer says of signatures is held to the reading that people sign by."""

    def __init__(self, client: Client, signing: Signing) -> None:
        super().__init__(client, signing.cluster)
        self.signing = signing

    def at(self, now: datetime = NOON, **fields: str) -> dict[str, Any]:
        """The answer at *now*, to a start unless *fields* say otherwise."""
        with time_machine.travel(now, tick=False):
            body = self.ask(run=self.signing.run.slug, **fields)
        if fields.get("purpose", "start") == "start":
            assert body["signatures"] == self._as_people_read_them(now)
        return body

    def _as_people_read_them(self, now: datetime) -> list[dict[str, Any]]:
        layers = self.signing.state(at=now).layers
        return [
            {"layer": layer, "state": one.state, "missing_roles": [*one.missing_roles]} for layer, one in layers.items()
        ]


def told(body: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Code, node and item of each reason."""
    return [(reason["code"], reason["node"], reason["item"]) for reason in body["reasons"]]


def all_report(signing: Signing, at: datetime, **changed: dict[str, Any]) -> None:
    """Every node of the pool reports at *at*; *changed* is by host name."""
    for node in Node.objects.filter(runs=signing.run):
        tick(signing.fleet, node.hostname, at=at, changed=changed.get(node.hostname))


def narrow_link(signing: Signing, node: str, *, at: datetime) -> None:
    """The links of one node's GPUs fall to half their width, until that has settled at *at*."""
    for minutes in (10, 5, 0):
        all_report(signing, at - minutes * MINUTE, **{node: NARROW})


def waived(signing: Signing, node: str, *, until: datetime, at: datetime) -> Waiver:
    """Two people accept the narrow links of *node*."""
    waiver = ask_waiver(
        run=signing.run, item="gpu-pcie-width", nodes=node, until=until, by=signing.people[Role.HARDWARE],
        role=Role.HARDWARE, reason="riser ordered", proof=proof(at), now=at,
    )  # fmt: skip
    approve_waiver(waiver=waiver, by=signing.people[Role.PLATFORM], role=Role.PLATFORM, proof=proof(at), now=at)
    return waiver


def grown(signing: Signing, size: int) -> None:
    """The pool grows to *size* nodes by copies of its first, each row of it."""
    first = Node.objects.get(hostname="gpu001")
    known = set(Node.objects.values_list("hostname", flat=True))
    names = [name for name in parse_node_set(f"gpu[001-{size:03}]") if name not in known]
    Node.objects.bulk_create(
        Node(cluster=signing.cluster, hostname=name, enrolled_at=NOON - timedelta(hours=1)) for name in names
    )
    _copy(first, names)
    # Later than the trials of its first nodes, or there would be no news to judge.
    prove_links(signing.cluster, parse_node_set(f"gpu[001-{size:03}]"), at=NOON + timedelta(seconds=30))
    set_pool(run=signing.run, nodes=f"gpu[001-{size:03}]", by=signing.people[Role.LEAD], reason="it grows", now=NOON)


def _copy(node: Node, names: list[str]) -> None:
    """Give the nodes *names* every row of *node*."""
    for model in (NodeItemState, NodeReadiness):
        columns = [field.column for field in model._meta.concrete_fields if field.column not in ("pk", "node_id")]
        with connection.cursor() as cursor:
            cursor.execute(
                f"""INSERT INTO {model._meta.db_table} (node_id, {", ".join(columns)})
                    SELECT n.id, {", ".join(f"t.{column}" for column in columns)}
                    FROM {model._meta.db_table} t, checks_node n WHERE t.node_id = %s AND n.hostname = ANY(%s)""",  # noqa: S608
                [node.pk, names],
            )
