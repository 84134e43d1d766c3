"""Which NCCL a process has loaded, and which build a library file is."""

from __future__ import annotations

import json
import re
from typing import Any, Iterable, List, Optional

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.distributions import Nccl, release

BANNER = re.compile(rb"NCCL version ([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})[^+\0]{0,16}\+cuda([0-9]{1,3})\.[0-9]{1,3}")
"""What every build of the library says of itself; the same words stand in the file."""

_LIBRARY = re.compile(r"/libnccl(?:-static)?\.so(?:\.[0-9]+)*$")
_CODE_BASE, _MINOR_BASE = 10_000, 100


def nccl_paths(lines: Iterable[str]) -> List[str]:
    """The different files of NCCL in ``/proc/PID/maps``; plugins (``libnccl-net.so``) are none."""
    paths = {line.split(maxsplit=5)[-1].strip().replace(" (deleted)", "") for line in lines if "/libnccl" in line}
    return sorted(path for path in paths if _LIBRARY.search(path))


def banner_in(piece: bytes) -> Optional[Nccl]:
    """The build that a piece of the library names."""
    found = BANNER.search(piece)
    return Nccl(found[1].decode("ascii"), int(found[2])) if found else None


def parse_torch_answer(text: str) -> Nccl:
    """What ``torch.cuda.nccl.version()`` and ``torch.version.cuda`` say, as JSON: a list of both.

    Raises:
        Unreadable: PyTorch says neither.
    """
    try:
        version, cuda = json.loads(text.strip().rpartition("\n")[2])
    except (ValueError, TypeError, RecursionError):
        raise Unreadable("PyTorch did not tell its NCCL") from None
    major = cuda.partition(".")[0] if isinstance(cuda, str) else ""
    return Nccl(_version(version), int(major) if major.isdigit() and len(major) < 4 else None)


def _version(told: Any) -> Optional[str]:
    """``(2, 20, 5)``; older PyTorch says 2708 for 2.7.8 and 21005 for 2.10.5."""
    if isinstance(told, list) and told and all(isinstance(one, int) for one in told):
        return release(".".join(map(str, told)))
    if isinstance(told, int) and not isinstance(told, bool) and 0 < told < 10**7:
        base = _CODE_BASE if told >= _CODE_BASE else 1000
        return f"{told // base}.{told % base // _MINOR_BASE}.{told % _MINOR_BASE}"
    return None
