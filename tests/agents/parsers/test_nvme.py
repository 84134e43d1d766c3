"""The health of an NVMe disk, from ``nvme smart-log`` and from ``smartctl``."""

from __future__ import annotations

import pytest

from readiness_agent.facts import Unreadable
from readiness_agent.parsers.nvme import NvmeHealth, parse_smart_log, parse_smartctl

SMART_LOG = """{
  "critical_warning" : 0, "temperature" : 311, "avail_spare" : 100, "spare_thresh" : 10, "percent_used" : 3,
  "media_errors" : 0, "num_err_log_entries" : 12
}"""
SMARTCTL = """{"json_format_version": [1, 0], "device": {"name": "/dev/nvme0", "type": "nvme"},
 "nvme_smart_health_information_log": {"critical_warning": 4, "temperature": 38, "available_spare": 5,
 "available_spare_threshold": 10, "percentage_used": 91, "media_errors": 2}}"""


def test_a_healthy_disk_in_the_words_of_nvme_cli() -> None:
    assert parse_smart_log(SMART_LOG) == NvmeHealth(critical_warning=0, spare=100, spare_threshold=10, used=3)


def test_a_newer_nvme_cli_spells_the_warnings_out() -> None:
    text = SMART_LOG.replace('"critical_warning" : 0', '"critical_warning" : {"value" : 2, "available_spare" : 0}')

    assert parse_smart_log(text).critical_warning == 2


def test_a_worn_disk_in_the_words_of_smartctl() -> None:
    assert parse_smartctl(SMARTCTL) == NvmeHealth(critical_warning=4, spare=5, spare_threshold=10, used=91)


@pytest.mark.parametrize("end", range(0, len(SMART_LOG), 11))
def test_a_log_that_is_cut_is_unreadable(end: int) -> None:
    with pytest.raises(Unreadable):
        parse_smart_log(SMART_LOG[:end])


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"critical_warning": 0}', SMART_LOG.replace("100", '"N/A"'), SMART_LOG.replace("100", "-1"), "null"],
)
def test_a_log_that_lacks_a_value_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_smart_log(text)


def test_a_disk_that_smartctl_cannot_open_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        parse_smartctl('{"smartctl": {"exit_status": 2, "messages": [{"string": "Permission denied"}]}}')
