"""``/proc/cpuinfo`` and ``lscpu``: whether this machine is a guest."""

from __future__ import annotations

import re


def is_guest(text: str) -> bool:
    """Whether an x86 CPU says that it is virtual (flag *hypervisor*). A guest has no say in its CPUs' frequency."""
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE | re.IGNORECASE)
    return flags is not None and "hypervisor" in flags.group(1).split()
