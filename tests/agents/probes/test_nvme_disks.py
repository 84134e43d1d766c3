"""The health of the node's NVMe disks."""

from __future__ import annotations

from readiness_agent.facts import DENIED, ERROR, MISSING, CouldNotMeasure, ProbeResult
from readiness_agent.probes.nvme import NVME
from readiness_agent.source import ProbeContext
from tests.agents.parsers.test_nvme import SMART_LOG, SMARTCTL
from tests.agents.probes.fake_source import Answer, FakeSource, ended, problems, values

DISKS = {"/sys/class/nvme/nvme0/model": "ACME 7.68 TB\n", "/sys/class/nvme/nvme1/model": "ACME 7.68 TB\n"}
LOG = "nvme smart-log -o json /dev/{}"
OTHER = "smartctl -j -a /dev/{}"


def measure(commands: dict[str, Answer], files: dict[str, str] | None = None) -> ProbeResult:
    return NVME.run(FakeSource(DISKS if files is None else files, commands), ProbeContext())


def test_two_healthy_disks() -> None:
    result = measure({LOG.format("nvme0"): SMART_LOG, LOG.format("nvme1"): SMART_LOG.replace(": 3", ": 41")})

    assert values(result, "nvme-health") == {
        "disks": 2, "critical_warnings": 0, "spare_left_min": 90, "wear_max": 41,
    }  # fmt: skip


def test_a_worn_disk_is_found_by_smartctl_where_there_is_no_nvme_cli() -> None:
    result = measure({OTHER.format("nvme0"): SMARTCTL, OTHER.format("nvme1"): ended(SMARTCTL, 8)})

    assert values(result, "nvme-health") == {
        "disks": 2, "critical_warnings": 2, "spare_left_min": -5, "wear_max": 91,
    }  # fmt: skip


def test_a_disk_that_cannot_be_asked_leaves_what_the_others_say_and_is_a_problem_beside_it() -> None:
    result = measure({LOG.format("nvme0"): SMART_LOG.replace('"critical_warning" : 0', '"critical_warning" : 1')})

    assert values(result, "nvme-health")["critical_warnings"] == 1
    assert problems(result, "nvme-health") == [("", MISSING)]


def test_without_permission_it_is_denied() -> None:
    denied = CouldNotMeasure(DENIED, "nvme: not allowed for this user")

    result = measure({LOG.format("nvme0"): denied, LOG.format("nvme1"): denied})

    assert problems(result, "nvme-health") == [("", DENIED)]


def test_a_tool_that_fails_is_an_error() -> None:
    failed = ended("", 1, "NVMe status: Invalid Field\n")

    result = measure({LOG.format("nvme0"): failed, LOG.format("nvme1"): failed})

    assert problems(result, "nvme-health") == [("", ERROR)]


def test_a_node_without_nvme_disks_is_missing_them() -> None:
    assert problems(measure({}, {}), "nvme-health") == [("", MISSING)]
