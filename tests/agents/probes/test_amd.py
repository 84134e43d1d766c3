"""AMD's GPUs through amd-smi: what it tells, what it does not, and what is never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.facts import EVERY_SUBJECT, HUNG, MISSING, UNREADABLE, CouldNotMeasure, ProbeResult
from readiness_agent.probes.gpu import GPU
from readiness_agent.source import ProbeContext
from tests.agents.probes.fake_source import Answer, FakeSource, ended, problems, values

CAPTURE = Path(__file__).parents[2] / "captures" / "amd-2xmi300x"
KINDS = ("static", "metric", "process", "bad-pages")
ADDRESSES = ("0000:0c:00.0", "0000:22:00.0")
JOB = {"/proc/48213/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"}


def bus(*addresses: str, kind: str = "0x120000") -> dict[str, str]:
    devices = "/sys/bus/pci/devices"
    vendors = {f"{devices}/{address}/vendor": "0x1002\n" for address in addresses}
    return vendors | {f"{devices}/{address}/class": f"{kind}\n" for address in addresses}


def said(**instead: Answer) -> dict[str, Answer]:
    """The four answers of the capture, or what stands *instead* of one (``bad_pages`` for bad-pages)."""
    told = {kind: (CAPTURE / f"{kind}.json").read_text() for kind in KINDS}
    return {f"amd-smi {kind} --json": instead.get(kind.replace("-", "_"), told[kind]) for kind in KINDS}


def measure(files: dict[str, str] | None = None, **instead: Answer) -> ProbeResult:
    return GPU.run(FakeSource({**bus(*ADDRESSES), **JOB, **(files or {})}, said(**instead)), ProbeContext())


def changed(kind: str, gpu: int, path: str, value: Any) -> str:
    """One answer of the capture with one value replaced."""
    answer = json.loads((CAPTURE / f"{kind}.json").read_text())
    *way, last = path.split(".")
    place = answer["gpu_data"][gpu]
    for name in way:
        place = place[name]
    place[last] = value
    return json.dumps(answer)


def test_both_gpus_are_present_and_none_is_lost() -> None:
    assert values(measure(), "gpu-present") == {"gpus_visible": 2, "gpus_lost": 0}


def test_a_gpu_that_only_the_bus_shows_is_lost() -> None:
    result = measure(bus("0000:38:00.0"))

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 1}
    assert ("gpu2", MISSING) in problems(result, "gpu-ecc")


def test_memory_errors_and_pages_that_wait_for_a_reset() -> None:
    result = measure()

    assert values(result, "gpu-ecc", "gpu0") == {
        "ecc_enabled": True, "volatile_uncorrectable": 0, "volatile_correctable": 2, "remap_pending": False,
        "remap_failed": False,
    }  # fmt: skip
    assert values(result, "gpu-ecc", "gpu1") == {
        "ecc_enabled": True, "volatile_uncorrectable": 3, "volatile_correctable": 41, "remap_pending": True,
        "remap_failed": False,
    }  # fmt: skip


def test_the_hottest_spot_counts_with_the_degrees_that_are_left() -> None:
    assert values(measure(), "gpu-temperature", "gpu1") == {"temperature": 79, "tlimit": 21, "utilization": 99}


def test_heat_of_the_memory_slows_a_gpu_down_and_a_power_limit_alone_does_not() -> None:
    assert values(measure(), "gpu-clock-throttle", "gpu1") == {
        "hw_slowdown_active": True, "sm_clock": 2094, "utilization": 99,
    }  # fmt: skip
    limited = measure(metric=changed("metric", 1, "throttle.hbm_thermal_violation_status", "NOT ACTIVE"))
    assert values(limited, "gpu-clock-throttle", "gpu1")["hw_slowdown_active"] is False


def test_width_and_generation_are_those_of_now_and_of_the_part() -> None:
    result = measure()

    assert values(result, "gpu-pcie-width", "gpu1") == {"width": 8, "width_max": 16}
    assert values(result, "gpu-pcie-generation", "gpu0") == {"generation": 5, "generation_max": 5, "utilization": 0}


def test_an_idle_gpu_holds_nothing_although_the_driver_keeps_a_reserve() -> None:
    """amd-smi shows 284 MB in use and no process: that is the driver's own."""
    assert values(measure(), "gpu-clean", "gpu0") == {
        "foreign_processes": 0, "job_processes": 0, "memory_used": 0, "mig_enabled": False,
    }  # fmt: skip


