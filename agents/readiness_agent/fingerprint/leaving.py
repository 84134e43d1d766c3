"""What a fingerprint never holds: what moves by itself, and what is secret."""

from __future__ import annotations

import re
from fnmatch import translate

MOVING = (
    # Counters and states of the kernel: they change from one reading to the next, and would be sent each time.
    "sysctl:fs.aio-nr",
    "sysctl:fs.dentry-negative",
    "sysctl:fs.dentry-state",
    "sysctl:fs.file-nr",
    "sysctl:fs.inode-nr",
    "sysctl:fs.inode-state",
    "sysctl:fs.quota.*",
    "sysctl:kernel.cad_pid",
    "sysctl:kernel.ns_last_pid",
    "sysctl:kernel.pty.nr",
    "sysctl:kernel.random.*",
    "sysctl:net.netfilter.nf_conntrack_count",
    "sysctl:sunrpc.transports",
    # The kernel lowers it by itself when sampling takes too long.
    "sysctl:kernel.perf_event_max_sample_rate",
    # Drawn at boot.
    "sysctl:net.core.netdev_rss_key",
    # Interfaces of containers come and go, sixty settings each.
    *(
        f"sysctl:net.{family}.{table}.{name}*"
        for family in ("ipv4", "ipv6", "mpls")
        for table in ("conf", "neigh")
        for name in ("veth", "cali", "lxc", "tunl", "cilium", "br-", "docker", "cni", "flannel", "vxlan")
    ),
)
"""Patterns of names; ``*`` stands for anything."""

SECRET = re.compile(
    r"password|passwd|passphrase|secret|token|api.?key|private.?key|credential|fastopen_key",
    re.I,
)
"""A name that says that its value opens a door."""

_MOVING = re.compile("|".join(map(translate, MOVING)))


def is_left_out(name: str) -> bool:
    """Whether the setting moves by itself."""
    return _MOVING.match(name) is not None


def is_secret(name: str) -> bool:
    """Whether the value of the setting is never sent."""
    return SECRET.search(name) is not None
