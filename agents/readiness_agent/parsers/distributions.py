"""The distributions of a Python environment: which set it is, where each came from, and what PyTorch was built with.

Origins are those of PEP 610 (``direct_url.json``). A version number alone names no build: two wheels may share it.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from readiness_agent.facts import Unreadable

TRAINERS = ("colossalai", "deepspeed", "megatron-core", "megatron-lm")
"""Libraries that drive a training run."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RUNS = re.compile(r"[-_.]+")
_REQUIRED = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?==\s*([0-9][0-9.]*)")
_OF_CUDA = re.compile(r"nvidia-(?:nccl|cuda-runtime)-cu([0-9]{1,2})")
_LOCAL_CUDA = re.compile(r"\+cu([0-9]{2})[0-9]")


class Distribution(NamedTuple):
    """One installed distribution; its *name* as PEP 503 writes it."""

    name: str
    version: str
    direct_url: Optional[Dict[str, Any]]
    requires: Tuple[str, ...]


class Listing(NamedTuple):
    """What one interpreter has installed."""

    python: str
    distributions: Tuple[Distribution, ...]

    def find(self, name: str) -> Optional[Distribution]:
        """The distribution of that name."""
        return next((one for one in self.distributions if one.name == name), None)


class Nccl(NamedTuple):
    """A build of NCCL. None: not told."""

    version: Optional[str]
    cuda_major: Optional[int]


def parse_listing(text: str) -> Listing:
    """The answer of the script that lists an environment.

    Raises:
        Unreadable: it is none.
    """
    try:
        raw = json.loads(text)
        found = [_distribution(one) for one in raw["distributions"]]
        python = str(raw["python"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unreadable(f"the listing of the training environment cannot be read ({type(error).__name__})") from None
    first: Dict[str, Distribution] = {}
    for one in found:
        first.setdefault(one.name, one)  # as on sys.path: what comes first is what is imported
    return Listing(python, tuple(first[name] for name in sorted(first)))


def _distribution(raw: Any) -> Distribution:
    name, version, direct_url, requires = raw["name"], raw["version"], raw.get("direct_url"), raw.get("requires")
    if not isinstance(name, str) or not isinstance(version, str) or not name or not version:
        raise TypeError("a distribution without name or version")
    origin = direct_url if isinstance(direct_url, dict) else None
    return Distribution(normalized(name), version, origin, tuple(str(one) for one in requires or ()))


def normalized(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return _RUNS.sub("-", name).lower()


def digest_of(listing: Listing) -> str:
    """One value for the interpreter's version and all that is installed, origins included."""
    lines = [
        f"python {listing.python}",
        *(f"{one.name}=={one.version} {origin_of(one)}" for one in listing.distributions),
    ]
    return "sha256:" + hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def origin_of(distribution: Distribution) -> str:
    """``git COMMIT``, ``archive sha256:…``, ``directory``, or ``index``: from a package index, by its number alone."""
    url = distribution.direct_url
    if url is None:
        return "index"
    vcs, archive = url.get("vcs_info"), url.get("archive_info")
    if isinstance(vcs, dict):
        return f"{_word(vcs.get('vcs'))} {_word(vcs.get('commit_id'))}"
    if isinstance(archive, dict):
        return f"archive sha256:{_sha256(archive)}" if _sha256(archive) else "archive"
    return "directory"


def is_pinned(distribution: Distribution) -> bool:
    """Whether its origin names one build: a whole commit, or an archive with its sha256."""
    kind, _, name = origin_of(distribution).partition(" ")
    return bool(_SHA256.fullmatch(name.partition(":")[2])) if kind == "archive" else bool(_COMMIT.fullmatch(name))


def _sha256(archive: Dict[str, Any]) -> str:
    hashes = archive.get("hashes")
    told = hashes.get("sha256") if isinstance(hashes, dict) else None
    if told is None:
        kind, _, told = str(archive.get("hash", "")).partition("=")
        told = told if kind == "sha256" else ""
    return str(told).lower()


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and " " not in value else "unknown"


def trainers_in(listing: Listing) -> List[Distribution]:
    """The training libraries that are installed."""
    return [one for one in listing.distributions if one.name in TRAINERS]


def built_with(listing: Listing) -> Nccl:
    """The NCCL and the CUDA that the installed PyTorch was built for, as far as its metadata tell.

    Raises:
        Unreadable: there is no PyTorch.
    """
    torch = listing.find("torch")
    if torch is None:
        raise Unreadable("the training environment has no PyTorch")
    required = dict(_required(torch.requires))
    version = next((number for name, number in required.items() if name.startswith("nvidia-nccl-")), None)
    majors = [int(found[1]) for found in map(_OF_CUDA.fullmatch, required) if found]
    local = _LOCAL_CUDA.search(torch.version)
    return Nccl(version, majors[0] if majors else int(local[1]) if local else None)


def installed_nccl(listing: Listing) -> Optional[Nccl]:
    """The NCCL that is installed as a distribution of its own; PyTorch loads that one unless it is told otherwise."""
    for one in listing.distributions:
        found = _OF_CUDA.fullmatch(one.name)
        if found and one.name.startswith("nvidia-nccl-"):
            return Nccl(release(one.version), int(found[1]))
    return None


def _required(requirements: Iterable[str]) -> Iterable[Tuple[str, str]]:
    for line in requirements:
        found = _REQUIRED.match(line)
        if found:
            yield normalized(found[1]), release(found[2])


def release(version: str) -> str:
    """The first three numbers of a version: ``2.21.5`` of ``2.21.5.1`` or ``2.21.5+cuda12.4``."""
    numbers = re.match(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,2}", version)
    return numbers[0] if numbers else version


def is_older(version: str, other: str) -> bool:
    """Whether release *version* comes before *other*."""
    return _numbers(version) < _numbers(other)


def _numbers(version: str) -> Tuple[int, ...]:
    parts = [int(part) for part in version.split(".") if part.isdigit()]
    return (*parts, 0, 0, 0)[:3]
