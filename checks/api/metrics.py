"""Prometheus metrics: the same figures as ``/status``, read from the database, so each web process tells the same."""

from collections.abc import Iterator

from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rest_framework.request import Request
from rest_framework.views import APIView

from checks.api.authentication import BearerToken
from checks.api.permissions import HasScope
from checks.selectors.signs import State
from checks.selectors.status import PortalStatus, portal_status

_GRADES = {State.OK: 0, State.AMBER: 1, State.RED: 2}


class StatusCollector(Collector):
    """One ``PortalStatus`` as metric families; an age that is not known is left out, never zero."""

    def __init__(self, status: PortalStatus) -> None:
        self.status = status

    def collect(self) -> Iterator[Metric]:
        """What Prometheus calls on each scrape."""
        status = self.status
        ages = GaugeMetricFamily(
            "countersign_heartbeat_age_seconds", "Seconds since worker, beat and sweep last lived.", labels=["name"]
        )
        for sign in status.signs:
            if sign.age_s is not None:
                ages.add_metric([sign.name], sign.age_s)
        yield ages
        ledger = GaugeMetricFamily(
            "countersign_ledger_state", "The chain and each place of anchors: 0 well, 1 late, 2 wrong.", labels=["name"]
        )
        for each in status.ledger:
            ledger.add_metric([each.name], _GRADES[each.state])
        yield ledger
        yield _gauge("countersign_outbox_unsent", "Tasks not yet handed to the broker.", status.unsent)
        yield _gauge("countersign_outbox_oldest_seconds", "Age of the oldest of them.", status.oldest_unsent.age_s or 0)
        yield _gauge("countersign_nodes", "Nodes enrolled and not retired.", status.nodes)
        yield _gauge("countersign_nodes_heard", "Of those, nodes that reported within 15 minutes.", status.nodes_heard)
        yield _gauge("countersign_breakers_open", "Checks that failed on too many nodes at once.", status.breakers_open)
        if status.partitions_until:
            ahead = (status.partitions_until - status.at).total_seconds()
            yield _gauge("countersign_partitions_ahead_seconds", "How far ahead tables can take rows.", ahead)


class MetricsView(APIView):
    """Text in Prometheus' format, for a token with the scope ``operator``."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    required_scope = "operator"
    schema = None

    def get(self, request: Request) -> HttpResponse:
        registry = CollectorRegistry()
        registry.register(StatusCollector(portal_status(now=timezone.now())))
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=value)
