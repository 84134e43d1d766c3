"""NVIDIA Health Validation. Its verdicts are not ours: what counts are the signals of a check, and failures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from checks.adapters.reading import NO_FIGURE, NO_ITEM, NOT_TESTED, NodeOnFile, OtherHost, Reading, WrongTool
from readiness_agent.parsers.documents import Unreadable, count_of, number_of
from readiness_agent.parsers.health_validation import CheckResult, node_verdict

_GPU = re.compile(r"\bGPU[ -]?([0-9]{1,2})\b|^([0-9]{1,2})$", re.IGNORECASE)
_XID = re.compile(r"gpu_xid_([0-9]{1,3})")
_FOUND = re.compile(r"\bfound ([0-9]{1,3})\b")
_ITEMS: Mapping[str, str] = {
    "gpu_count": "gpu-present", "nvlink_active": "gpu-nvlink-links", "nvlink_bandwidth_count_speed": "gpu-nvlink-links",
    "nvlink_fabric": "gpu-fabric", "nvlink_fabric_health": "gpu-fabric", "rdma_linkflap_fatal": "rdma-link",
    "gpu_xid_warning": "gpu-xid",
}  # fmt: skip
_BAD = frozenset({"WARNING", "CRITICAL"})


def read_verdict(text: str, node: NodeOnFile) -> Reading:
    """What the document says of *node*.

    Raises:
        WrongTool: no verdict of Health Validation, or cut.
        OtherHost: it is about another node.
    """
    try:
        verdict = node_verdict(text)
    except Unreadable as error:
        raise WrongTool(f"This is no verdict of Health Validation: {error.detail}.") from error
    if not node.is_called(verdict.host):
        raise OtherHost(f"This verdict is about {verdict.host[:100]}, not about {node.hostname}.")
    reading = Reading()
    reading.stated(verdict.at)
    for check in verdict.checks:
        _check(reading, check, node)
    return reading


def _check(reading: Reading, check: CheckResult, node: NodeOnFile) -> None:
    xid = _XID.fullmatch(check.check)
    item = "gpu-xid" if xid else _ITEMS.get(check.check)
    if item is None or check.severity == "UNKNOWN":
        why = NO_ITEM if item is None else NOT_TESTED
        reading.remark(f"{check.check} {check.entity}".strip(), f"{check.severity}: {check.said}", why)
        return
    before, subject = len(reading.facts), _subject(check, node) if item.startswith("gpu-") else ""
    if item == "gpu-present":
        _count(reading, check)
    elif xid and check.severity in _BAD:
        reading.fact(item, "xids", xid[1], "text", subject)
    elif item == "gpu-nvlink-links" and subject:
        _links(reading, check, subject)
    if check.severity in _BAD:
        whole = item in ("gpu-present", "gpu-fabric")
        reading.failed(
            item, f"Health Validation {check.check}: {check.said or check.severity}", "" if whole else subject
        )
    elif len(reading.facts) == before:
        reading.remark(check.check, check.severity, NO_FIGURE)


def _subject(check: CheckResult, node: NodeOnFile) -> str:
    """The GPU that the check names; the whole node where it names none that the node has."""
    index = count_of(check.signals, "gpu_id")
    found = _GPU.search(check.entity) or _GPU.search(check.said)
    number = index if index is not None else int(found[1] or found[2]) if found else None
    return node.uuids.get(check.entity) or node.gpu(number) or ""


def _count(reading: Reading, check: CheckResult) -> None:
    told = count_of(check.signals, "gpu_count")
    found = _FOUND.search(check.said)
    reading.fact("gpu-present", "gpus_visible", told if told is not None else int(found[1]) if found else None, "count")


def _links(reading: Reading, check: CheckResult, subject: str) -> None:
    """Its speed is that of one link, in MB/s."""
    speed = number_of(check.signals, "speed_mbytes_per_sec")
    reading.fact("gpu-nvlink-links", "links_up", count_of(check.signals, "link_count"), "count", subject)
    reading.fact("gpu-nvlink-links", "link_speed_min", None if speed is None else speed / 1000, "GB/s", subject)
