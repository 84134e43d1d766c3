"""What files of the node set for jobs: environment of NVIDIA, NCCL and CUDA, and limits."""

from __future__ import annotations

import re
from typing import Dict, Optional

from readiness_agent.fingerprint.reading import names_in, text_of
from readiness_agent.source import Source

Found = Dict[str, Optional[str]]

ENVIRONMENT_FILES = ("/etc/environment", "/etc/nccl.conf")
PREFIXES = ("NCCL_", "CUDA_", "NVIDIA_", "TORCH_NCCL_", "UCX_", "FI_", "OMPI_MCA_", "MLX5_", "SHARP_", "GLOO_", "OMP_")
"""Only names that begin like this are read: whatever else an environment holds is nobody's business here."""

LIMITS = "/etc/security/limits.conf"
LIMITS_DIRECTORY = "/etc/security/limits.d"
SYSTEMD = "/etc/systemd/system.conf"

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


def read_environment(source: Source) -> Found:
    """Variables that steer communication and GPUs; a later file wins."""
    found: Found = {}
    for path in ENVIRONMENT_FILES:
        for line in text_of(source, path).splitlines():
            assigned = _ASSIGNMENT.fullmatch(line.strip())
            if assigned and assigned[1].startswith(PREFIXES):
                found[assigned[1]] = assigned[2].strip().strip("\"'")
    return found


def read_limits(source: Source) -> Found:
    """Lines of limits.conf and its directory as ``DOMAIN.ITEM.soft`` and ``.hard``, and systemd's defaults."""
    found: Found = {}
    directory = [name for name in names_in(source, LIMITS_DIRECTORY) if name.endswith(".conf")]
    for path in (LIMITS, *(f"{LIMITS_DIRECTORY}/{name}" for name in directory)):
        for line in text_of(source, path).splitlines():
            words = line.partition("#")[0].split()
            if len(words) == 4:
                domain, kind, item, value = words
                for one in ("soft", "hard") if kind == "-" else (kind,):
                    found[f"{domain}.{item}.{one}"] = value
    for line in text_of(source, SYSTEMD).splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and name.startswith("DefaultLimit"):
            found[f"systemd.{name}"] = value.strip()
    return found
