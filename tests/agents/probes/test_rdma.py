"""RDMA network cards: which take part in training, their links, their drops and their queues."""

from __future__ import annotations

import pytest

from readiness_agent.facts import EVERY_SUBJECT, MISSING, UNREADABLE, CouldNotMeasure, ProbeResult
from readiness_agent.probes.nic import NIC_QUEUES, share_of_drops
from readiness_agent.probes.rdma import RDMA
from readiness_agent.source import Json, ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.parsers.test_network_cards import CHANNELS, RINGS, STATISTICS
from tests.agents.probes.fake_source import FakeSource, problems, values

ROOT = "/sys/class/infiniband"


def port(device: str, pci: str = "0000:1a:00.0", layer: str = "InfiniBand", **changes: str) -> dict[str, str]:
    """The files of one device with one port, as the kernel writes them."""
    files = {
        f"{device}/hca_type": "MT4129\n",
        f"{device}/device/uevent": f"DRIVER=mlx5_core\nPCI_SLOT_NAME={pci}\n",
        f"{device}/ports/1/state": "4: ACTIVE\n",
        f"{device}/ports/1/phys_state": "5: LinkUp\n",
        f"{device}/ports/1/rate": "400 Gb/sec (4X NDR)\n",
        f"{device}/ports/1/link_layer": f"{layer}\n",
        f"{device}/ports/1/counters/link_downed": "0\n",
        f"{device}/ports/1/counters/symbol_error": "0\n",
        f"{device}/ports/1/counters/port_rcv_packets": "317548853677\n",
        f"{device}/ports/1/counters/port_rcv_errors": "14\n",
        f"{device}/ports/1/counters/port_xmit_discards": "0\n",
    }
    files.update({f"{device}/{name.replace('__', '/')}": text for name, text in changes.items()})
    return {f"{ROOT}/{name}": text for name, text in files.items()}


def h100_node() -> dict[str, str]:
    """A node's files from ``grep -r . /sys/class/infiniband``."""
    files = {}
    for line in shared("cases/ib/h100_sysfs_grep.txt").splitlines():
        path, _, text = line.partition(":")
        files[path] = text + "\n"
    return files


def measure(files: dict[str, str], commands: dict[str, str] | None = None, before: Json = None) -> ProbeResult:
    calls: dict[str, Json | CouldNotMeasure] = {} if before is None else {"drop counters": before}
    return RDMA.run(FakeSource(files, commands, calls), ProbeContext())


def test_the_eight_ndr_cards_of_a_real_node_take_part_and_its_bond_does_not() -> None:
    result = measure(h100_node())

    assert {one.subject for one in result.facts} == {f"nic{place}" for place in range(8)}
    assert values(result, "rdma-link", "nic0") == {
        "device": "mlx5_0", "state": "ACTIVE", "physical_state": "LinkUp", "rate": 400, "link_downed": 0,
        "symbol_errors": 0,
    }  # fmt: skip


def test_a_counter_that_stands_at_its_ceiling_is_told_as_it_is() -> None:
    result = measure(h100_node())

    assert values(result, "rdma-link", "nic1")["link_downed"] == 255
    assert values(result, "rdma-link", "nic1")["device"] == "mlx5_1"


def test_drops_of_an_infiniband_port_are_its_receive_errors_and_send_discards() -> None:
    facts = values(measure(h100_node()), "nic-drop-rate", "nic0")

    assert (facts["packets"], facts["discarded"]) == (317548853677, 14)
    assert facts["counters"] == "port_rcv_errors + port_xmit_discards of port_rcv_packets"


def test_cards_are_numbered_by_their_pci_address() -> None:
    files = {**port("mlx5_0", "0000:9a:00.0"), **port("mlx5_1", "0000:1a:00.0")}

    assert values(measure(files), "rdma-link", "nic0")["device"] == "mlx5_1"