def test_a_process_of_a_job_is_told_from_a_foreign_one() -> None:
    assert values(measure(), "gpu-clean", "gpu1")["memory_used"] == 121018
    assert values(measure(), "gpu-clean", "gpu1")["job_processes"] == 1
    foreign = measure({"/proc/48213/cgroup": "0::/user.slice/user-1000.slice\n"})
    assert values(foreign, "gpu-clean", "gpu1")["foreign_processes"] == 1


def test_a_gpu_in_parts_is_not_whole() -> None:
    result = measure(static=changed("static", 0, "partition.compute_partition", "CPX"))

    assert values(result, "gpu-clean", "gpu0")["mig_enabled"] is True


def test_firmware_is_that_of_the_video_bios() -> None:
    assert values(measure(), "gpu-firmware", "gpu0") == {
        "vbios": "022.040.003.041.000001", "part_number": "102-G30211-0C",
    }  # fmt: skip


@pytest.mark.parametrize("item", ["gpu-nvlink-links", "gpu-nvlink-errors", "persistence-mode", "gpu-fabric"])
def test_what_amd_has_no_word_for_is_unknown_and_never_good(item: str) -> None:
    result = measure()

    assert not any(one.item == item for one in result.facts)
    assert problems(result, item) != []


@pytest.mark.parametrize(
    ("path", "item", "fact"),
    [
        ("ecc.total_uncorrectable_count", "gpu-ecc", "volatile_uncorrectable"),
        ("temperature.hotspot", "gpu-temperature", "temperature"),
        ("pcie.width", "gpu-pcie-width", "width"),
        ("usage.gfx_activity", "gpu-temperature", "utilization"),
        ("throttle.hbm_thermal_violation_status", "gpu-clock-throttle", "hw_slowdown_active"),
    ],
)
@pytest.mark.parametrize("answer", ["N/A", None, True, {"value": "N/A", "unit": "C"}])
def test_what_is_not_told_is_no_number(path: str, item: str, fact: str, answer: Any) -> None:
    assert fact not in values(measure(metric=changed("metric", 0, path, answer)), item, "gpu0")


def test_an_older_version_lists_gpus_without_a_frame_and_blocks_in_a_row() -> None:
    bare = json.loads((CAPTURE / "static.json").read_text())["gpu_data"]
    bare[0]["ras"]["ecc_block_state"] = [{"block": "SDMA", "status": "ENABLED"}, {"block": "UMC", "status": "DISABLED"}]

    result = measure(static=json.dumps(bare))

    assert values(result, "gpu-ecc", "gpu0")["ecc_enabled"] is False
    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 0}


def test_a_warning_before_the_answer_does_no_harm() -> None:
    told = "WARNING: User is missing the following required groups: render\n" + (CAPTURE / "metric.json").read_text()

    assert values(measure(metric=told), "gpu-temperature", "gpu0")["temperature"] == 41


def test_without_its_metrics_a_gpu_is_present_and_nothing_else_is_known_of_it() -> None:
    result = measure(metric=ended(exit_code=1, stderr="AMDSMI_STATUS_BUSY\n"))

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 0}
    assert set(values(result, "gpu-ecc", "gpu0")) == {"ecc_enabled", "remap_pending", "remap_failed"}
    assert ("gpu0", UNREADABLE) in problems(result, "gpu-temperature")


def test_an_answer_that_is_cut_is_unreadable() -> None:
    result = measure(static=(CAPTURE / "static.json").read_text()[:900])

    assert problems(result, "gpu-present") == [(EVERY_SUBJECT, UNREADABLE)]
    assert result.facts == ()


def test_a_tool_that_hangs_is_hung() -> None:
    result = measure(metric=CouldNotMeasure(HUNG, "amd-smi: no answer after 2 s"))

    assert {one.kind for one in result.problems} == {HUNG}


def test_accelerators_without_their_tool_are_missing_it_and_are_not_none() -> None:
    result = GPU.run(FakeSource(bus(*ADDRESSES)), ProbeContext())

    assert result.facts == ()
    assert problems(result, "gpu-present") == [(EVERY_SUBJECT, MISSING)]


def test_the_graphics_unit_of_a_processor_is_no_accelerator() -> None:
    source = FakeSource(bus("0000:05:00.0", kind="0x030000"), said())

    result = GPU.run(source, ProbeContext())

    assert not any("amd-smi" in one for one in source.asked)
    assert values(result, "gpu-present") == {"gpus_visible": 0}


def test_names_of_processes_stay_on_the_node() -> None:
    assert "python3.11" not in repr(measure())
