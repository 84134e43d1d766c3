"""Versions of the NVIDIA driver and of CUDA, and NVIDIA's rules on which of them work together."""

from __future__ import annotations

import re
from typing import Dict, Iterable, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable

MINOR_VERSIONS_FROM: Dict[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580"}
"""From this driver on, every minor version of a CUDA major version runs (NVIDIA, CUDA Compatibility)."""

_DRIVER = re.compile(r"^NVRM version: .*?\s([0-9]{3,4}(?:\.[0-9]{1,4}){1,2})\s", re.MULTILINE)
_RUNTIME = re.compile(r"/libcudart\.so\.([0-9]{1,3}(?:\.[0-9]{1,4}){0,2})$")
_LIBCUDA = re.compile(r"/libcuda\.so\.([0-9]{3,4}(?:\.[0-9]{1,4}){1,2})$")


class CudaLibraries(NamedTuple):
    """What a process has loaded of CUDA. None: nothing of that name."""

    runtime: Optional[str]
    libcuda: Optional[str]
    """The driver release that its ``libcuda`` belongs to."""
    compat: bool
    """Whether that ``libcuda`` comes from a cuda-compat package."""


def parse_driver_version(text: str) -> str:
    """The version in ``/proc/driver/nvidia/version``.

    Raises:
        Unreadable: there is none.
    """
    found = _DRIVER.search(text)
    if not found:
        raise Unreadable("/proc/driver/nvidia/version names no version of the driver")
    return found[1]


def libraries_of(paths: Iterable[str]) -> CudaLibraries:
    """What the file names of loaded libraries say; of two runtimes the newer one counts, since it asks for more."""
    paths = list(paths)
    runtimes = [found[1] for found in map(_RUNTIME.search, paths) if found]
    drivers = [(found[1], path) for path, found in zip(paths, map(_LIBCUDA.search, paths)) if found]  # noqa: B905
    return CudaLibraries(
        runtime=max(runtimes, key=_numbers) if runtimes else None,
        libcuda=drivers[0][0] if drivers else None,
        compat=any("/compat/" in path for _, path in drivers),
    )


def is_legal(driver: str, supports: Optional[str], runtime: str) -> Optional[bool]:
    """Whether *driver* may run a CUDA *runtime*; *supports* is the newest CUDA that the driver knows by itself.

    None when neither that nor NVIDIA's table says it.
    """
    wanted = _numbers(runtime)[:2]
    minimum = MINOR_VERSIONS_FROM.get(wanted[0])
    if minimum is not None and _numbers(driver) >= _numbers(minimum):
        return True
    if supports is not None:
        return len(wanted) == 2 and wanted <= _numbers(supports)[:2]
    return None if minimum is None else False


def _numbers(version: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