def test_a_link_that_is_down_has_no_rate() -> None:
    files = port(
        "mlx5_0",
        ports__1__state="1: DOWN\n",
        ports__1__phys_state="3: Disabled\n",
        ports__1__rate="10 Gb/sec (4X SDR)\n",
    )

    facts = values(measure(files), "rdma-link", "nic0")

    assert (facts["state"], facts["physical_state"]) == ("DOWN", "Disabled")
    assert "rate" not in facts


def test_a_node_without_rdma_cards_is_missing_them() -> None:
    result = measure({})

    assert result.facts == ()
    assert set(problems(result, "rdma-link")) == {(EVERY_SUBJECT, MISSING)}


def test_a_file_in_other_words_is_unreadable_for_its_card_only() -> None:
    files = {**port("mlx5_0", "0000:1a:00.0", ports__1__state="N/A\n"), **port("mlx5_1", "0000:2a:00.0")}

    result = measure(files)

    assert problems(result, "rdma-link") == [("nic0", UNREADABLE)]
    assert values(result, "rdma-link", "nic1")["state"] == "ACTIVE"


ROCE = {
    **port(
        "mlx5_0", layer="Ethernet", ports__1__hw_counters__out_of_sequence="3\n",
        ports__1__hw_counters__packet_seq_err="1\n", ports__1__hw_counters__local_ack_timeout_err="0\n",
    ),
    f"{ROOT}/mlx5_0/device/net/ens1f0np0/mtu": "4200\n",
}  # fmt: skip


def test_drops_of_a_roce_card_are_those_of_its_wire_and_of_its_transport() -> None:
    facts = values(measure(ROCE, {"ethtool -S ens1f0np0": STATISTICS}), "nic-drop-rate", "nic0")

    assert (facts["packets"], facts["discarded"]) == (99887766, 12 + 3 + 1)


def test_a_roce_card_without_such_counters_is_unreadable() -> None:
    result = measure(ROCE, {"ethtool -S ens1f0np0": "NIC statistics:\n     rx_packets: 7\n"})

    assert problems(result, "nic-drop-rate") == [("nic0", UNREADABLE)]
    assert values(result, "rdma-link", "nic0")["state"] == "ACTIVE"


def test_the_share_of_drops_is_that_since_the_previous_look() -> None:
    files = port("mlx5_0", ports__1__counters__port_rcv_errors="114\n")

    result = measure(files, before={"mlx5_0": [317547853677, 14]})

    assert values(result, "nic-drop-rate", "nic0")["drop_share"] == 0.01


def test_a_first_look_has_no_share() -> None:
    assert "drop_share" not in values(measure(port("mlx5_0")), "nic-drop-rate", "nic0")


@pytest.mark.parametrize(
    ("before", "now", "share"),
    [
        ((1000, 0), (2000, 1), 0.1),
        ((1000, 5), (1000, 5), 0),
        ((1000, 5), (1000, 6), 100),
        ((5000, 9), (2000, 1), 0.05),
    ],
)
def test_a_counter_that_went_back_was_reset(before: tuple[int, int], now: tuple[int, int], share: float) -> None:
    assert share_of_drops(before, now) == share


def queues(files: dict[str, str], rings: str = RINGS) -> ProbeResult:
    commands = {"ethtool -g ens1f0np0": rings, "ethtool -l ens1f0np0": CHANNELS}
    return NIC_QUEUES.run(FakeSource(files, commands), ProbeContext())


def test_queues_of_a_roce_card_are_those_that_are_set() -> None:
    assert values(queues(ROCE), "nic-queue-depth", "nic0") == {
        "link_layer": "Ethernet", "model": "MT4129", "rx_ring": 1024, "tx_ring": 2048, "channels": 48,
    }  # fmt: skip


def test_infiniband_has_no_such_queues_in_its_data_path() -> None:
    assert values(queues(port("mlx5_0")), "nic-queue-depth", "nic0") == {
        "link_layer": "InfiniBand", "model": "MT4129",
    }  # fmt: skip


def test_rings_that_are_not_shown_are_unreadable() -> None:
    result = queues(ROCE, "netlink error: Operation not supported\n")

    assert problems(result, "nic-queue-depth") == [("nic0", UNREADABLE)]
