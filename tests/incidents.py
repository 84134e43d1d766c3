"""Incidents of the tests: what somebody would tell of one."""

from datetime import datetime, timedelta
from typing import Any

from checks.domain.incidents.kinds import Component, Weight
from checks.models import Cluster, Flip
from checks.services.incident_opening import Opened, Opening, open_incident
from checks.services.incident_records import Author, Touched
from tests.lab import MINUTE, NOON, SECOND

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


def fails(cluster: Cluster, host: str, item: str = "gpu-pcie-width", *, subject: str = "gpu3", **columns: Any) -> Flip:
    """An item that settles as failed on *host*, a minute before noon."""
    at: datetime = columns.pop("at", NOON - MINUTE)
    given = {"raw_before": "pass", "raw": "fail", "settled_before": "pass", "settled": "fail"} | columns
    given.setdefault("detail", "width is 8, needs = 16")
    return Flip.objects.create(
        at=at, observed_at=at - SECOND, cluster=cluster, node=cluster.nodes.get(hostname=host), item=item,
        subject=subject, item_version="v", cause="report", **given,
    )  # fmt: skip
