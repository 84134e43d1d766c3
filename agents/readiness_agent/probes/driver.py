"""The NVIDIA driver, and the CUDA runtime that the training environment has loaded."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

from readiness_agent.facts import MISSING, CouldNotMeasure, Findings, ProbeResult, Unreadable
from readiness_agent.parsers.cuda import libraries_of, parse_driver_version
from readiness_agent.probes.gpu_report import DRIVER_VERSION
from readiness_agent.probes.jobs import find_jobs
from readiness_agent.probes.memory_file import load_memory, save_memory
from readiness_agent.source import Json, Probe, ProbeContext, Source

ITEM = "driver-cuda-match"
ENVIRONMENT = "training environment"
LIBRARIES = ("/libcudart.so", "/libcuda.so", "/libnccl.so")


JOB, LAST_JOB, NONE = "job", "last job", "none"
"""Whose environment it is: a running job's, that of the last one seen on this node, or nobody's yet."""

MEMORY_FILE = "training-environment.json"
ANY_BOOT = ""
"""A reboot leaves the training environment as it is."""


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
        environment = _environment(source.call(ENVIRONMENT, lambda: _look(source, context)))
        findings.fact(ITEM, "environment", environment.seen, "text")
        if environment.seen != NONE:
            findings.evidence("\n".join(environment.paths), ITEM)
            _loaded(findings, driver, environment)
    return findings.result()


def _loaded(findings: Findings, driver: str, environment: Environment) -> None:
    """The runtime, and the driver that it meets: that of cuda-compat where the environment has loaded it."""
    libraries = libraries_of(environment.paths)
    runtime = environment.runtime or libraries.runtime
    if runtime is None:
        raise CouldNotMeasure(MISSING, "the training environment has no CUDA runtime (libcudart) loaded")
    findings.fact(ITEM, "cuda_runtime", runtime, "text")
    findings.fact(ITEM, "compat_loaded", libraries.compat, "bool")
    if libraries.compat and libraries.libcuda is None:
        raise Unreadable("a cuda-compat package is loaded, and the name of its libcuda tells no version")
    findings.fact(ITEM, "user_driver", libraries.libcuda or driver, "text")


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
        save_memory(context.memory_dir, MEMORY_FILE, ANY_BOOT, [*paths])
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


def _remembered(directory: Optional[str]) -> List[str]:
    """Empty where nothing was remembered, or it is damaged."""
    paths = load_memory(directory, MEMORY_FILE, ANY_BOOT)
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
