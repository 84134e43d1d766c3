"""Kernel settings of a node: live, at the next boot, and what the network queues dropped."""

from __future__ import annotations

from readiness_agent.facts import DENIED, NOT_CAPTURED, CouldNotMeasure, ProbeResult
from readiness_agent.probes.kernel import KERNEL
from readiness_agent.source import ProbeContext
from tests.agents.parsers.inputs import shared
from tests.agents.probes.fake_source import FakeSource, problems, values

LIVE = {
    "/proc/sys/vm/swappiness": "1\n",
    "/proc/sys/net/core/somaxconn": "65535\n",
    "/proc/sys/net/ipv4/tcp_max_syn_backlog": "65535\n",
    "/proc/sys/net/core/netdev_max_backlog": "5000\n",
    "/proc/sys/fs/file-max": "2466165\n",
    "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
    "/proc/net/softnet_stat": "0000a000 00000010 00000001\n",
}
TUNED = {"/etc/sysctl.d/90-training.conf": "# training\nvm.swappiness = 1\nnet.core.netdev_max_backlog = 250000\n"}


def measure(files: dict[str, str | CouldNotMeasure], **more: str) -> ProbeResult:
    return KERNEL.run(FakeSource(files, **more), ProbeContext())


def test_a_live_value_and_the_file_that_sets_it_are_reported() -> None:
    result = measure({**LIVE, **TUNED})

    assert values(result, "sysctl-netdev-backlog") == {
        "live": 5000, "configured": 250000, "configured_state": "set",
        "configured_by": "/etc/sysctl.d/90-training.conf:3", "softnet_dropped": 16,
    }  # fmt: skip


def test_a_key_that_no_file_sets_is_unset() -> None:
    assert values(measure({**LIVE, **TUNED}), "sysctl-somaxconn") == {"live": 65535, "configured_state": "unset"}


def test_swappiness_comes_with_the_number_of_swap_devices() -> None:
    assert values(measure({**LIVE, **TUNED}), "sysctl-swappiness") == {
        "live": 1, "configured": 1, "configured_state": "set",
        "configured_by": "/etc/sysctl.d/90-training.conf:2", "swap_devices": 0,
    }  # fmt: skip


def test_a_configured_text_that_is_no_number_is_set_without_a_value() -> None:
    result = measure({**LIVE, "/etc/sysctl.d/a.conf": "fs.file-max = lots\n"})

    assert values(result, "sysctl-file-max") == {
        "live": 2466165, "configured_state": "set", "configured_by": "/etc/sysctl.d/a.conf:1",
    }  # fmt: skip


def test_a_file_that_may_not_be_read_leaves_the_configuration_unknown() -> None:
    result = measure({**LIVE, **TUNED, "/etc/sysctl.d/99-x.conf": CouldNotMeasure(DENIED, "not allowed")})

    assert values(result, "sysctl-somaxconn") == {"live": 65535}


def test_directories_that_were_not_captured_leave_the_configuration_unknown() -> None:
    assert values(measure(dict(LIVE), absent=NOT_CAPTURED), "sysctl-somaxconn") == {"live": 65535}


def test_a_node_without_any_such_file_leaves_every_key_unset() -> None:
    assert values(measure(dict(LIVE)), "sysctl-somaxconn") == {"live": 65535, "configured_state": "unset"}


def test_a_capture_that_holds_only_the_output_of_sysctl_gives_the_live_values() -> None:
    source = FakeSource({}, {"sysctl -a": shared("captures/h200x2/sysctl.txt")}, absent=NOT_CAPTURED)

    result = KERNEL.run(source, ProbeContext())

    live = {item: values(result, item).get("live") for item in KERNEL.items}
    assert live == {
        "sysctl-swappiness": 60, "sysctl-somaxconn": 4096, "sysctl-syn-backlog": 4096,
        "sysctl-netdev-backlog": 1000, "sysctl-file-max": 26396503,
    }  # fmt: skip
    assert "swap_devices" not in values(result, "sysctl-swappiness")


def test_without_a_live_value_the_item_is_a_problem() -> None:
    files = {path: text for path, text in LIVE.items() if "somaxconn" not in path}

    result = measure(files)

    assert "live" not in values(result, "sysctl-somaxconn")
    assert len(problems(result, "sysctl-somaxconn")) == 1


def test_the_queue_counts_packets() -> None:
    units = {one.name: one.unit for one in measure({**LIVE, **TUNED}).facts if one.item == "sysctl-netdev-backlog"}

    assert (units["live"], units["configured"], units["softnet_dropped"]) == ("packets", "packets", "packets")


def test_evidence_names_each_key_with_its_value() -> None:
    (evidence,) = measure({**LIVE, **TUNED}).evidence

    assert "net.core.netdev_max_backlog = 5000 (next boot: 250000, /etc/sysctl.d/90-training.conf:3)" in evidence.text
