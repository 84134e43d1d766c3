"""Seven minutes of full load on two real H200s, replayed one snapshot further each time: what each of them proves.

The capture is cut by leaving out the files that say when a later snapshot was taken, as anybody could. Expected
verdicts are those of the capture's README; loaded seconds are the differences of its ``unixtime`` files, the first
counting for 60 s at most: 1795983560, …660, …761 and …861 (load0 to load3) after 1795983459 (idle1).
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.journeys.user import Agent, ClusterOfMine, Portal

SNAPSHOTS = ("idle0", "idle1", "load0", "load1", "load2", "load3", "after")
NEED_LOAD = {"gpu-temperature", "gpu-clock-throttle", "gpu-pcie-generation", "gpu-nvlink-errors"}
LOADED = {"idle0": 0, "idle1": 0, "load0": 60, "load1": 160, "load2": 261}
ALWAYS = {
    "gpu-present": "pass",
    "gpu-ecc": "pass",
    "gpu-pcie-width": "pass",
    "gpu-fabric": "pass",
    "gpu-nvlink-links": "pass",
    "mem-oom": "pass",
    "sysctl-file-max": "pass",
    "ulimit-memlock": "pass",
    "sysctl-somaxconn": "fail",
    "sysctl-syn-backlog": "fail",
    "sysctl-netdev-backlog": "fail",
    "ulimit-nofile": "fail",
    "clock-sync": "fail",
    "sysctl-swappiness": "na",
    "rdma-link": "na",
    "checkpoint-mount": "unknown",
}
LIVE = {
    "sysctl-somaxconn": 4096,
    "sysctl-syn-backlog": 4096,
    "sysctl-netdev-backlog": 1000,
    "ulimit-nofile": 20000,
    "clock-sync": False,
}

Said = dict[str, list[list[str]]]


@pytest.fixture(scope="module")
def cluster(portal: Portal) -> ClusterOfMine:
    return portal.cluster("burning", profile="2xh200-virtual")


@pytest.fixture(scope="module", params=SNAPSHOTS)
def until(
    request: pytest.FixtureRequest,
    portal: Portal,
    cluster: ClusterOfMine,
    shared_captures: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Said]:
    """The last snapshot that was replayed, and the lines that the agent printed then, by item."""
    last: str = request.param
    place = tmp_path_factory.mktemp(last)
    capture, home = place / "capture", place / "agent"
    later = (f"unixtime.{name}" for name in SNAPSHOTS[SNAPSHOTS.index(last) + 1 :])
    shutil.copytree(shared_captures / "h200x2-burn", capture, ignore=shutil.ignore_patterns(*later))
    home.mkdir(mode=0o700)
    agent = Agent(home)
    told = ("--portal", portal.url, "--token-file", "-", "--origin", "replay", "--hostname", f"h200-{last}")
    enrolled = agent("enroll", *told, stdin=cluster.enrolment_token)
    assert enrolled.returncode == 0, enrolled.stderr
    done = agent("replay", str(capture))
    assert done.returncode == 0, done.stderr
    return last, said_in(done)


def said_in(done: subprocess.CompletedProcess[str]) -> Said:
    said: Said = {}
    for line in done.stdout.splitlines():
        words = line.split()
        said.setdefault(words[1], []).append(words)
    return said


def verdicts(said: Said, item: str) -> set[str]:
    return {words[0].lower() for words in said[item]}


def test_what_needs_no_load_is_told_by_every_snapshot(until: tuple[str, Said]) -> None:
    _, said = until

    assert {item: verdicts(said, item) for item in ALWAYS} == {item: {verdict} for item, verdict in ALWAYS.items()}


def test_what_needs_load_is_proved_by_five_minutes_of_it_and_by_nothing_less(until: tuple[str, Said]) -> None:
    last, said = until

    if last in LOADED:
        lines = {item: " ".join(words[3:]) for item in NEED_LOAD for words in said[item]}
        assert lines == dict.fromkeys(NEED_LOAD, f"not_loaded: loaded {LOADED[last]} s of 300")
    else:
        assert {item: verdicts(said, item) for item in NEED_LOAD} == {item: {"pass"} for item in NEED_LOAD}


def test_a_gpu_that_a_job_uses_is_not_judged_clean_or_dirty(until: tuple[str, Said]) -> None:
    last, said = until

    assert verdicts(said, "gpu-clean") == ({"unknown"} if last.startswith("load") else {"pass"})


def test_the_gate_stops_the_node_for_what_fails_and_never_for_load_that_is_missing(
    cluster: ClusterOfMine, until: tuple[str, Said]
) -> None:
    answer = cluster.gate(nodes=f"h200-{until[0]}")
    failed = {one["item"]: one["value"] for one in answer["reasons"] if one["verdict"] == "fail"}

    assert answer["decision"] == "not_ready"
    assert failed == LIVE
    assert not NEED_LOAD & {one["item"] for one in answer["reasons"]}


def test_what_the_capture_leaves_out_of_the_nodes_configuration_was_not_captured(until: tuple[str, Said]) -> None:
    (words,) = until[1]["checkpoint-mount"]

    assert words[2] == "not_captured:"
