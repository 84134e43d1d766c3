"""Loads all GPUs of the node at once, through torch of the training environment, run as the owner of that environment.

Facts are named as the GPU probe names its GPUs (by PCI address); temperature, utilization and slowdowns of a burn are
those that the probe itself reads while it lasts.
"""

from __future__ import annotations

import json
import os
import pkgutil
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from readiness_agent.facts import ERROR, MISSING, CouldNotMeasure, Fact, Findings, ProbeResult
from readiness_agent.files import read_json, section, write_json
from readiness_agent.offline.bench import Bench, OfflineProbe
from readiness_agent.probes.as_user import as_owner
from readiness_agent.probes.gpu import GPU
from readiness_agent.values import bounded, finite

SAMPLE_EVERY = 10.0
START_SECONDS = 120.0
"""For importing torch and setting up every GPU, beside what is measured."""

SLOWDOWNS = ("hw_thermal", "power_brake")
"""Counters of the driver, in microseconds, that a sound GPU does not raise at full load."""

MEMTEST_KEPT = 30 * 86400.0
_ITEM_CLOCKS, _ITEM_HEAT = "gpu-clock-throttle", "gpu-temperature"


class Sample(NamedTuple):
    """One look at the GPUs: subject -> fact -> value."""

    values: Dict[str, Dict[str, float]]
    at: float = 0.0
    """Seconds since the boot."""


def run_torch(bench: Bench, mode: str, seconds: float) -> Dict[str, Any]:
    """What the script says in *mode*.

    Raises:
        CouldNotMeasure: there is no training environment, or it has no torch that sees the GPUs.
    """
    python = bench.config.training_python
    if not python:
        raise CouldNotMeasure(MISSING, "agent.json names no training_python: name an interpreter that has torch")
    script = pkgutil.get_data("readiness_agent.offline", "torch_bench.py")
    if script is None:
        raise CouldNotMeasure(MISSING, "this agent was packed without torch_bench.py: install it again")
    owner = as_owner(bench.source, os.path.dirname(os.path.dirname(python)), bench.config.job_user or None)
    environment = ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
    argv = (*owner, *environment, python, "-I", "-c", script.decode(), mode, f"{seconds:.1f}")
    answer = bench.source.run(argv, seconds + START_SECONDS)
    return read_answer(answer.stdout, answer.stderr, answer.exit_code)


def read_answer(stdout: str, stderr: str, code: int) -> Dict[str, Any]:
    """The last line of the script as what it says; raises CouldNotMeasure for anything else."""
    lines = stdout.strip().splitlines()
    try:
        told = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        last = (stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise CouldNotMeasure(ERROR, f"the torch script ended with {code}: {last[:300]}")
    if "error" in told:
        kind = MISSING if "ModuleNotFoundError" in str(told["error"]) else ERROR
        raise CouldNotMeasure(kind, f"torch: {str(told['error'])[:500]}")
    return told


def gpus_of(told: Dict[str, Any]) -> List[Tuple[str, Dict[str, Any]]]:
    """The script's GPUs under the names of the GPU probe: both count by PCI address."""
    listed = told.get("gpus")
    gpus = [one for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict)]
    if not gpus:
        raise CouldNotMeasure(ERROR, "the torch script names no GPU")
    return [(f"gpu{bounded(one.get('index'), 0, 1023, 0):.0f}", one) for one in gpus]


def measure_burn(bench: Bench) -> ProbeResult:
    """Full load on all GPUs at once, watched every ten seconds."""
    findings, looker = Findings(bench.source.now_boottime()), _Looker(bench)
    looker.start()
    try:
        told = run_torch(bench, "burn", bench.seconds)
        began = bench.source.now_boottime() - bounded(told.get("seconds"), 0, 1e6, 0)
    finally:
        samples = looker.stop()
    for subject, gpu in gpus_of(told):
        findings.fact("gpu-burn", "duration", round(bounded(told.get("seconds"), 0, 1e6, 0), 1), "seconds", subject)
        findings.fact("gpu-burn", "gemm", round(bounded(gpu.get("tflops"), 0, 1e6, 0), 1), "TFLOP/s", subject)
        findings.fact("gpu-burn", "checksums_equal", gpu.get("wrong") == 0, "bool", subject)
        for name, value, unit in watched(samples, subject, began):
            findings.fact("gpu-burn", name, value, unit, subject)
    findings.evidence(json.dumps(told, indent=1), "gpu-burn")
    return findings.result()


