"""Incidents of the tests: what somebody would tell of one."""

from datetime import datetime, timedelta
from typing import Any

from checks.domain.incidents.kinds import Component, Weight
from checks.models import Cluster
from checks.services.incident_opening import Opened, Opening, open_incident
from checks.services.incident_records import Author, Touched
from tests.lab import NOON

HOUR = timedelta(hours=1)


def opening(**changes: Any) -> Opening:
    """A GPU fell off the bus of gpu001 three hours before noon; it was seen after an hour."""
    columns: dict[str, Any] = {
        "title": "Rank 3 hangs in all-reduce", "weight": Weight.MAJOR, "component": Component.FAULTY_GPU,
        "started_at": NOON - 3 * HOUR, "detected_at": NOON - 2 * HOUR, "error_class": "xid-79",
        "touched": (Touched("gpu001", "gpu3"),),
    }  # fmt: skip
    return Opening(**columns | changes)


def opened(
    cluster: Cluster,
    *,
    by: Any = None,
    now: datetime = NOON,
    source: str = "person",
    external_id: str = "",
    **changes: Any,
) -> Opened:
    """The incident, or one that *changes* make of it."""
    return open_incident(
        cluster=cluster, opening=opening(**changes), source=source, author=Author(by), now=now, external_id=external_id
    )
