"""Which driver, and which CUDA runtime."""

from __future__ import annotations

import json

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.cuda import CudaLibraries, libraries_of, parse_driver_version
from tests.agents.parsers.inputs import shared

KERNEL = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:09:05 UTC 2024\n"


def test_the_version_of_the_open_module_is_found() -> None:
    assert parse_driver_version(shared("captures/h200x2-burn/files/proc/driver/nvidia/version")) == "580.159.04"


def test_the_version_of_the_closed_module_is_found() -> None:
    assert parse_driver_version(KERNEL) == "535.161.08"


@pytest.mark.parametrize(
    "text", ["", "GCC version:  gcc version 15.3.0 (GCC)\n", "NVRM version: NVIDIA UNIX\n", KERNEL[:50]]
)
def test_a_text_without_a_driver_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_driver_version(text)


def test_the_libraries_that_a_trainer_has_loaded_tell_runtime_and_driver() -> None:
    maps = json.loads(shared("captures/h200x2-burn/commands/trainenv"))["maps"]

    assert libraries_of(maps) == CudaLibraries(runtime="13", libcuda="580.159.04", compat=False)


def test_the_full_version_of_a_runtime_is_taken_from_its_file_name() -> None:
    assert libraries_of(["/usr/local/cuda-12.1/targets/x86_64-linux/lib/libcudart.so.12.1.105"]).runtime == "12.1.105"


def test_a_libcuda_from_the_compat_package_is_told_apart() -> None:
    assert libraries_of(["/usr/local/cuda-12.4/compat/libcuda.so.550.54.15"]) == CudaLibraries(None, "550.54.15", True)


def test_two_runtimes_in_one_process_count_as_the_newer_one() -> None:
    assert libraries_of(["/a/libcudart.so.11.0", "/b/libcudart.so.12"]).runtime == "12"
