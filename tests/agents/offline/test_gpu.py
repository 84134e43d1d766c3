"""What is made of the torch script's answers, and of the GPU probe's figures while it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.config import Config
from readiness_agent.facts import CouldNotMeasure, Fact
from readiness_agent.offline import gpu
from readiness_agent.offline.bench import Bench
from readiness_agent.offline.gpu import Sample, measure_allreduce, measure_copies, measure_memory, read_answer, watched
from readiness_agent.source import LiveSource


def bench(tmp_path: Path, **settings: Any) -> Bench:
    return Bench(LiveSource(), Config(portal="", **settings), 10.0, str(tmp_path))


def says(monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]) -> None:
    monkeypatch.setattr(gpu, "run_torch", lambda *_: told)


def values(facts: tuple[Fact, ...], subject: str) -> dict[str, Any]:
    return {fact.name: fact.value for fact in facts if fact.subject == subject}


def test_an_environment_without_torch_is_missing_and_never_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "as_owner", lambda *_: ())  # the interpreter of these tests need not be anybody's
    with pytest.raises(CouldNotMeasure, match="No module named 'torch'") as error:
        gpu.run_torch(bench(tmp_path, training_python=sys.executable), "burn", 1.0)
    assert error.value.kind == "missing"


def test_a_script_that_dies_says_its_last_words() -> None:
    with pytest.raises(CouldNotMeasure, match="ended with -9: Killed"):
        read_answer("", "loading\nKilled\n", -9)
    with pytest.raises(CouldNotMeasure, match="CUDA out of memory"):
        read_answer(json.dumps({"error": "OutOfMemoryError: CUDA out of memory"}), "", 0)


def test_warnings_before_the_answer_do_not_matter() -> None:
    assert read_answer('UserWarning: old driver\n{"gpus": []}\n', "", 0) == {"gpus": []}


def test_memory_minutes_add_up_over_windows_and_an_error_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"index": 1, "uuid": "GPU-1", "errors": 0, "passes": 9, "bytes": 95, "free": 100}
    says(monkeypatch, {"gpus": [one], "seconds": 3600.0})
    measure_memory(bench(tmp_path))
    second = values(measure_memory(bench(tmp_path)).facts, "gpu1")
    says(monkeypatch, {"gpus": [{**one, "errors": 3}], "seconds": 600.0})
    faulty = values(measure_memory(bench(tmp_path)).facts, "gpu1")

    assert second == {"errors": 0, "memory_share": 95.0, "duration": 7200.0, "gpus_at_once": 1}
    assert (faulty["errors"], faulty["duration"]) == (3, 600.0)


def test_a_memory_test_that_finished_no_pass_tested_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"index": 0, "uuid": "GPU-0", "errors": 0, "passes": 0, "bytes": 95, "free": 100}
    says(monkeypatch, {"gpus": [one], "seconds": 3600.0})

    assert values(measure_memory(bench(tmp_path)).facts, "gpu0")["duration"] == 0.0


def test_a_single_gpu_has_no_peer_to_copy_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, {"gpus": [{"index": 0, "host_to_device": 55.123, "peer": None}]})

    assert values(measure_copies(bench(tmp_path)).facts, "gpu0") == {"host_to_device": 55.12}


def test_an_all_reduce_tells_its_size_and_its_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, {"busbw": 431.456, "message": 17179869184, "wrong": 0, "ranks": 8})

    assert values(measure_allreduce(bench(tmp_path)).facts, "") == {
        "busbw": 431.46, "message_size": 17179869184, "wrong": 0, "gpus": 8,
    }  # fmt: skip


def test_a_burn_is_told_by_its_hottest_moment_and_by_what_the_slowdowns_gained() -> None:
    idle = {"temperature": 34.0, "utilization": 0.0, "hw_thermal": 100.0, "power_brake": 0.0}
    hot = {"temperature": 71.0, "utilization": 100.0, "hw_thermal": 100.0, "power_brake": 0.0}
    end = {"temperature": 69.0, "utilization": 100.0, "hw_thermal": 900.0, "power_brake": 0.0}
    told = watched([Sample({"gpu0": one}) for one in (idle, hot, end)], "gpu0")

    assert told == [
        ("temperature_max", 71.0, "celsius"), ("utilization", 100.0, "percent"), ("slowdown", 800.0, "microseconds"),
    ]  # fmt: skip


def test_how_busy_a_gpu_was_is_told_by_what_was_seen_under_load() -> None:
    seen = [(10.0, 0.0), (20.0, 5.0), (30.0, 99.0), (40.0, 100.0)]
    samples = [Sample({"gpu0": {"utilization": busy}}, at) for at, busy in seen]

    assert watched(samples, "gpu0", began=25.0) == [("utilization", 100.0, "percent")]


def test_a_counter_that_nobody_saw_twice_says_nothing() -> None:
    once = [Sample({"gpu0": {"temperature": 71.0, "hw_thermal": 5.0, "power_brake": 0.0}})]

    assert watched(once, "gpu0") == [("temperature_max", 71.0, "celsius")]


def test_the_script_needs_nothing_of_ours_in_the_training_environment() -> None:
    text = Path(gpu.__file__).with_name("torch_bench.py").read_text(encoding="utf-8")

    compile(text, "torch_bench.py", "exec")
    assert "readiness_agent" not in text
