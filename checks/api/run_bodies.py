"""What programs send about runs; an unknown field is refused, and a time carries its zone."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from checks.services.run_spec import RunSpec

Time = Annotated[datetime, Meta(tz=True, description="with its zone, such as 2026-12-01T12:00:00Z")]
Slug = Annotated[str, Meta(min_length=1, max_length=63)]
Name = Annotated[str, Meta(min_length=1, max_length=150)]
NodeSet = Annotated[str, Meta(description="as Slurm writes it, such as gpu[001-064]")]
Reason = Annotated[str, Meta(description="stands in the ledger")]
Hostname = Annotated[str, Meta(min_length=1, max_length=253)]
#: As wide as the column.
Count = Annotated[int, Meta(ge=1, le=2_147_483_647)]


class Artefact(Struct, forbid_unknown_fields=True, frozen=True):
    """One part of the configuration, by its digest."""

    name: str
    digest: Annotated[str, Meta(description="sha256:… (64 digits), sha512:… or git:…")]


class NewRun(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A run as it is written down."""

    cluster: Slug
    slug: Slug
    owner: Annotated[str, Meta(description="user name of somebody who has a role in the cluster")]
    nodes: NodeSet
    name: Name
    nodes_needed: Count
    world_size: Count
    model_name: Name
    planned_start: Time
    planned_end: Time
    dataset: str = ""
    parameters: int | None = None
    layout: dict[str, int] = {}
    bytes_per_parameter: dict[str, int | float] = {}
    artefacts: list[Artefact] = []

    def spec(self) -> RunSpec:
        """The run spec in it."""
        fields = {name: getattr(self, name) for name in RunSpec.__dataclass_fields__ if name != "artefacts"}
        return RunSpec(**fields, artefacts=tuple(map(msgspec.structs.asdict, self.artefacts)))


class RunEdit(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Fields of a run that are to be other ones; those that are absent stay."""

    reason: Reason = ""
    owner: str | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    nodes_needed: Count | UnsetType = UNSET
    world_size: Count | UnsetType = UNSET
    model_name: Name | UnsetType = UNSET
    planned_start: Time | UnsetType = UNSET
    planned_end: Time | UnsetType = UNSET
    dataset: str | UnsetType = UNSET
    parameters: int | UnsetType | None = UNSET
    layout: dict[str, int] | UnsetType = UNSET
    bytes_per_parameter: dict[str, int | float] | UnsetType = UNSET
    artefacts: list[Artefact] | UnsetType = UNSET

    def changes(self) -> dict[str, Any]:
        """What is to change, by column; the owner still by name."""
        found = {name: getattr(self, name) for name in self.__struct_fields__ if name != "reason"}
        given = {name: value for name, value in found.items() if value is not UNSET}
        if "artefacts" in given:
            given["artefacts"] = [msgspec.structs.asdict(one) for one in given["artefacts"]]
        return given


class CloneOrder(Struct, forbid_unknown_fields=True, frozen=True):
    """A new draft like the run; without *nodes* on its pool."""

    slug: Slug
    name: Name
    planned_start: Time
    owner: str
    nodes: NodeSet | None = None


class PoolOrder(Struct, forbid_unknown_fields=True, frozen=True):
    """Exactly the nodes that the run may use."""

    nodes: NodeSet
    reason: Reason = ""


class StageOrder(Struct, forbid_unknown_fields=True, frozen=True):
    """Where the run is to go from here."""

    to: str
    reason: Reason


class StartNote(Struct, forbid_unknown_fields=True, frozen=True):
    """The run has started on these nodes."""

    nodes: NodeSet


class RestartNote(Struct, forbid_unknown_fields=True, frozen=True):
    """The run has come back on these nodes."""

    nodes: NodeSet
    reason: Reason


class Replacement(Struct, forbid_unknown_fields=True, frozen=True):
    """A node of the pool takes another one's place."""

    old: Hostname
    new: Hostname
    reason: Reason
