"""The NVIDIA driver against the CUDA runtime that the training environment has loaded."""

from __future__ import annotations

import json
import os
from typing import Any, List, NamedTuple, Optional

from readiness_agent.facts import MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.cuda import is_legal, libraries_of, parse_driver_version
from readiness_agent.parsers.nvml import parse_nvml
from readiness_agent.probes.gpu_report import DRIVER_VERSION, NVML, ask_nvml
from readiness_agent.probes.jobs import find_jobs
from readiness_agent.source import Json, Probe, ProbeContext, Source

ITEM = "driver-cuda-match"
ENVIRONMENT = "training environment"
LIBRARIES = ("/libcudart.so", "/libcuda.so", "/libnccl.so")


JOB, LAST_JOB, NONE = "job", "last job", "none"
"""Whose environment it is: a running job's, that of the last one seen on this node, or nobody's yet."""

MEMORY_FILE = "training-environment.json"


class Environment(NamedTuple):
    """What is known of the training environment."""

    seen: str
    runtime: Optional[str]
    """The version of its CUDA runtime, where the environment itself told it."""
    paths: List[str]


def measure(source: Source, context: ProbeContext) -> ProbeResult:
    """The runtime is that of a job: what is merely installed says nothing about what a trainer loads."""
    findings = Findings(source.now_boottime())
    with findings.attempt(ITEM):
        driver = parse_driver_version(source.read(DRIVER_VERSION))
        findings.fact(ITEM, "driver", driver, "text")
        supports = _newest_cuda(source)
        if supports is not None:
            findings.fact(ITEM, "cuda_driver", supports, "text")
        environment = _environment(source.call(ENVIRONMENT, lambda: _look(source, context)))
        findings.fact(ITEM, "environment", environment.seen, "text")
        if environment.seen != NONE:
            findings.evidence("\n".join(environment.paths), ITEM)
            _match(findings, driver, supports, environment)
    return findings.result()


def _match(findings: Findings, driver: str, supports: Optional[str], environment: Environment) -> None:
    libraries = libraries_of(environment.paths)
    runtime = environment.runtime or libraries.runtime
    if runtime is None:
        raise CouldNotMeasure(MISSING, "the training environment has no CUDA runtime (libcudart) loaded")
    findings.fact(ITEM, "cuda_runtime", runtime, "text")
    findings.fact(ITEM, "compat_loaded", libraries.compat, "bool")
    legal = libraries.compat or is_legal(driver, supports, runtime)
    if legal is None:
        raise Unreadable(f"nothing says which driver CUDA {runtime} needs, and the driver does not tell its own CUDA")
    findings.fact(ITEM, "compatible", legal, "bool")


def _newest_cuda(source: Source) -> Optional[str]:
    """The newest CUDA that the driver supports by itself, where NVML tells it."""
    try:
        return parse_nvml(source.call(NVML, ask_nvml)).cuda_version
    except CouldNotMeasure:
        return None


def _environment(answer: Any) -> Environment:
    if not isinstance(answer, dict) or not isinstance(answer.get("maps", []), list):
        raise Unreadable("the saved training environment is none")
    runtime, seen = answer.get("cuda_runtime"), answer.get("seen")
    is_version = isinstance(runtime, str) and all(part.isdigit() and len(part) < 5 for part in runtime.split("."))
    return Environment(
        seen if seen in (LAST_JOB, NONE) else JOB,
        str(runtime) if is_version else None,
        [str(path) for path in answer.get("maps", [])],
    )


def _look(source: Source, context: ProbeContext) -> Json:
    """The environment of a running job, which is remembered for when there is none."""
    paths = _loaded_by_a_job(source, context)
    if paths:
        _remember(context.memory_dir, paths)
    remembered = paths or _remembered(context.memory_dir)
    maps: List[Json] = [*remembered]
    return {"seen": JOB if paths else LAST_JOB if remembered else NONE, "maps": maps}


def _loaded_by_a_job(source: Source, context: ProbeContext) -> List[str]:
    """Libraries of CUDA in the newest process of a job that has its runtime loaded; empty where there is none."""
    for pid in find_jobs(source, context.job_user):
        try:
            paths = _libraries(pid)
        except OSError:
            continue  # ended meanwhile, or not ours to look at
        if any(LIBRARIES[0] in path for path in paths):
            return paths
    return []


def _remember(directory: Optional[str], paths: List[str]) -> None:
    if directory is not None:
        path = os.path.join(directory, MEMORY_FILE)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump(paths, file)
        os.replace(f"{path}.{os.getpid()}", path)


def _remembered(directory: Optional[str]) -> List[str]:
    """Empty where nothing was remembered, or it is damaged."""
    if directory is None:
        return []
    try:
        with open(os.path.join(directory, MEMORY_FILE), encoding="utf-8") as file:
            paths = json.load(file)
    except (OSError, ValueError):
        return []
    return [str(path) for path in paths] if isinstance(paths, list) else []


def _libraries(pid: int) -> List[str]:
    """Read line by line: the map of a large trainer is long, and hardly any of it matters."""
    found = set()
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            if any(name in line for name in LIBRARIES):
                found.add(line.split(maxsplit=5)[-1].strip())
    return sorted(found)


DRIVER = Probe("driver", (ITEM,), "daily", measure)
