"""States of gpud. *Healthy* is its opinion; figures stand in the data of some components, by the UUID of each GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from checks.adapters.reading import NO_FIGURE, NO_ITEM, NO_PART, NodeOnFile, OtherHost, Reading, WrongTool
from readiness_agent.parsers.documents import Unreadable, count_of, flag_of, objects_in, text_of
from readiness_agent.parsers.gpud import HEALTHY, GpudState, gpud_states

_XID = re.compile(r"\bxid\D{0,12}([0-9]{1,3})\b", re.IGNORECASE)
_NAMES = "accelerator-nvidia-"
#: The item that a component's bad health is about.
_ITEMS: Mapping[str, str] = {
    "ecc": "gpu-ecc", "remapped-rows": "gpu-ecc", "error-xid": "gpu-xid", "error-sxid": "gpu-xid",
    "nvlink": "gpu-nvlink-links", "fabric-manager": "gpu-fabric", "infiniband": "rdma-link",
    "persistence-mode": "persistence-mode", "gpu-counts": "gpu-present", "hw-slowdown": "gpu-clock-throttle",
    "clock": "gpu-clock-throttle", "temperature": "gpu-temperature", "gsp-firmware-mode": "gpu-firmware",
}  # fmt: skip
Gpus = Mapping[str, dict[str, Any]]


def read_gpud_states(text: str, node: NodeOnFile) -> Reading:
    """What gpud says of *node*.

    Raises:
        WrongTool: no states of gpud, or cut.
        OtherHost: none of its GPUs is one of the node's.
    """
    try:
        states = gpud_states(text)
    except Unreadable as error:
        raise WrongTool(f"These are no states of gpud: {error.detail}.") from error
    _require_ours(states, node)
    reading = Reading()
    for state in states:
        _state(reading, state, node)
    return reading


def _state(reading: Reading, state: GpudState, node: NodeOnFile) -> None:
    component = state.component.removeprefix(_NAMES)
    before = len(reading.facts)
    read = _DATA.get(component)
    if read is not None:
        read(reading, state, node)
    item, said = _ITEMS.get(component), f"gpud {component}: {state.health}: {state.reason}"
    if len(reading.facts) > before:
        reading.stated(state.at)
    if state.health != HEALTHY and item is not None:
        reading.failed(item, said)
        reading.stated(state.at)
    elif len(reading.facts) == before:
        why = NO_ITEM if item is None else NO_FIGURE
        reading.remark(state.component, f"{state.health}: {state.reason}", why)


def _require_ours(states: Iterable[GpudState], node: NodeOnFile) -> None:
    named = {uuid for state in states for one in objects_in(state.data) if (uuid := text_of(one, "uuid"))}
    if named and node.uuids and not named & node.uuids.keys():
        raise OtherHost(f"None of the GPUs in this file is one of {node.hostname}; send it for the node it came from.")


def _gpus(reading: Reading, state: GpudState, node: NodeOnFile, *needed: str) -> Gpus:
    """Objects that have all *needed* members, by the subject of their GPU; what is no GPU of the node is named."""
    listed = [one for one in objects_in(state.data) if text_of(one, "uuid") and all(name in one for name in needed)]
    order = sorted(text_of(one, "bus_id") or "" for one in listed)
    found: dict[str, dict[str, Any]] = {}
    for one in listed:
        uuid, bus = text_of(one, "uuid") or "", text_of(one, "bus_id")
        in_order = not node.uuids and bus is not None and "" not in order and len({*order}) == node.gpus
        subject = node.uuids.get(uuid) or (node.gpu(order.index(bus)) if in_order and bus is not None else None)
        if subject is None:
            reading.remark(f"{state.component} {uuid}", state.health, NO_PART)
        else:
            found[subject] = one
    return found


def _ecc(reading: Reading, state: GpudState, node: NodeOnFile) -> None:
    for subject, one in _gpus(reading, state, node, "enabled_current").items():
        reading.fact("gpu-ecc", "ecc_enabled", flag_of(one, "enabled_current"), "bool", subject)
    for subject, one in _gpus(reading, state, node, "volatile").items():
        total = one["volatile"].get("total") if isinstance(one["volatile"], dict) else None
        reading.fact("gpu-ecc", "volatile_uncorrectable", count_of(total, "uncorrected"), "count", subject)
        reading.fact("gpu-ecc", "volatile_correctable", count_of(total, "corrected"), "count", subject)


def _remapped(reading: Reading, state: GpudState, node: NodeOnFile) -> None:
    for subject, one in _gpus(reading, state, node, "remapping_pending", "remapping_failed").items():
        reading.fact("gpu-ecc", "remap_pending", flag_of(one, "remapping_pending"), "bool", subject)
        reading.fact("gpu-ecc", "remap_failed", flag_of(one, "remapping_failed"), "bool", subject)


def _persistence(reading: Reading, state: GpudState, node: NodeOnFile) -> None:
    """How many lack it, where it is told for as many GPUs as the node has."""
    modes = [(text_of(one, "uuid"), flag_of(one, "enabled")) for one in objects_in(state.data) if text_of(one, "uuid")]
    lacking = {uuid for uuid, on in modes if on is False}
    if lacking or len({uuid for uuid, on in modes if on}) == node.gpus:
        reading.fact("persistence-mode", "gpus_without_persistence", len(lacking), "count")


def _links(reading: Reading, state: GpudState, node: NodeOnFile) -> None:
    for subject, one in _gpus(reading, state, node, "states").items():
        links = one["states"] if isinstance(one["states"], list) else []
        up = [flag_of(link, "feature_enabled") for link in links]
        if up and None not in up:
            reading.fact("gpu-nvlink-links", "links_up", up.count(True), "count", subject)
            reading.fact("gpu-nvlink-links", "links", len(up), "count", subject)


def _xids(reading: Reading, state: GpudState, _node: NodeOnFile) -> None:
    """Only of a state that is not healthy: a healthy one may name events that were cured."""
    named = sorted({int(code) for code in _XID.findall(state.reason)}) if state.health != HEALTHY else []
    if named:
        reading.fact("gpu-xid", "xids", ", ".join(map(str, named)), "text")


_DATA: Mapping[str, Callable[[Reading, GpudState, NodeOnFile], None]] = {
    "ecc": _ecc, "remapped-rows": _remapped, "persistence-mode": _persistence, "nvlink": _links, "error-xid": _xids,
}  # fmt: skip