def watched(samples: Sequence[Sample], subject: str, began: float = 0.0) -> List[Tuple[str, float, str]]:
    """What the samples of one burn say: the highest temperature, the middle utilization, what the slowdowns gained.

    Only what was seen after the load *began* tells how busy a GPU was: before, torch was being loaded. A counter that
    no sample has, or that has gone back, says nothing; the portal takes that for *unknown*.
    """
    seen = [sample.values.get(subject, {}) for sample in samples]
    told: List[Tuple[str, float, str]] = []
    heat = [one["temperature"] for one in seen if "temperature" in one]
    loaded = [sample.values.get(subject, {}) for sample in samples if sample.at >= began]
    busy = sorted(one["utilization"] for one in loaded if "utilization" in one)
    if heat:
        told.append(("temperature_max", max(heat), "celsius"))
    if busy:
        told.append(("utilization", busy[len(busy) // 2], "percent"))
    gains = [_gain([one[name] for one in seen if name in one]) for name in SLOWDOWNS]
    if all(gain is not None for gain in gains):
        told.append(("slowdown", sum(gain for gain in gains if gain is not None), "microseconds"))
    return told


def _gain(readings: Sequence[float]) -> Optional[float]:
    gain = readings[-1] - readings[0] if len(readings) > 1 else -1.0
    return gain if gain >= 0 else None


class _Looker(threading.Thread):
    """Reads the GPUs beside the script, until told to stop."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(daemon=True)
        self._bench = bench
        self._over = threading.Event()
        self._samples: List[Sample] = []

    def run(self) -> None:
        """Look before the load, while it lasts, and once more at its end."""
        while True:
            self._look()
            if self._over.wait(SAMPLE_EVERY):
                return self._look()

    def stop(self) -> List[Sample]:
        """The samples."""
        self._over.set()
        self.join(15.0)
        return self._samples

    def _look(self) -> None:
        at = self._bench.source.now_boottime()
        try:
            facts = GPU.run(self._bench.source, self._bench.config.probe_context()).facts
        except CouldNotMeasure:
            return  # what is not seen is not told
        self._samples.append(sample_of(facts)._replace(at=at))


def sample_of(facts: Sequence[Fact]) -> Sample:
    """The figures of one run of the GPU probe that a burn is watched by."""
    values: Dict[str, Dict[str, float]] = {}
    for fact in facts:
        number = finite(fact.value)
        if fact.item in (_ITEM_CLOCKS, _ITEM_HEAT) and number is not None:
            values.setdefault(fact.subject, {})[fact.name] = number
    return Sample(values)


def measure_memory(bench: Bench) -> ProbeResult:
    """Patterns over nearly all free memory of all GPUs at once; minutes without an error add up over 30 days."""
    told = run_torch(bench, "memtest", bench.seconds)
    findings, gpus = Findings(bench.source.now_boottime()), gpus_of(told)
    kept = _Minutes(os.path.join(bench.memory_dir, "memtest.json"), bench.source.now_unix())
    for subject, gpu in gpus:
        share = 100.0 * bounded(gpu.get("bytes"), 0, 1e15, 0) / max(bounded(gpu.get("free"), 1, 1e15, 1), 1.0)
        errors = int(bounded(gpu.get("errors"), 0, 1e15, 1))
        seconds = bounded(told.get("seconds"), 0, 1e6, 0) if gpu.get("passes") else 0.0
        total = kept.add(str(gpu.get("uuid") or ""), seconds, sound=not errors, share=share)
        findings.fact("gpu-memtest", "errors", errors, "count", subject)
        findings.fact("gpu-memtest", "memory_share", round(share, 1), "percent", subject)
        findings.fact("gpu-memtest", "duration", round(total, 1), "seconds", subject)
        findings.fact("gpu-memtest", "gpus_at_once", len(gpus), "count", subject)
    kept.save()
    findings.evidence(json.dumps(told, indent=1), "gpu-memtest")
    return findings.result()


class _Minutes:
    """How long each GPU was tested without an error, by its UUID; an error begins anew, and so do 30 days."""

    LEAST_SHARE = 50.0
    """Percent: a run over less of the memory is told by itself, and not added to others."""

    def __init__(self, path: str, unix: float) -> None:
        self._path, self._unix, self._document = path, unix, read_json(path)

    def add(self, uuid: str, seconds: float, *, sound: bool, share: float) -> float:
        """The sum with this run; without a UUID there is nothing to add to."""
        if not uuid or share < self.LEAST_SHARE:
            return seconds
        kept = section(self._document, uuid)
        since = bounded(kept.get("since"), 0, 1e12, self._unix)
        before = bounded(kept.get("seconds"), 0, 1e9, 0) if 0 <= self._unix - since < MEMTEST_KEPT else 0.0
        kept.update(since=since if before else self._unix, seconds=before + seconds if sound else 0.0)
        return before + seconds if sound else seconds

    def save(self) -> None:
        try:
            write_json(self._path, self._document)
        except OSError:
            pass  # the next window begins anew


def measure_copies(bench: Bench) -> ProbeResult:
    """Copies from the host to each GPU, and between each pair."""
    told = run_torch(bench, "copies", bench.seconds)
    findings = Findings(bench.source.now_boottime())
    for subject, gpu in gpus_of(told):
        for name in ("host_to_device", "peer"):
            rate = finite(gpu.get(name))
            if rate is not None:
                findings.fact("gpu-peer-bandwidth", name, round(rate, 2), "GB/s", subject)
    findings.evidence(json.dumps(told, indent=1), "gpu-peer-bandwidth")
    return findings.result()


def measure_allreduce(bench: Bench) -> ProbeResult:
    """One all-reduce over all GPUs of the node, of the largest message that fits."""
    told = run_torch(bench, "allreduce", bench.seconds)
    findings = Findings(bench.source.now_boottime())
    for theirs, ours, unit in (
        ("busbw", "busbw", "GB/s"), ("message", "message_size", "bytes"), ("wrong", "wrong", "count"),
        ("ranks", "gpus", "count"),
    ):  # fmt: skip
        number = finite(told.get(theirs))
        if number is not None:
            findings.fact("allreduce-node", ours, round(number, 2) if unit == "GB/s" else int(number), unit)
    findings.evidence(json.dumps(told, indent=1), "allreduce-node")
    return findings.result()


BURN = OfflineProbe("gpu-burn", ("gpu-burn",), 1200.0, measure_burn, overhead=START_SECONDS + 60.0)
MEMTEST = OfflineProbe("gpu-memtest", ("gpu-memtest",), 7200.0, measure_memory, overhead=START_SECONDS + 60.0)
COPIES = OfflineProbe("gpu-copies", ("gpu-peer-bandwidth",), 60.0, measure_copies, overhead=START_SECONDS + 60.0)
ALLREDUCE = OfflineProbe("allreduce", ("allreduce-node",), 30.0, measure_allreduce, overhead=START_SECONDS + 120.0)
