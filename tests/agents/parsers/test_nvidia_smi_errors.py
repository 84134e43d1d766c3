"""Sentences that nvidia-smi prints instead of a report."""

from __future__ import annotations

import pytest

from readiness_agent.parsers.nvidia_smi_errors import parse_smi_errors
from tests.agents.parsers.inputs import shared


def test_a_gpu_without_a_handle_is_named_by_its_bus() -> None:
    errors = parse_smi_errors(shared("cases/smi_err/unable_to_determine_handle.txt"))

    assert errors.lost_handles == ("0000:01:00.0",)


def test_a_driver_that_does_not_answer_is_no_driver() -> None:
    errors = parse_smi_errors(shared("cases/smi_err/driver_comm_failure.txt"))

    assert errors.no_driver is True
    assert errors.lost_handles == ()


@pytest.mark.parametrize(
    ("text", "bus"),
    [
        (
            "Unable to determine the device handle for gpu 0000:3B:00.0: GPU is lost.  Reboot the system\n",
            "0000:3b:00.0",
        ),
        ("Unable to determine the device handle for GPU2: 0000:C1:00.0: Unknown Error\n", "0000:c1:00.0"),
        ("Unable to determine the device handle for GPU 00000000:0A:00.0: GPU requires reset\n", "0000:0a:00.0"),
    ],
)
def test_the_bus_is_found_in_every_wording(text: str, bus: str) -> None:
    assert parse_smi_errors(text).lost_handles == (bus,)


def test_a_handle_without_a_bus_still_counts() -> None:
    assert parse_smi_errors("Unable to determine the device handle for GPU: Unknown Error").lost_handles == ("",)


def test_a_version_mismatch_is_no_driver_either() -> None:
    errors = parse_smi_errors("Failed to initialize NVML: Driver/library version mismatch\n")

    assert errors.no_driver is True
    assert errors.sentence == "Failed to initialize NVML: Driver/library version mismatch"


def test_no_devices_found_is_a_count_of_zero_and_not_an_unknown() -> None:
    assert parse_smi_errors("No devices were found\n").no_devices is True


@pytest.mark.parametrize("text", ["", "\n", "Segmentation fault\n"])
def test_text_of_another_kind_says_nothing_about_gpus(text: str) -> None:
    errors = parse_smi_errors(text)

    assert (errors.no_driver, errors.no_devices, errors.lost_handles) == (False, False, ())
