"""Saved outputs about InfiniBand and RoCE."""

from __future__ import annotations

import pytest

from tests.agents.parsers.inputs import shared
from tests.agents.parsers.saved_outputs import case, complaints, facts, read

SYSFS, IBSTAT, GIDS, RDMA_LINK, LSHCA, QOS = "ib sysfs", "ibstat", "ibv_devinfo gids", "rdma link", "lshca", "mlnx_qos"


def test_eight_ndr_ports_and_a_bond_from_a_search_through_sysfs() -> None:
    saved = case(SYSFS, "ib/h100_sysfs_grep.txt")

    assert facts(saved) == {"ports": 9, "ports_active": 9}
    for device in ("mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"):
        found = facts(saved, f"{device}/1")
        assert (found["state"], found["physical_state"], found["rate"]) == ("ACTIVE", "LinkUp", 400)
        assert found["port_rcv_errors"] == 14
    assert facts(saved, "mlx5_bond_0/1")["link_layer"] == "Ethernet"
    assert facts(saved, "mlx5_bond_0/1")["rate"] == 200


def test_a_counter_at_its_ceiling_is_said_to_be_at_least_that() -> None:
    saved = case(SYSFS, "ib/h100_sysfs_grep.txt")

    assert facts(saved, "mlx5_1/1")["link_downed"] == 255
    assert facts(saved, "mlx5_1/1")["link_downed_saturated"] is True
    assert "link_downed_saturated" not in facts(saved, "mlx5_0/1")
    assert "mlx5_1/1" in complaints(saved)


def test_a_device_that_cannot_be_read_ends_the_list_and_the_rest_is_kept() -> None:
    saved = case(IBSTAT, "ib/ibstat_partial_ibpanic.txt")

    assert facts(saved, "mlx5_7/1") == {
        "state": "Active", "physical_state": "LinkUp", "rate": 200, "link_layer": "InfiniBand",
    }  # fmt: skip
    assert facts(saved) == {"ports": 1, "ports_active": 1}
    assert "mlx5_8" in complaints(saved)


def test_ports_that_are_down_have_no_rate() -> None:
    saved = case(IBSTAT, "ib/ibstat_mlx4_two_ports_down.txt")

    assert facts(saved, "mlx4_0/1") == {
        "state": "Down", "physical_state": "Polling", "link_layer": "InfiniBand", "model": "MT4099",
        "firmware": "2.42.5000",
    }  # fmt: skip
    assert facts(saved, "mlx4_0/2")["physical_state"] == "Disabled"
    assert facts(saved, "mlx4_0/2")["link_layer"] == "Ethernet"
    assert facts(saved) == {"ports": 2, "ports_active": 0}


def test_two_active_links_tell_no_speed() -> None:
    saved = case(RDMA_LINK, "ib/rdma_link_show_ok.txt")

    assert facts(saved) == {"ports": 2, "ports_active": 2}
    assert facts(saved, "mlx5_1/1") == {"state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "p1p2"}


def test_the_third_address_is_the_one_that_other_nodes_reach() -> None:
    saved = case(GIDS, "ib/devinfo_gid_3_required.txt")

    assert facts(saved)["gids"] == 4
    assert facts(saved)["best_gid_index"] == 3
    assert facts(saved, "gid1") == {"gid": "fe80::200:ff:fe00:1cfb", "type": "RoCE v2", "link_local": True}
    assert facts(saved, "gid3") == {"gid": "::ffff:192.0.2.6", "type": "RoCE v2", "link_local": False}
    assert facts(saved)["physical_state"] == "LINK_UP"


def test_half_of_the_lanes_and_a_port_without_a_subnet_manager() -> None:
    saved = case(LSHCA, "ib/lshca_x8_and_init.txt")

    assert facts(saved, "mlx5_0") == {
        "pci_address": "000a:11:00.0", "netdev": "ib0", "numa_node": 2, "state": "down", "link_layer": "IB",
        "width": 8, "width_max": 16, "generation_max": 3, "model": "MT4119",
    }  # fmt: skip
    assert facts(saved, "mlx5_1")["state"] == "init"
    assert facts(saved, "mlx5_1")["rate"] == 100


def test_flow_control_is_on_for_four_priorities_and_not_for_the_one_of_dscp_26() -> None:
    found = facts(case(QOS, "ib/mlnx_qos_pfc_0267.txt"))

    assert (found["trust"], found["pfc_priorities"], found["pfc_mask"]) == ("dscp", "0 2 6 7", "0xc5")
    assert found["dscp_priorities"] == "0-7:0 8-15:1 16-23:2 24-31:3 32-39:4 40-47:5 48-55:6 56-63:7"
    assert found["dscp_26_priority"] == 3


IBDEV2NETDEV = """mlx5_0 port 1 ==> ens1f0np0 (Up)
mlx5_1 port 1 ==> ib0 (Down)
0000:9a:00.0 mlx5_2 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 fw 28.39.1002 port 1 (ACTIVE) ==> ib2 (Up)
"""
SHOW_GIDS = """DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
---     ----    -----   ---                                     ------------    ---     ---
mlx5_0  1       0       fe80:0000:0000:0000:0200:00ff:fe00:1cfb                 v1      ens1f0np0
mlx5_0  1       1       fe80:0000:0000:0000:0200:00ff:fe00:1cfb                 v2      ens1f0np0
mlx5_0  1       2       0000:0000:0000:0000:0000:ffff:c000:0206 192.0.2.6       v1      ens1f0np0
mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:c000:0206 192.0.2.6       v2      ens1f0np0
n_gids_found=4
"""


def test_devices_and_their_interfaces() -> None:
    saved = read("ibdev2netdev", IBDEV2NETDEV)

    assert facts(saved) == {"ports": 3, "ports_up": 2}
    assert facts(saved, "mlx5_0/1") == {"netdev": "ens1f0np0", "up": True}
    assert facts(saved, "mlx5_1/1") == {"netdev": "ib0", "up": False}
    assert facts(saved, "mlx5_2/1") == {"netdev": "ib2", "up": True, "state": "ACTIVE"}


def test_addresses_of_a_device_in_a_table() -> None:
    saved = read("show_gids", SHOW_GIDS)

    assert facts(saved, "mlx5_0/1") == {"gids": 4, "best_gid_index": 3, "netdev": "ens1f0np0"}
    assert facts(saved, "mlx5_0/1 gid2") == {"ipv4": "192.0.2.6", "type": "RoCE v1", "link_local": False}


def test_a_table_that_lost_rows_says_so() -> None:
    cut = SHOW_GIDS.replace("mlx5_0  1       3", "#")

    saved = read("show_gids", cut)

    assert "4" in complaints(saved)


@pytest.mark.parametrize("kind", [SYSFS, IBSTAT, GIDS, RDMA_LINK, LSHCA, QOS, "ibdev2netdev", "show_gids"])
@pytest.mark.parametrize("text", ["", "bash: ibstat: command not found\n", "{}", shared.__doc__ or ""])
def test_a_text_of_another_kind_has_no_facts_and_a_problem(kind: str, text: str) -> None:
    saved = read(kind, text)

    assert (saved.facts, bool(saved.problems)) == ((), True)
