"""``/proc/PID/mountinfo``: what is mounted where, and how."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence

from readiness_agent.facts import Unreadable

_LINE = re.compile(
    r"(?P<id>[0-9]+) (?P<parent>[0-9]+) [0-9]+:[0-9]+ (?P<root>\S+) (?P<point>/\S*) (?P<options>\S+)"
    r"(?: \S+)*? - (?P<fstype>\S+) (?P<device>\S+) (?P<super>\S+)"
)


class Mount(NamedTuple):
    """One mounted file system."""

    point: str
    device: str
    fstype: str
    atime: str
    """``noatime``, ``relatime`` or ``strictatime``."""
    read_only: bool
    """The mount or the file system itself is read-only."""


def parse_mountinfo(text: str) -> List[Mount]:
    """All mounts in the order in which they were made.

    Raises:
        Unreadable: a line is cut, or the root is missing: the mount that is asked for may be the one that is missing.
    """
    mounts = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line.rstrip())
        if not found:
            raise Unreadable(f"a line of mountinfo is not complete: {line[:80]!r}")
        options = found["options"].split(",")
        mounts.append(
            Mount(
                point=_plain(found["point"]),
                device=_plain(found["device"]),
                fstype=found["fstype"],
                atime=next((word for word in ("noatime", "relatime") if word in options), "strictatime"),
                read_only="ro" in options or "ro" in found["super"].split(","),
            )
        )
    if not any(mount.point == "/" for mount in mounts):
        raise Unreadable("mountinfo shows no mount of /")
    return mounts


def mount_of(mounts: Sequence[Mount], path: str) -> Optional[Mount]:
    """The mount that holds *path* (absolute, links resolved): the longest point above it, the last one made there."""
    above = [mount for mount in mounts if _is_above(mount.point, path)]
    longest = max((len(mount.point) for mount in above), default=0)
    return next((mount for mount in reversed(above) if len(mount.point) == longest), None)


def _is_above(point: str, path: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")


def _plain(text: str) -> str:
    """Blank, tab, newline and backslash are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)
