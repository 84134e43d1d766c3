"""Outputs in which another host's figures, or another run's, stand beside those that are asked for."""

import json
from typing import Any

import pytest

from checks.adapters.reading import OtherHost
from tests.adapters import samples
from tests.adapters.samples import problems, read, told

OURS = "gpu001 | SUCCESS:  nhc:  Health check passed:  check_fs_mount: all mounted\n"
THEIRS = "gpu002 | SUCCESS:  nhc:  Health check passed:  check_gpu_count: Expected 8 and found 8\n"
NOBODYS = "SUCCESS:  nhc:  Health check passed:  check_gpu_count: Expected 8 and found 8\n"
FIGURE = "H2D_GPU_0: 55.4 GB/s\n"
FAILURE = "ERROR:  nhc:  Health check failed:  check_gpu_ecc: GPU id 6: row remap pending. FaultCode: NHC2019\n"


def fio(*jobs: dict[str, Any], **common: str) -> str:
    """A report of several jobs, of which each read at 8.1 GB/s for five minutes unless it says otherwise."""
    document = json.loads(samples.FIO)
    sample = document["jobs"][0]
    document["global options"] = {"bs": "128k", "size": "10g", "numjobs": "16"} | common
    document["jobs"] = [
        sample | {
            "job options": {name: value for name, value in job.items() if name != "runtime"},
            "read": sample["read"] | {"bw_bytes": 8_100_000_000, "runtime": job.get("runtime", 300_000)},
        }
        for job in jobs
    ]  # fmt: skip
    return json.dumps(document, indent=1)


def test_a_figure_without_a_host_is_not_ours_where_only_others_are_named() -> None:
    with pytest.raises(OtherHost, match="gpu002"):
        read("nhc", THEIRS + FIGURE)


def test_a_figure_without_a_host_may_be_anothers_where_others_are_named_too() -> None:
    reading = read("nhc", OURS + THEIRS + FIGURE + NOBODYS)

    assert reading.facts == []
    assert [one.why for one in reading.remarks].count("other_node") == 3


def test_a_failure_without_a_host_counts_whoever_else_is_named() -> None:
    assert problems(read("nhc", OURS + THEIRS + FAILURE), "gpu-ecc") == [("error", "gpu6")]


def test_a_figure_without_a_host_is_ours_where_nobody_else_is_named() -> None:
    assert told(read("nhc", OURS + FIGURE), "gpu-peer-bandwidth", "gpu0") == {"host_to_device": 55.4}


def test_jobs_of_the_workload_that_is_asked_for_add_up() -> None:
    reading = read("fio", fio({"rw": "randread"}, {"rw": "randread"}, direct="1"))

    assert told(reading, "nvme-fio")["read_bandwidth"] == 16.2


def test_a_job_of_another_workload_adds_nothing_to_the_rate() -> None:
    reading = read("fio", fio({"rw": "randread"}, {"rw": "read", "bs": "1m"}, direct="1"))

    assert told(reading, "nvme-fio") == {}
    assert problems(reading, "nvme-fio") == [("not_captured", "")]


def test_a_job_that_read_the_page_cache_makes_the_sum_indirect() -> None:
    for jobs in (
        ({"rw": "randread", "direct": "0"}, {"rw": "randread", "direct": "1"}),
        ({"rw": "randread", "direct": "1"}, {"rw": "randread"}),
    ):
        assert told(read("fio", fio(*jobs)), "nvme-fio")["direct"] is False


def test_jobs_that_waited_for_each_other_do_not_add_up() -> None:
    reading = read("fio", fio({"rw": "randread"}, {"rw": "randread", "stonewall": ""}, direct="1"))

    assert told(reading, "nvme-fio") == {}


def test_rates_add_up_only_for_as_long_as_every_job_ran() -> None:
    reading = read("fio", fio({"rw": "randread"}, {"rw": "randread", "runtime": 2_000}, direct="1"))

    assert told(reading, "nvme-fio")["duration"] == 2.0


def test_a_text_report_of_two_workloads_proves_neither() -> None:
    text = (
        "one: (g=0): rw=randread, bs=(R) 128KiB-128KiB, ioengine=libaio\n"
        "two: (g=1): rw=read, bs=(R) 1024KiB-1024KiB, ioengine=libaio\n"
        "fio-3.36\none: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 30 11:58:00 2026\n"
        "  read: IOPS=123k, BW=15449MiB/s (16.2GB/s)(4526GiB/300001msec)\n"
    )

    assert told(read("fio", text), "nvme-fio") == {}


def test_four_gpus_that_are_named_twice_are_not_eight() -> None:
    modes = samples.modes_of()["persistence_modes"]
    twice = {"modes": [*modes[:4], *modes[:4]]}
    text = json.dumps([samples.component("accelerator-nvidia-persistence-mode", "Healthy", "all on", twice)])

    assert told(read("gpud", text), "persistence-mode") == {}


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udc00", "\\\\\\ud83d", "\\ud83d\\ud83d"])
def test_half_a_character_and_nul_are_shown_as_damage(escape: str) -> None:
    text = samples.SUPERBENCH.replace("kernel-launch", "x").replace('"disk-benchmark', f'"{escape}disk-benchmark')
    names = [one.name for one in read("superbench", text).remarks]

    assert any("\ufffd" in name for name in names)
    assert "".join(names).encode().decode() == "".join(names)


def test_a_whole_character_stays_what_it_is() -> None:
    text = samples.SUPERBENCH.replace('"disk-benchmark', '"\\ud83d\\ude00disk-benchmark')

    assert any("\U0001f600" in one.name for one in read("superbench", text).remarks)
