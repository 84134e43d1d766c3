"""What an NVMe disk says about its own health: ``nvme smart-log -o json`` and ``smartctl -j -a``."""

from __future__ import annotations

import json
from typing import Any, Dict, NamedTuple

from readiness_agent.facts import Unreadable


class NvmeHealth(NamedTuple):
    """One disk."""

    critical_warning: int
    """Bits; any of them is serious."""
    spare: int
    """Per cent of spare blocks left."""
    spare_threshold: int
    """Per cent below which the disk itself calls that too few."""
    used: int
    """Per cent of its rated life; may exceed 100."""


def parse_smart_log(text: str) -> NvmeHealth:
    """The output of ``nvme smart-log -o json``.

    Raises:
        Unreadable: it is not that, or lacks a value.
    """
    log = _object(text)
    warning = log.get("critical_warning")
    return NvmeHealth(
        _count(warning.get("value") if isinstance(warning, dict) else warning),
        _count(log.get("avail_spare")),
        _count(log.get("spare_thresh")),
        _count(log.get("percent_used")),
    )


def parse_smartctl(text: str) -> NvmeHealth:
    """The output of ``smartctl -j -a`` of an NVMe disk.

    Raises:
        Unreadable: it is not that, or lacks a value.
    """
    log = _object(text).get("nvme_smart_health_information_log")
    if not isinstance(log, dict):
        raise Unreadable("smartctl shows no health log of an NVMe disk")
    names = ("critical_warning", "available_spare", "available_spare_threshold", "percentage_used")
    return NvmeHealth(*(_count(log.get(name)) for name in names))


def _object(text: str) -> Dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the health log of a disk is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable("the health log of a disk is no JSON object")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unreadable(f"the health log of a disk holds {value!r} where a number belongs")
    return value
