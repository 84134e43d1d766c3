"""Moments that a tool states, as seconds since 1970; only with a time zone: without one they say nothing."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Optional

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)


def unix_time(text: Optional[str]) -> Optional[float]:
    """RFC 3339, to the second; None for anything else, and for times before 1971, which tools write for *never*."""
    found = _MOMENT.fullmatch((text or "").strip())
    if not found:
        return None
    zone = "+00:00" if found[3] == "Z" else found[3]
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{zone}").timestamp()
    except (ValueError, OverflowError):
        return None
    return moment if moment > 365 * 86400 else None
