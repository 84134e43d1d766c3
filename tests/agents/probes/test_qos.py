"""The lossless class of RoCE cards, and whether NCCL's traffic falls into it."""

from __future__ import annotations

import pytest

from readiness_agent.facts import EVERY_SUBJECT, MISSING, UNREADABLE, ProbeResult, Unreadable
from readiness_agent.parsers.roce import parse_mlnx_qos
from readiness_agent.probes.qos import NCCL_CONF, QOS
from readiness_agent.source import ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.probes.fake_source import FakeSource, ended, problems, values
from tests.agents.probes.test_rdma import ROOT, port

PRIORITY_3 = """\
DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: vendor
"""
SAID = "trust dscp, pfc 0x08, dscp 0-7:0 24-31:3, buffers 130944,130944,0,0,0,0,0,0"
CONF = "# fabric\nNCCL_IB_TC=106\nNCCL_IB_GID_INDEX=3\n"


def card(device: str, pci: str) -> dict[str, str]:
    """A RoCE card whose address 3 is of RoCE v2."""
    return {
        **port(device, pci, "Ethernet", ports__1__gid_attrs__types__3="RoCE v2\n"),
        f"{ROOT}/{device}/device/net/eth_{device}/mtu": "4200\n",
    }


def measure(conf: str | None = CONF, second: str | None = PRIORITY_3) -> ProbeResult:
    files = {**card("mlx5_0", "0000:1a:00.0"), **card("mlx5_1", "0000:2a:00.0")}
    if conf is not None:
        files[NCCL_CONF] = conf
    commands = {"mlnx_qos -i eth_mlx5_0": ended(PRIORITY_3)}
    if second is not None:
        commands["mlnx_qos -i eth_mlx5_1"] = ended(second)
    return QOS.run(FakeSource(files, commands), ProbeContext())


def test_all_settings_of_a_card_are_one_text() -> None:
    result = measure()

    assert values(result, "net-switch-qos", "nic0") == {
        "link_layer": "Ethernet", "qos": SAID, "gid_type": "RoCE v2", "traffic_class_mapped": True,
    }  # fmt: skip
    assert values(result, "net-switch-qos", "nic1") == values(result, "net-switch-qos", "nic0")


@pytest.mark.parametrize(
    ("traffic_class", "mapped"),
    [(106, True), (96, True), (127, True), (0, False), (128, False), (3, False)],
)
def test_a_traffic_class_falls_into_the_class_of_its_upper_six_bits(traffic_class: int, mapped: bool) -> None:
    """106 >> 2 is DSCP 26: in 24-31, so in priority 3. 0 is in priority 0, and 128 (DSCP 32) is mapped nowhere."""
    result = measure(f"NCCL_IB_TC = {traffic_class}\n")

    assert values(result, "net-switch-qos", "nic0")["traffic_class_mapped"] is mapped


def test_marks_count_for_nothing_where_the_card_does_not_trust_them() -> None:
    result = measure(second=PRIORITY_3.replace("trust state: dscp", "trust state: pcp"))

    assert values(result, "net-switch-qos", "nic1")["traffic_class_mapped"] is False


def test_without_a_traffic_class_nothing_tells_where_the_traffic_of_nccl_falls() -> None:
    result = measure(conf=None)

    assert problems(result, "net-switch-qos") == [(EVERY_SUBJECT, MISSING)]
    assert values(result, "net-switch-qos", "nic0") == {"link_layer": "Ethernet", "qos": SAID}


def test_a_card_whose_tool_is_missing_is_missing_alone() -> None:
    result = measure(second=None)

    assert problems(result, "net-switch-qos") == [("nic1", MISSING)]
    assert values(result, "net-switch-qos", "nic0")["qos"] == SAID


def test_infiniband_has_no_such_class() -> None:
    result = QOS.run(FakeSource(port("mlx5_0")), ProbeContext())

    assert values(result, "net-switch-qos", "nic0") == {"link_layer": "InfiniBand"}
    assert result.problems == ()


def test_a_real_card_with_four_lossless_priorities_whose_indentation_is_lost() -> None:
    """The file enables priorities 0, 2, 6 and 7: 1 + 4 + 64 + 128 = 0xc5; DSCP 26 stands in the row of priority 3."""
    found = parse_mlnx_qos(shared("cases/ib/mlnx_qos_pfc_0267.txt"))

    assert found.lossless == (0, 2, 6, 7)
    assert found.said.startswith("trust dscp, pfc 0xc5, dscp 0-7:0 8-15:1 ")
    assert (found.is_lossless(26), found.is_lossless(16)) == (False, True)


@pytest.mark.parametrize("text", ["", "Priority trust state: dscp\n", "No such device\n", PRIORITY_3[:300]])
def test_settings_that_are_cut_before_flow_control_are_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_mlnx_qos(text)
    assert problems(measure(second=text), "net-switch-qos")[0] == ("nic1", UNREADABLE)
