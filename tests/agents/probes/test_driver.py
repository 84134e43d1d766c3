"""Which driver there is, and which CUDA runtime the training environment loads."""

from __future__ import annotations

import json
from typing import Any

from readiness_agent.facts import EVERY_SUBJECT, MISSING, NOT_CAPTURED, UNREADABLE, CouldNotMeasure, ProbeResult
from readiness_agent.probes.driver import DRIVER
from readiness_agent.source import ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.probes.fake_source import FakeSource, problems, values

VERSION = "/proc/driver/nvidia/version"
KERNEL = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Sat Feb 24 22:09:05 UTC 2024\n"


def measure(driver: str | None, environment: Any) -> ProbeResult:
    files: dict[str, str | CouldNotMeasure] = {VERSION: driver} if driver else {}
    return DRIVER.run(FakeSource(files, calls={"training environment": environment}), ProbeContext())


def test_the_h200_node_runs_what_its_training_environment_loads() -> None:
    environment = json.loads(shared("captures/h200x2-burn/commands/trainenv"))

    result = measure(shared("captures/h200x2-burn/files/proc/driver/nvidia/version"), environment)

    assert values(result, "driver-cuda-match") == {
        "driver": "580.159.04", "environment": "job", "cuda_runtime": "13.0", "compat_loaded": False,
        "user_driver": "580.159.04",
    }  # fmt: skip


def test_a_runtime_that_is_newer_than_the_driver_is_told_and_not_judged() -> None:
    result = measure(KERNEL.format("515.48.07"), {"maps": ["/venv/lib/libcudart.so.12"]})

    assert values(result, "driver-cuda-match") == {
        "driver": "515.48.07", "environment": "job", "cuda_runtime": "12",
        "compat_loaded": False, "user_driver": "515.48.07",
    }  # fmt: skip


def test_a_loaded_compat_package_is_the_driver_that_the_runtime_meets() -> None:
    maps = ["/venv/lib/libcudart.so.12", "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15"]

    facts = values(measure(KERNEL.format("515.48.07"), {"maps": maps}), "driver-cuda-match")

    assert (facts["compat_loaded"], facts["driver"], facts["user_driver"]) == (True, "515.48.07", "550.54.15")


def test_a_compat_package_whose_version_cannot_be_told_leaves_it_unknown() -> None:
    maps = ["/venv/lib/libcudart.so.12", "/usr/local/cuda-12.4/compat/libcuda.so.1"]

    result = measure(KERNEL.format("515.48.07"), {"maps": maps})

    assert "user_driver" not in values(result, "driver-cuda-match")
    assert problems(result, "driver-cuda-match") == [(EVERY_SUBJECT, UNREADABLE)]


def test_before_any_job_there_is_no_environment_that_the_driver_could_misfit() -> None:
    result = measure(KERNEL.format("535.161.08"), {"seen": "none", "maps": []})

    assert values(result, "driver-cuda-match") == {"driver": "535.161.08", "environment": "none"}
    assert result.problems == ()


def test_after_a_job_its_environment_still_counts() -> None:
    result = measure(KERNEL.format("535.161.08"), {"seen": "last job", "maps": ["/venv/lib/libcudart.so.12"]})

    facts = values(result, "driver-cuda-match")
    assert (facts["environment"], facts["cuda_runtime"]) == ("last job", "12")


def test_jobs_that_cannot_be_looked_for_leave_it_unknown() -> None:
    result = measure(KERNEL.format("535.161.08"), CouldNotMeasure(MISSING, "there is no user trainer"))

    assert values(result, "driver-cuda-match") == {"driver": "535.161.08"}
    assert problems(result, "driver-cuda-match") == [(EVERY_SUBJECT, MISSING)]


def test_an_environment_without_a_runtime_is_missing_it() -> None:
    result = measure(KERNEL.format("535.161.08"), {"maps": ["/usr/lib/libc.so.6"]})

    assert problems(result, "driver-cuda-match") == [(EVERY_SUBJECT, MISSING)]


def test_without_a_driver_nothing_is_told() -> None:
    result = measure(None, {"maps": ["/venv/lib/libcudart.so.12"]})

    assert result.facts == ()
    assert problems(result, "driver-cuda-match") == [(EVERY_SUBJECT, MISSING)]


def test_an_environment_that_was_not_captured_is_not_captured() -> None:
    result = measure(KERNEL.format("535.161.08"), CouldNotMeasure(NOT_CAPTURED, "not in this capture"))

    assert problems(result, "driver-cuda-match") == [(EVERY_SUBJECT, NOT_CAPTURED)]
