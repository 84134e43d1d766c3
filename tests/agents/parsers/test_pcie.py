"""PCIe links as sysfs and ``lspci -vvv`` show them."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.lspci import LspciDevice, parse_lspci
from readiness_agent.parsers.pcie import generation_of_speed, parse_width
from tests.agents.parsers.inputs import shared


@pytest.mark.parametrize(
    ("speed", "generation"),
    [
        ("2.5 GT/s PCIe", 1), ("5.0 GT/s PCIe", 2), ("8.0 GT/s PCIe", 3), ("16.0 GT/s PCIe", 4), ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6), ("8GT/s", 3), ("2.5GT/s", 1), ("5 GT/s", 2),
    ],
)  # fmt: skip
def test_each_speed_has_its_generation(speed: str, generation: int) -> None:
    assert generation_of_speed(speed) == generation


@pytest.mark.parametrize("speed", ["Unknown", "", "unknown", "3 GT/s", "32.0 GT"])
def test_a_speed_that_is_none_has_no_generation(speed: str) -> None:
    assert generation_of_speed(speed) is None


def test_the_width_of_a_link_is_a_number_of_lanes() -> None:
    assert parse_width(shared("captures/h200x2-burn/files/sys/bus/pci/devices/0000:00:06.0/current_link_width")) == 16


@pytest.mark.parametrize("text", ["0\n", "63\n", "255\n", "x16\n", "16"])
def test_a_width_that_no_link_has_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_width(text)


def gpus(text: str) -> list[LspciDevice]:
    return [device for device in parse_lspci(text) if device.is_gpu]


@pytest.mark.parametrize("name", ["h100_8gpu_reduced.txt", "h100_8gpu_full_lspci_vvv.txt"])
def test_eight_h100_run_at_full_speed_and_width_among_16_downgraded_links(name: str) -> None:
    text = shared(f"cases/lspci/{name}")

    links = [(one.width, one.width_max, one.generation, one.generation_max) for one in gpus(text)]

    assert links == [(16, 16, 5, 5)] * 8
    assert sum(1 for device in parse_lspci(text) if device.downgraded) == 16
    assert not any(device.downgraded for device in gpus(text))


def test_an_idle_t4_runs_at_2_5_of_8_gigatransfers_and_full_width() -> None:
    (t4,) = gpus(shared("cases/lspci/t4_azure.txt"))

    assert t4 == LspciDevice(
        address="0001:00:00.0", kind="3D controller", name="NVIDIA Corporation TU104GL [Tesla T4] (rev a1)",
        width=16, width_max=16, generation=1, generation_max=3, downgraded=True, numa_node=0, acs_enabled=None,
    )  # fmt: skip


def test_a_virtual_function_without_a_link_has_no_width_and_no_speed() -> None:
    devices = parse_lspci(shared("cases/lspci/t4_azure.txt"))
    (nic,) = [device for device in devices if "ConnectX-4" in device.name]

    assert (nic.width, nic.generation) == (None, None)


def test_an_excerpt_without_an_address_is_one_device_of_no_name() -> None:
    (device,) = parse_lspci(shared("cases/lspci/rtx4090_gen1_x16.txt"))

    assert (device.address, device.width, device.width_max) == ("", 16, 16)
    assert (device.generation, device.generation_max, device.downgraded) == (1, 4, True)


def test_target_speed_and_second_status_are_not_the_link() -> None:
    (device,) = parse_lspci(
        "65:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n"
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1\n"
        "\t\tLnkSta:\tSpeed 32GT/s, Width x8 (downgraded)\n"
        "\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink-\n"
        "\t\tLnkCtl2: Target Link Speed: 16GT/s, EnterCompliance-\n"
        "\t\tLnkSta2: Current De-emphasis Level: -3.5dB\n"
    )

    assert (device.address, device.width, device.generation) == ("0000:65:00.0", 8, 5)
    assert device.is_gpu


def test_access_control_is_on_when_a_bridge_validates_sources() -> None:
    on, off = parse_lspci(
        "00:01.0 PCI bridge: Intel Corporation Device 352a\n\t\tACSCap:\tSrcValid+\n\t\tACSCtl:\tSrcValid+ ReqRedir+\n"
        "\n00:02.0 PCI bridge: Intel Corporation Device 352b\n\t\tACSCtl:\tSrcValid- TransBlk-\n"
    )

    assert (on.acs_enabled, off.acs_enabled) == (True, False)
