"""The closed vocabularies of incidents."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from checks.domain.verdicts import Layer


class Weight(StrEnum):
    """How bad it was for the job."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


class Standing(StrEnum):
    """Where an incident stands. *Stable*: the trouble has ended; *closed*: it was looked through as well."""

    OPEN = "open"
    STABLE = "stable"
    CLOSED = "closed"
    MERGED = "merged"


class Component(StrEnum):
    """What broke: the rows of the Llama 3 paper's table of interruptions (arXiv 2407.21783, table 5), and our own."""

    FAULTY_GPU = "faulty_gpu"
    GPU_MEMORY = "gpu_memory"
    GPU_SRAM = "gpu_sram"
    GPU_PROCESSOR = "gpu_processor"
    GPU_THERMAL = "gpu_thermal"
    SILENT_CORRUPTION = "silent_corruption"
    SWITCH_OR_CABLE = "switch_or_cable"
    NIC = "nic"
    NCCL_TIMEOUT = "nccl_timeout"
    SSD = "ssd"
    POWER_SUPPLY = "power_supply"
    CHASSIS = "chassis"
    IO_BOARD = "io_board"
    CPU = "cpu"
    SYSTEM_MEMORY = "system_memory"
    SOFTWARE_BUG = "software_bug"
    DEPENDENCY = "dependency"
    HOST_MAINTENANCE = "host_maintenance"
    IB_LINK = "ib_link"
    NVLINK = "nvlink"
    PCIE = "pcie"
    FILESYSTEM = "filesystem"
    HOST_SETTING = "host_setting"
    NAN_LOSS = "nan_loss"
    HANG = "hang"
    DATA = "data"
    OPERATOR_CHANGE = "operator_change"
    UNKNOWN = "unknown"

    @property
    def counts_as_failure(self) -> bool:
        """Whether it enters failure rates: what people changed on purpose, or maintained, is no failure.

        ByteRobust (arXiv 2509.16293) counts 17.3 % of its incidents as manual changes.
        """
        return self not in (Component.OPERATOR_CHANGE, Component.HOST_MAINTENANCE)


class Relation(StrEnum):
    """What an item was to an incident."""

    CAUGHT = "caught"
    SHOULD_HAVE_CAUGHT = "should_have_caught"
    CAUSED_FALSE_ALARM = "caused_false_alarm"
    RELATED = "related"


#: An incident with none of these was seen by no item, and could have been by none: a blind spot.
SEEING: Final = frozenset({Relation.CAUGHT, Relation.SHOULD_HAVE_CAUGHT})


class ActionKind(StrEnum):
    """What is to be done so that it does not come back."""

    NEW_ITEM = "new_item"
    THRESHOLD = "threshold"
    PROCEDURE = "procedure"
    HARDWARE = "hardware"


class ActionState(StrEnum):
    """How far a corrective action has come. *Done* is a word of who did it; only *verified* ends it well."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    DONE = "done"
    VERIFIED = "verified"
    REJECTED = "rejected"


class EventKind(StrEnum):
    """What a line of the timeline tells."""

    OPENED = "opened"
    SEEN_AGAIN = "seen_again"
    REOPENED = "reopened"
    NOTED = "noted"
    CHANGED = "changed"
    STABLE = "stable"
    CLOSED = "closed"
    LINKED = "linked"
    ACTION = "action"
    VERIFIED = "verified"
    FILE = "file"
    MERGED = "merged"


class Opener(StrEnum):
    """Who opens incidents; a program that calls the API names itself otherwise."""

    PERSON = "person"
    FLIP = "flip"
    BREAKER = "breaker"
    ALERTMANAGER = "alertmanager"


def is_blind_spot(relations: Iterable[str]) -> bool:
    """Whether no item caught the incident, nor should have."""
    return not SEEING & set(relations)


def component_of(item: str, layer: Layer) -> Component:
    """What is most likely broken when *item* fails; people correct it."""
    for start, component in _BY_ITEM:
        if item.startswith(start):
            return component
    return _BY_LAYER[layer]


# The longest beginnings first.
_BY_ITEM: Final = (
    ("gpu-ecc", Component.GPU_MEMORY),
    ("gpu-memtest", Component.GPU_MEMORY),
    ("gpu-temperature", Component.GPU_THERMAL),
    ("gpu-clock-throttle", Component.GPU_THERMAL),
    ("gpu-thermal", Component.GPU_THERMAL),
    ("gpu-pcie", Component.PCIE),
    ("gpu-nvlink", Component.NVLINK),
    ("gpu-fabric", Component.NVLINK),
    ("gpu-peer", Component.NVLINK),
    ("allreduce-node", Component.NVLINK),
    ("gpu-firmware", Component.DEPENDENCY),
    ("gpu-", Component.FAULTY_GPU),
    ("net-", Component.SWITCH_OR_CABLE),
    ("nic-", Component.NIC),
    ("rdma-", Component.IB_LINK),
    ("nccl-", Component.NCCL_TIMEOUT),
    ("rendezvous", Component.NCCL_TIMEOUT),
    ("nvme-", Component.SSD),
    ("object-store", Component.FILESYSTEM),
    ("checkpoint-", Component.FILESYSTEM),
    ("hung-io", Component.FILESYSTEM),
    ("power-budget", Component.POWER_SUPPLY),
    ("room-", Component.CHASSIS),
    ("mem-oom", Component.SYSTEM_MEMORY),
    ("driver-", Component.DEPENDENCY),
    ("loss-guard", Component.NAN_LOSS),
)
_BY_LAYER: Final = {
    Layer.PHYSICAL: Component.UNKNOWN,
    Layer.SYSTEM: Component.HOST_SETTING,
    Layer.FRAMEWORK: Component.SOFTWARE_BUG,
    Layer.DATA: Component.DATA,
    Layer.OPERATIONS: Component.UNKNOWN,
}
