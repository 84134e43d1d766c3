"""Mounted file systems, and installed packages."""

from __future__ import annotations

import hashlib
import re
from typing import Dict, Iterable, List, Optional, Tuple

from readiness_agent.fingerprint.reading import text_of
from readiness_agent.source import Source

Found = Dict[str, Optional[str]]

ON_DISK = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "vfat"})
SHARED = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "wekafs", "cifs", "fuse.", "virtiofs", "9p", "glusterfs")
COMES_AND_GOES = ("/run/", "/var/lib/docker/", "/var/lib/containerd/", "/var/lib/kubelet/", "/var/snap/", "/snap/")
IN_MEMORY = frozenset({"/dev/shm", "/tmp"})  # noqa: S108  names of mounts, nothing is written there
OWN_OPTIONS = ("addr=", "clientaddr=", "mountaddr=", "mountport=", "port=", "upperdir=", "workdir=", "lowerdir=")

DPKG = "/var/lib/dpkg/status"
RPM = ("rpm", "-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n")
TELLING = re.compile(
    r"(?:nvidia|cuda|libnccl|libcudnn|nccl|mlnx|ofed|rdma-core|libibverbs|ucx|openmpi|datacenter-gpu-manager|"
    r"linux-image|kernel-core|docker|containerd|slurm|lustre)"
)
"""Packages whose version is told by name; all others count in the digest of the whole set."""

_MOUNT = re.compile(
    r"\S+ \S+ \S+ (?P<root>\S+) (?P<point>\S+) (?P<options>\S+)(?: \S+)*? - (?P<type>\S+) (?P<device>\S+) (?P<more>\S+)"
)


def read_mounts(source: Source) -> Found:
    """Mount points of disks and shared file systems: kind, server where it is shared, and options."""
    lines = map(_MOUNT.fullmatch, source.read("/proc/self/mountinfo").splitlines())
    found: Found = {}
    for line in filter(None, lines):
        kind, point = line["type"], line["point"]
        is_shared = kind.startswith(SHARED)
        is_told = is_shared or kind in ON_DISK or (kind == "tmpfs" and point in IN_MEMORY)
        if is_told and not point.startswith(COMES_AND_GOES):
            device = [line["device"]] if is_shared else []
            found[point] = " ".join([kind, *device, _options(line["options"], line["more"])])
    return found


def read_packages(source: Source) -> Found:
    """Versions of packages that tell something, and one digest of all: of dpkg, else of rpm."""
    text = text_of(source, DPKG)
    packages = _of_dpkg(text) if text else _of_rpm(source.run(RPM, deadline=8.0).stdout)
    found: Found = {name: version for name, version in packages if TELLING.match(name)}
    every = "\n".join(f"{name} {version}" for name, version in sorted(packages))
    found["all"] = f"{len(packages)} packages, {hashlib.sha256(every.encode()).hexdigest()[:16]}"
    return found


def _options(*lists: str) -> str:
    words = {word for one in lists for word in one.split(",") if not word.startswith(OWN_OPTIONS)}
    return ",".join(sorted(words))


def _of_dpkg(text: str) -> List[Tuple[str, str]]:
    """Installed packages of dpkg's own file: paragraphs of lines ``Field: value``."""
    found = []
    for paragraph in text.split("\n\n"):
        fields = _fields(paragraph.splitlines())
        if fields.get("Status", "").endswith(" installed") and "Package" in fields:
            found.append((fields["Package"], fields.get("Version", "")))
    return found


def _fields(lines: Iterable[str]) -> Dict[str, str]:
    pairs = (line.partition(": ") for line in lines if line.startswith(("Package: ", "Status: ", "Version: ")))
    return {name: value for name, _, value in pairs}


def _of_rpm(text: str) -> List[Tuple[str, str]]:
    pairs = (line.partition(" ") for line in text.splitlines() if line)
    return [(name, version) for name, _, version in pairs]
