"""Guesses the hardware profile of this machine, so that the first board judges it by fitting rules."""

import re
import tomllib
from pathlib import Path

NVIDIA = Path("/proc/driver/nvidia/gpus")
CPUINFO = Path("/proc/cpuinfo")


def profile_of_this_machine(profiles: Path) -> str:
    """Key of the profile in *profiles* with this machine's GPUs; without one, a node without GPUs.

    A guess: an administrator changes it in the cluster's settings.
    """
    models = [_model(information) for information in sorted(NVIDIA.glob("*/information"))]
    for path in sorted(profiles.glob("*.toml")) if models else ():
        profile = tomllib.loads(path.read_text(encoding="utf-8"))
        if profile["gpus"] == len(models) and all(_has_token(model, profile["part"]) for model in models):
            return path.stem
    return "virtual" if _is_virtual() else "no-gpu"


def _model(information: Path) -> str:
    named = re.search(r"^Model:\s*(.+)$", information.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return named.group(1) if named else ""


def _has_token(model: str, token: str) -> bool:
    """Whether *token* is a word of *model*: "GH200" is no "H200"."""
    return bool(token) and re.search(rf"(?<![A-Za-z0-9]){re.escape(token)}(?![A-Za-z0-9])", model) is not None


def _is_virtual() -> bool:
    try:
        return re.search(r"^flags\s*:.*\bhypervisor\b", CPUINFO.read_text(), flags=re.MULTILINE) is not None
    except OSError:
        return False
