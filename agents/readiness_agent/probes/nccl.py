"""The NCCL that ranks have loaded, or would load, and the one that their PyTorch was built with."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Findings, Unreadable
from readiness_agent.parsers.distributions import Listing, Nccl, built_with, installed_nccl, is_older, release
from readiness_agent.parsers.nccl import banner_in, nccl_paths, parse_torch_answer
from readiness_agent.probes.as_user import as_owner
from readiness_agent.probes.jobs import find_jobs
from readiness_agent.probes.memory_file import load_memory, save_memory
from readiness_agent.source import Json, ProbeContext, Source, not_configured

MATCH, COPIES = "nccl-cuda-match", "nccl-no-system"
ITEMS = (MATCH, COPIES)

RANKS = "NCCL of running ranks"
MEMORY_FILE = "nccl-of-ranks.json"
ANY_BOOT = ""

MOST_RANKS = 8
"""Ranks whose maps are read: those of one node load the same, and the map of a large trainer is long."""
PIECE = 1 << 20
OVERLAP = 64
"""Bytes that the next piece repeats, so that no words are cut."""

SYSTEM_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/libnccl.so.*",
    "/usr/lib/aarch64-linux-gnu/libnccl.so.*",
    "/usr/lib64/libnccl.so.*",
    "/usr/local/lib/libnccl.so.*",
    "/usr/local/cuda/lib64/libnccl.so.*",
)

ASK_TORCH = (
    "import json, torch; version = torch.cuda.nccl.version();"
    " print(json.dumps([list(version) if isinstance(version, tuple) else version, torch.version.cuda]))"
)
TORCH_DEADLINE = 7.0


class Ranks(NamedTuple):
    """What running ranks have loaded, or the last ones had."""

    running: bool
    copies: int
    """Different files of NCCL in one process, in whichever has most."""
    paths: List[str]
    loaded: Optional[Nccl]
    """None where no rank runs, or its library does not name itself."""


def measure_nccl(
    findings: Findings,
    source: Source,
    context: ProbeContext,
    listing: Optional[Listing],
    refused: Optional[CouldNotMeasure],
) -> None:
    """Both items. *listing* is the training environment's, or *refused* says why there is none."""
    ranks: Optional[Ranks] = None
    with findings.attempt(*ITEMS):
        ranks = _ranks(source.call(RANKS, lambda: _look(source, context)))
    if ranks is None:
        return
    with findings.attempt(COPIES):
        _copies(findings, source, listing, ranks)
    with findings.attempt(MATCH):
        if listing is None:
            raise refused or not_configured(context, "training_python")
        _match(findings, source, context, listing, ranks)


def _copies(findings: Findings, source: Source, listing: Optional[Listing], ranks: Ranks) -> None:
    """What is merely installed is information; only a running rank shows what is loaded."""
    installed = len({one.rpartition("/")[0] for pattern in SYSTEM_LIBRARIES for one in source.glob(pattern)})
    own = listing is not None and installed_nccl(listing) is not None
    findings.fact(COPIES, "installed_copies", installed + own, "count")
    if not ranks.paths:
        raise CouldNotMeasure(MISSING, "no job seen whose ranks have NCCL loaded")
    findings.fact(COPIES, "loaded_copies", ranks.copies, "count")
    findings.evidence("\n".join(ranks.paths), COPIES)


def _match(findings: Findings, source: Source, context: ProbeContext, listing: Listing, ranks: Ranks) -> None:
    built = built_with(listing)
    loaded = ranks.loaded or installed_nccl(listing)
    if loaded is None or built.version is None or built.cuda_major is None:
        asked = _ask_torch(source, context)
        loaded = loaded or asked
        built = Nccl(built.version or asked.version, built.cuda_major or asked.cuda_major)
    if loaded.version is None or built.version is None:
        raise Unreadable("neither the metadata nor PyTorch itself tell its NCCL")
    findings.fact(MATCH, "loaded", loaded.version, "text")
    findings.fact(MATCH, "built_with", built.version, "text")
    findings.fact(MATCH, "older_than_built", is_older(loaded.version, built.version), "bool")
    if loaded.cuda_major is None or built.cuda_major is None:
        raise Unreadable("the CUDA that NCCL or PyTorch was built for is not told")
    findings.fact(MATCH, "cuda_major_equal", loaded.cuda_major == built.cuda_major, "bool")


def _ask_torch(source: Source, context: ProbeContext) -> Nccl:
    """Imports PyTorch, as its owner: the last resort where its metadata do not tell (built from source, conda)."""
    python = context.training_python
    if python is None:
        raise not_configured(context, "training_python")
    directory = python.rpartition("/")[0].rpartition("/")[0] or "/"
    argv = (*as_owner(source, directory, context.job_user), python, "-I", "-c", ASK_TORCH)
    result = source.run(argv, TORCH_DEADLINE)
    if result.exit_code != 0:
        last = result.stderr.strip().rpartition("\n")[2][:160]
        raise CouldNotMeasure(ERROR, f"PyTorch of {python} does not tell its NCCL: {last}")
    return parse_torch_answer(result.stdout)


def _ranks(answer: Any) -> Ranks:
    if not isinstance(answer, dict) or not isinstance(answer.get("paths"), list):
        raise Unreadable("what ranks have loaded was not saved as that")
    copies, version, cuda = answer.get("copies"), answer.get("version"), answer.get("cuda_major")
    loaded = Nccl(release(version), cuda if isinstance(cuda, int) else None) if isinstance(version, str) else None
    paths = [str(path) for path in answer["paths"]]
    return Ranks(bool(answer.get("running")), copies if isinstance(copies, int) else len(paths), paths, loaded)


def _look(source: Source, context: ProbeContext) -> Json:
    """Of running ranks, which is remembered for when there is none."""
    found: Dict[int, List[str]] = {}
    for pid in find_jobs(source, context.job_user):
        paths = _loaded_by(pid)
        if paths:
            found[pid] = paths
        if len(found) == MOST_RANKS:
            break
    if not found:
        return _remembered(context.memory_dir)
    most = max(found.values(), key=len)
    answer: Dict[str, Json] = {"running": True, "copies": len(most), "paths": [*most]}
    save_memory(context.memory_dir, MEMORY_FILE, ANY_BOOT, answer)
    pid = next(iter(found))
    build = _build_of(f"/proc/{pid}/root{found[pid][0]}")
    return {**answer, "version": build.version, "cuda_major": build.cuda_major} if build else answer


def _remembered(directory: Optional[str]) -> Json:
    """What the last ranks had loaded; which build it was may have changed since."""
    last = load_memory(directory, MEMORY_FILE, ANY_BOOT)
    if not isinstance(last, dict) or not isinstance(last.get("paths"), list):
        return {"paths": [], "copies": 0, "running": False}
    return {**last, "running": False}


def _loaded_by(pid: int) -> List[str]:
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            return nccl_paths(file)
    except OSError:
        return []  # ended meanwhile, or not ours to look at


def _build_of(path: str) -> Optional[Nccl]:
    """The words in the library itself, read piece by piece: it is larger than all that an agent may hold."""
    try:
        with open(path, "rb", buffering=0) as file:
            tail = b""
            while True:
                piece = file.read(PIECE)
                if not piece:
                    return None
                found = banner_in(tail + piece)
                if found:
                    return found
                tail = piece[-OVERLAP:]
    except OSError:
        return None
