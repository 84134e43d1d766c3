"""Versions of the NVIDIA driver and of CUDA."""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable

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
    of_compat = [path for path in paths if "/compat/libcuda.so" in path]
    drivers = [found[1] for found in map(_LIBCUDA.search, of_compat or paths) if found]
    return CudaLibraries(
        runtime=max(runtimes, key=_numbers) if runtimes else None,
        libcuda=drivers[0] if drivers else None,
        compat=bool(of_compat),
    )


def _numbers(version: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
