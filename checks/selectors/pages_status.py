"""What stands at the foot of every page, and open circuit breakers."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from checks.models import BreakerTrip, CatalogVersion, Cluster
from checks.selectors.ledger_signs import ledger_signs
from checks.selectors.signs import State
from checks.selectors.status import heartbeat_signs


def foot_of(*, now: datetime) -> dict[str, Any]:
    """The catalogue's version, the parts that show no sign of life, and what is wrong with the ledger: 3 statements."""
    version = CatalogVersion.objects.filter(in_force=True).values_list("version", flat=True).first()
    silent = [sign.name for sign in heartbeat_signs(now=now) if sign.state is State.RED]
    wrong = [sign for sign in ledger_signs(now=now) if sign.state is State.RED]
    return {"catalog_version": version, "silent": silent, "ledger_wrong": wrong}


def open_trips(clusters: Collection[Cluster]) -> tuple[BreakerTrip, ...]:
    """Circuit breakers that are open in *clusters*, newest first."""
    trips = BreakerTrip.objects.filter(cluster__in=clusters, ended_at=None)
    return tuple(trips.select_related("cluster").order_by("-tripped_at"))
