"""What reports of nvidia-smi, ulimit and sysctl say beyond the checklist."""

from __future__ import annotations

import pytest

from readiness_agent.parsers.kinds import DETAILS
from readiness_agent.parsers.saved import Saved
from tests.agents.parsers.inputs import shared
from tests.agents.parsers.saved_outputs import complaints, facts


def details(kind: str, path: str) -> Saved:
    return DETAILS[kind](shared(path))


def test_an_h100_in_plain_text() -> None:
    saved = details("nvidia-smi -q", "cases/smi_q/h100_590_idle_q.txt")

    assert facts(saved) == {
        "driver_version": "590.48.01", "cuda_version": "13.1", "attached_gpus": 1, "gpus_described": 1,
    }  # fmt: skip
    found = facts(saved, "gpu0")
    assert (found["product"], found["performance"], found["persistence"], found["mig"]) == (
        "NVIDIA H100 80GB HBM3", "P0", True, False,
    )  # fmt: skip
    assert (found["pcie_replays"], found["recovery_action"], found["remap_banks_max"]) == (9, "None", 2560)
    assert (found["power"], found["power_limit"], found["bus_id"]) == (69.62, 700, "0000:00:09.0")
    assert (found["idle"], found["sw_power_cap_active"]) == (True, False)
    assert "host_generation_max" not in found


def test_a_deprecated_driver_line_ends_where_its_version_ends() -> None:
    saved = details("nvidia-smi -q", "cases/smi_q/rtx2080s_610_idle_q.txt")

    assert (facts(saved)["driver_version"], facts(saved)["cuda_version"]) == ("610.57.04", "13.3")
    found = facts(saved, "gpu0")
    assert (found["performance"], found["persistence"], found["host_generation_max"]) == ("P8", False, 4)
    assert "remapped_uncorrectable" not in found


def test_mig_instances_are_no_gpus() -> None:
    saved = details("nvidia-smi -q", "cases/smi_q/h100_mig_590_idle_q.txt")

    assert (facts(saved)["gpus_described"], facts(saved, "gpu0")["mig"]) == (1, True)
    assert facts(saved)["mig_instances"] == 4


def test_eight_attached_and_one_described() -> None:
    saved = details("nvidia-smi -q", "cases/smi_q/a100_remap_pending_510_excerpt.txt")

    assert (facts(saved)["attached_gpus"], facts(saved)["gpus_described"]) == (8, 1)
    found = facts(saved, "gpu0")
    assert (found["bus_id"], found["remapped_correctable"], found["remapped_uncorrectable"]) == ("0000:10:1c.0", 1, 0)
    assert (found["dram_correctable"], found["aggregate_dram_correctable"]) == (177, 177)
    assert "8 attached GPUs" in complaints(saved)


def test_reasons_under_their_new_and_their_old_name() -> None:
    new = facts(details("nvidia-smi -q", "cases/smi_q/clocks_event_sw_power_cap.txt"), "gpu0")
    old = facts(details("nvidia-smi -q", "cases/smi_q/clocks_throttle_old_name.txt"), "gpu0")

    assert (new["sw_power_cap_active"], new["idle"]) == (True, False)
    assert (old["sw_power_cap_active"], old["idle"]) == (False, True)


def test_a_sentence_in_place_of_yes_or_no_is_neither() -> None:
    found = facts(details("nvidia-smi -q", "cases/smi_q/reset_status_deprecated_575.txt"), "gpu0")

    assert found["recovery_action"] == "None"
    assert "reset_required" not in found


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("rtx3080_595_v13.xml", {"power": 142.33, "persistence": False, "performance": "P2"}),
        ("rtx4090_535.xml", {"host_generation_max": 3, "device_generation_max": 4, "persistence": True}),
        ("a100_40_mig_510.xml", {"power": 66.92, "persistence": False, "mig": True}),
        ("t4_515.xml", {"product": "Tesla T4", "performance": "P0", "persistence": False}),
        ("rtxpro6000_580_fragment.xml", {"power": 66.84, "performance": "P8"}),
    ],
)
def test_details_of_one_gpu_in_xml(file: str, expected: dict[str, object]) -> None:
    found = facts(details("nvidia-smi -q -x", f"cases/smi_xml/{file}"), "gpu0")

    assert {name: found[name] for name in expected} == expected


def test_a_windows_driver_tells_no_persistence() -> None:
    saved = details("nvidia-smi -q -x", "cases/smi_xml/rtx2080_win_516.xml")

    assert facts(saved)["driver_version"] == "516.59"
    assert "persistence" not in facts(saved, "gpu0")


def test_four_attached_and_one_described_in_xml() -> None:
    saved = details("nvidia-smi -q -x", "cases/smi_xml/a100_sxm4_80_mig_535.xml")

    assert (facts(saved)["attached_gpus"], facts(saved)["gpus_described"]) == (4, 1)


def test_every_limit_of_a_shell_in_its_own_unit() -> None:
    found = facts(details("ulimit", "cases/system/ulimit_memlock_64.txt"))

    assert (found["max locked memory"], found["open files"], found["stack size"]) == (64, 1024, 8192)
    assert found["cpu time"] == "unlimited"


def test_every_setting_that_files_make_is_told_as_the_last_one_has_it() -> None:
    found = facts(details("sysctl files", "cases/system/sysctl_d_grep_override.txt"))

    assert found == {
        "net.core.netdev_max_backlog": 30000, "net.core.rmem_max": 3276800, "net.core.wmem_max": 3276800,
        "net.ipv4.tcp_wmem": "4096 87380 16777216", "net.ipv4.tcp_rmem": "4096 87380 16777216",
    }  # fmt: skip


def test_one_file_of_settings() -> None:
    saved = DETAILS["sysctl conf"]("# tuned\nnet.core.somaxconn = 65535\n-net.core.rmem_max=1\nvm.swappiness=1\n")

    assert facts(saved) == {"net.core.somaxconn": 65535, "net.core.rmem_max": 1, "vm.swappiness": 1}
