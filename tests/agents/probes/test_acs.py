"""Access control on the bridges above GPUs and network cards."""

from __future__ import annotations

import pytest

from readiness_agent.facts import DENIED, EVERY_SUBJECT, MISSING, UNREADABLE, CouldNotMeasure, ProbeResult
from readiness_agent.probes.acs import ACS
from readiness_agent.source import ProbeContext
from tests.agents.probes.fake_source import FakeSource, ended, problems, values

DEVICES = "/sys/bus/pci/devices"
GPU, CARD, OTHER = "0000:18:00.0", "0000:19:00.0", "0000:e1:00.0"
ABOVE = "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/"
TREE = {GPU: f"{ABOVE}0000:17:00.0/{GPU}", CARD: f"{ABOVE}0000:17:01.0/{CARD}"}
LINKS = ("0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:17:01.0", "0000:e0:01.0")


class Node(FakeSource):
    def readlink(self, path: str) -> str:
        return TREE[path.rpartition("/")[2]]


def bridge(address: str, control: str) -> str:
    acs = "" if not control else f"\tCapabilities: [170 v1] Access Control Services\n\t\tACSCtl:\t{control} TransBlk-\n"
    return f"{address} PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)\n{acs}\n"


def listing(**controls: str) -> str:
    """All bridges with ACS off, except those that are named by the end of their address, as in ``_17_00_0``."""
    told = {
        address: controls.get(f"_{address[5:].replace(':', '_').replace('.', '_')}", "SrcValid-") for address in LINKS
    }
    gpu = f"{GPU} 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n\n"
    return "".join(bridge(address, control) for address, control in told.items()) + gpu


def measure(said: str | CouldNotMeasure, gpus: bool = True) -> ProbeResult:
    files: dict[str, str | CouldNotMeasure] = {
        "/sys/class/infiniband/mlx5_0/device/uevent": f"DRIVER=mlx5_core\nPCI_SLOT_NAME={CARD}\n",
    }
    if gpus:
        files |= {f"{DEVICES}/{GPU}/vendor": "0x10de\n", f"{DEVICES}/{GPU}/class": "0x030200\n"}
    answer = said if isinstance(said, CouldNotMeasure) else ended(said)
    return ACS.run(Node(files, {"lspci -D -vvv": answer}), ProbeContext())


def test_bridges_without_access_control_are_none() -> None:
    result = measure(listing(_15_01_0=""))  # the root port has no such capability at all

    assert values(result, "iommu-acs") == {"bridges_with_acs": 0}
    assert result.problems == ()


def test_those_above_a_gpu_or_a_card_are_counted() -> None:
    assert values(measure(listing(_17_00_0="SrcValid+", _17_01_0="SrcValid+")), "iommu-acs") == {"bridges_with_acs": 2}


def test_a_bridge_above_something_else_does_not_count() -> None:
    assert values(measure(listing(_e0_01_0="SrcValid+")), "iommu-acs") == {"bridges_with_acs": 0}


def test_what_lspci_shows_to_root_only_is_denied_and_not_off() -> None:
    said = listing() + "0000:15:01.0 PCI bridge: Intel Corporation Device 352a\n\tCapabilities: <access denied>\n"

    assert problems(measure(said), "iommu-acs") == [(EVERY_SUBJECT, DENIED)]


def test_a_bridge_that_the_list_does_not_show_leaves_it_unknown() -> None:
    said = listing().replace("0000:16:00.0 PCI bridge", "0000:16:00.1 PCI bridge")

    assert problems(measure(said), "iommu-acs") == [(EVERY_SUBJECT, UNREADABLE)]


def test_without_lspci_it_is_missing() -> None:
    said = CouldNotMeasure(MISSING, "lspci: not installed")

    assert problems(measure(said), "iommu-acs") == [(EVERY_SUBJECT, MISSING)]


@pytest.mark.parametrize("said", [listing()])
def test_a_node_without_a_gpu_has_nothing_to_measure(said: str) -> None:
    assert problems(measure(said, gpus=False), "iommu-acs") == [(EVERY_SUBJECT, MISSING)]
