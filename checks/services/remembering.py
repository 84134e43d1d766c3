"""When a memory has to be written, and how young an unwritten one is.

A memory that only grew older is not written: the stamp of its cadence says when the last sample was, as for rows.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from checks.domain.memory import ItemMemory, LoadMemory

_TIMES: Final = frozenset({"boot", "at"})


def refreshed(memory: ItemMemory, stamp: datetime | None) -> ItemMemory:
    """*memory* as of the last full report, at *stamp*, which had nothing to change in it but its times."""
    if stamp is None or "at" not in memory or memory["at"] >= stamp.timestamp():
        return memory
    young = ItemMemory(**{**memory, "at": stamp.timestamp()})
    if "load" in memory and "at" in memory["load"]:
        young["load"] = LoadMemory(**{**memory["load"], "at": stamp.timestamp()})
    return young


def is_worth_keeping(before: ItemMemory | None, after: ItemMemory, *, stamped: bool) -> bool:
    """Whether the next report would judge differently without *after*.

    Where the report moves the stamp of the item's cadence (*stamped*), times of samples alone are not worth a write.
    """
    if after.keys() <= _TIMES and (before or {}).keys() <= _TIMES:
        return False
    lasting = _lasting(after)
    if lasting != _lasting(before or {}):
        return True
    return bool(lasting) and (not stamped or bool(after.get("runs")))


def _lasting(memory: Mapping[str, Any]) -> dict[str, object]:
    """The parts of a memory that say something; the boot id does so only beside others."""
    parts = {name: held for name, held in memory.items() if held and name not in _TIMES}
    if "load" in parts:
        parts["load"] = {name: held for name, held in memory["load"].items() if name != "at"}
    return parts | {"boot": memory["boot"]} if parts else {}
