"""What programs send about incidents. Ours refuses an unknown field; Alertmanager may add what it likes to its own."""

from typing import Annotated

from msgspec import Meta, Struct

from checks.api.run_bodies import Hostname, Slug, Time
from checks.domain.incidents.kinds import Component, Relation, Weight
from checks.services.incident_alerts import Alert, AlertGroup
from checks.services.incident_links import Linking
from checks.services.incident_records import Touched

#: As large as JSON's numbers are exact.
Amount = Annotated[int, Meta(ge=0, le=2**53)]
Gpus = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Source = Annotated[
    str, Meta(pattern="^[a-z0-9][a-z0-9-]{0,31}$", description="what the program calls itself, such as pager")
]


class TouchedPart(Struct, forbid_unknown_fields=True, frozen=True):
    """A machine, or a part of it."""

    hostname: Hostname
    part: Annotated[str, Meta(max_length=64, description="such as gpu3; empty for the machine")] = ""


class ItemLink(Struct, forbid_unknown_fields=True, frozen=True):
    """An item, and what it was to the incident."""

    item: Annotated[str, Meta(min_length=1, max_length=64)]
    relation: Relation
    why: Annotated[str, Meta(max_length=500)] = ""


class NewIncident(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An incident as a program tells it; told twice under one (source, external_id) it is one."""

    cluster: Slug
    source: Source = "api"
    external_id: Annotated[str, Meta(min_length=1, max_length=200)]
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    started_at: Time
    detected_at: Time | None = None
    weight: Weight = Weight.MAJOR
    component: Component = Component.UNKNOWN
    error_class: Annotated[
        str, Meta(max_length=80, description="such as xid-79; the same class in the same part is the same trouble")
    ] = ""
    summary: Annotated[str, Meta(max_length=20_000, description="Markdown")] = ""
    run: str = ""
    step: Amount | None = None
    gpus_affected: Gpus | None = None
    lost_work_s: Amount = 0
    lost_gpu_seconds: Annotated[int, Meta(ge=0, le=2**53, description="instead of GPUs x time")] | None = None
    nodes: list[TouchedPart] = []
    items: list[ItemLink] = []

    def touched(self) -> tuple[Touched, ...]:
        """The machines and parts in it."""
        return tuple(Touched(one.hostname.lower(), one.part) for one in self.nodes)

    def links(self) -> tuple[Linking, ...]:
        """The items in it."""
        return tuple(Linking(one.item, one.relation, one.why) for one in self.items)


class SentAlert(Struct, frozen=True, rename="camel"):
    """One alert, as Alertmanager's webhook (version 4) sends it."""

    status: str
    labels: dict[str, str]
    starts_at: Time
    annotations: dict[str, str] = {}
    ends_at: Time | None = None
    fingerprint: str = ""


class SentAlerts(Struct, frozen=True, rename="camel"):
    """A group of alerts."""

    status: str
    group_key: str
    alerts: Annotated[list[SentAlert], Meta(max_length=10_000)]
    version: str = "4"
    common_labels: dict[str, str] = {}
    common_annotations: dict[str, str] = {}

    def group(self) -> AlertGroup:
        """The group in it; an alert that has not ended carries an end in year 1."""
        return AlertGroup(
            self.group_key, self.status == "firing", self.common_labels, self.common_annotations,
            tuple(map(_alert, self.alerts)),
        )  # fmt: skip


def _alert(sent: SentAlert) -> Alert:
    ended = sent.ends_at if sent.ends_at is not None and sent.ends_at.year > 1 else None
    return Alert(
        sent.status == "firing", sent.labels, sent.annotations, sent.starts_at, ended,
        sent.fingerprint or repr(sorted(sent.labels.items())),
    )  # fmt: skip
