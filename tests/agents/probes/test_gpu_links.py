"""NVLink and PCIe of the node's GPUs, and NVML as their first source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.facts import ERROR, HUNG, MISSING, NOT_CAPTURED, UNREADABLE, CouldNotMeasure, ProbeResult
from readiness_agent.probes.gpu import GPU
from readiness_agent.probes.gpu_report import PROGRAM
from readiness_agent.source import ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.probes.fake_source import Answer, FakeSource, problems, values

ROOT = Path(__file__).parents[3]
NVML = json.loads((Path(__file__).parents[2] / "captures" / "nvml-2xh200-load.json").read_text())
SMI, STATUS, ERRORS = "nvidia-smi -q -x", "nvidia-smi nvlink -s", "nvidia-smi nvlink -e"
JOB = {"/proc/565/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"}
BURN = "captures/h200x2-burn/commands/{}"


def by_nvml(answer: Any, files: dict[str, str] | None = None) -> tuple[ProbeResult, list[str]]:
    source = FakeSource(files or JOB, calls={"nvml": answer})
    return GPU.run(source, ProbeContext()), source.asked


def by_tool(status: Answer, errors: Answer | None = None, files: dict[str, str] | None = None) -> ProbeResult:
    commands: dict[str, Answer] = {SMI: shared(BURN.format("smi-q-x.load3.xml")), STATUS: status}
    if errors is not None:
        commands[ERRORS] = errors
    return GPU.run(FakeSource(files, commands), ProbeContext())


def bus(address: str, **files: str) -> dict[str, str]:
    directory = f"/sys/bus/pci/devices/{address}"
    return {f"{directory}/{name}": text for name, text in files.items()}


def test_nvml_answers_for_every_item_and_no_tool_is_started() -> None:
    result, asked = by_nvml(NVML)

    assert {one.item for one in result.facts} == set(GPU.items)
    assert result.problems == ()
    assert asked == ["nvml"]


def test_two_loaded_h200_by_nvml() -> None:
    result, _ = by_nvml(NVML)

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 0}
    assert values(result, "gpu-temperature", "gpu1") == {"temperature": 60, "tlimit": 28, "utilization": 97}
    assert values(result, "gpu-nvlink-links", "gpu1") == {"links_up": 18, "links": 18, "link_speed_min": 26.562}
    assert values(result, "gpu-nvlink-errors", "gpu0") == {
        "recovery_errors": 0, "replay_errors": 0, "crc_errors": 0, "utilization": 99,
    }  # fmt: skip
    assert values(result, "gpu-clean", "gpu0")["job_processes"] == 1


def test_the_raw_answers_of_nvml_are_the_evidence() -> None:
    (evidence,) = by_nvml(NVML)[0].evidence

    assert '"temperature": 52' in evidence.text
    assert " link " not in evidence.text


@pytest.mark.parametrize("kind", [MISSING, ERROR, NOT_CAPTURED])
def test_without_nvml_the_tool_is_asked(kind: str) -> None:
    source = FakeSource(
        {"/proc/1488/cgroup": JOB["/proc/565/cgroup"]},
        {SMI: shared(BURN.format("smi-q-x.load3.xml"))},
        {"nvml": CouldNotMeasure(kind, "no NVML")},
    )

    result = GPU.run(source, ProbeContext())

    assert values(result, "gpu-temperature", "gpu1")["temperature"] == 70


def test_nvml_that_hangs_is_hung_and_the_tool_is_not_started_into_the_same_driver() -> None:
    result, asked = by_nvml(CouldNotMeasure(HUNG, "no answer after 8 s"))

    assert {one.kind for one in result.problems} == {HUNG}
    assert asked == ["nvml"]


def test_the_packed_agent_asks_nvml_in_an_interpreter_without_site_packages(tmp_path: Path) -> None:
    packed = tmp_path / "readiness-agent.pyz"
    build = [sys.executable, str(ROOT / "agents" / "build_pyz.py"), "-o", str(packed)]
    subprocess.run(build, check=True, capture_output=True)

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(packed)], check=True, capture_output=True, text=True
    )

    assert json.loads(done.stdout).keys() in ({"answers"}, {"problem"})


def test_an_answer_of_nvml_that_is_none_lets_the_tool_be_asked() -> None:
    assert by_nvml({"gpus": 3})[1] == ["nvml", SMI]


def test_links_and_errors_of_the_tool_go_to_the_gpu_with_their_uuid() -> None:
    result = by_tool(shared(BURN.format("nvlink-s.load3")), shared(BURN.format("nvlink-e.load3")))

    assert values(result, "gpu-nvlink-links", "gpu0") == {"links_up": 18, "links": 18, "link_speed_min": 26.562}
    assert values(result, "gpu-nvlink-errors", "gpu1") == {
        "recovery_errors": 0, "replay_errors": 0, "crc_errors": 0, "utilization": 98,
    }  # fmt: skip


def test_inactive_links_are_counted_as_links_that_are_not_up() -> None:
    text = shared(BURN.format("nvlink-s.load3")).replace("Link 7: 26.562 GB/s", "Link 7: <inactive>", 1)

    assert values(by_tool(text), "gpu-nvlink-links", "gpu0") == {"links_up": 17, "links": 18, "link_speed_min": 26.562}


def test_all_links_inactive_is_zero_up_and_no_speed() -> None:
    uuid = "GPU-00000000-0000-4000-8000-000000000001"
    text = f"GPU 0: NVIDIA H200 (UUID: {uuid})\nNVML: Unable to retrieve NVLink information as all links are inActive\n"

    assert values(by_tool(text), "gpu-nvlink-links", "gpu0") == {"links_up": 0, "links": 0}


def test_a_card_that_has_no_nvlink_is_missing_it_and_not_without_faults() -> None:
    uuid = "GPU-00000000-0000-4000-8000-000000000001"
    result = by_tool(f"GPU 0: NVIDIA H200 (UUID: {uuid})\nDevice does not have or support Nvlink\n")

    assert values(result, "gpu-nvlink-links", "gpu0") == {}
    assert ("gpu0", MISSING) in problems(result, "gpu-nvlink-links")
    assert ("gpu1", UNREADABLE) in problems(result, "gpu-nvlink-links")


def test_a_list_of_links_that_was_cut_is_unreadable() -> None:
    text = shared(BURN.format("nvlink-s.load3"))
    result = by_tool(text[: text.rindex("26.562")] + "26")

    assert values(result, "gpu-nvlink-links", "gpu0")["links_up"] == 18
    assert problems(result, "gpu-nvlink-links") == [("gpu1", UNREADABLE)]


def test_links_whose_tool_hangs_are_hung_and_the_other_items_are_not() -> None:
    result = by_tool(CouldNotMeasure(HUNG, "nvidia-smi: no answer after 3 s"))

    assert {kind for _, kind in problems(result, "gpu-nvlink-links")} == {HUNG}
    assert values(result, "gpu-ecc", "gpu0")["volatile_uncorrectable"] == 0


def test_a_link_that_the_report_does_not_show_is_read_from_the_bus() -> None:
    files = bus(
        "0000:00:06.0", vendor="0x10de\n", **{"class": "0x030200\n"}, current_link_width="8\n", max_link_width="16\n",
        current_link_speed="2.5 GT/s PCIe\n", max_link_speed="32.0 GT/s PCIe\n",
    )  # fmt: skip
    files.update(bus("0000:00:07.0", vendor="0x10de\n", **{"class": "0x030200\n"}))
    report = shared(BURN.format("smi-q-x.idle0.xml")).replace("_link_width>16x", "_link_width>N/A")

    result = GPU.run(FakeSource(files, {SMI: report}), ProbeContext())

    assert values(result, "gpu-pcie-width", "gpu0") == {"width": 8, "width_max": 16}
    assert problems(result, "gpu-pcie-width") == [("gpu1", UNREADABLE)]


def test_the_link_of_a_gpu_that_the_driver_does_not_show_is_read_from_the_bus() -> None:
    files = bus("0000:00:05.0", vendor="0x10de\n", **{"class": "0x030200\n"}, current_link_width="4\n")
    files.update(bus("0000:00:06.0", vendor="0x10de\n", **{"class": "0x030200\n"}))
    files.update(bus("0000:00:07.0", vendor="0x10de\n", **{"class": "0x030200\n"}))

    result = GPU.run(FakeSource(files, {SMI: shared(BURN.format("smi-q-x.idle0.xml"))}), ProbeContext())

    assert values(result, "gpu-pcie-width", "gpu0") == {"width": 4}
    assert ("gpu0", MISSING) in problems(result, "gpu-ecc")


def test_a_bus_with_devices_and_no_gpu_proves_that_none_is_visible() -> None:
    files = bus("0000:00:03.0", vendor="0x1af4\n", **{"class": "0x020000\n"})

    result = GPU.run(FakeSource(files), ProbeContext())

    assert values(result, "gpu-present") == {"gpus_visible": 0}
    assert {one.kind for one in result.problems} == {MISSING}


def test_a_gpu_on_the_bus_without_a_tool_to_ask_is_unknown() -> None:
    files = bus("0000:00:05.0", vendor="0x10de\n", **{"class": "0x030200\n"})

    assert GPU.run(FakeSource(files), ProbeContext()).facts == ()


def test_a_gpu_that_nvml_calls_lost_is_lost_and_its_neighbour_is_not() -> None:
    answer = json.loads(json.dumps(NVML))
    answer["gpus"][0]["errors"]["temperature"] = 15

    result, _ = by_nvml(answer)

    assert values(result, "gpu-present") == {"gpus_visible": 2, "gpus_lost": 1}
    assert problems(result, "gpu-nvlink-links") == [("gpu0", ERROR)]
    assert values(result, "gpu-nvlink-links", "gpu1")["links_up"] == 18
