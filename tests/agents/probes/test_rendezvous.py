"""Whether the ranks of a job can meet, as each node sees it, and the shared memory that they will have."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from readiness_agent.facts import ERROR, EVERY_SUBJECT, MISSING, ProbeResult
from readiness_agent.probes.rendezvous import RENDEZVOUS, _connect, _resolve, usable_interfaces
from readiness_agent.probes.shm import JOB_SHM, SHM
from readiness_agent.source import Json, LiveSource, ProbeContext
from tests.agents.probes.fake_source import FakeSource, ended, problems, values
from tests.agents.whoami import ME

ADDR = "ip -o -4 addr show up scope global"
ONE = "2: bond0    inet 10.20.0.7/16 brd 10.20.255.255 scope global bond0\\       valid_lft forever\n"
DOCKER = "9: docker0    inet 172.17.0.1/16 brd 172.17.255.255 scope global docker0\\       valid_lft forever\n"
STORAGE = "3: eth2.40@eth2    inet 10.40.0.7/16 scope global eth2.40\\       valid_lft forever\n"
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21 1
   1: 0700140A:A0B2 0900140A:733C 01 00000000:00000000 00:00000000 00000000  1001        0 22 1
"""
LISTENER = "   2: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 23 1\n"
CONTEXT = ProbeContext(rendezvous="gpu001")


def measure(
    addresses: str = ONE + DOCKER, resolved: Json = "10.20.0.9", answer: Json = "refused", tcp: str = TCP,
    context: ProbeContext = CONTEXT, **files: str,
) -> ProbeResult:  # fmt: skip
    calls: dict[str, Any] = {"resolve gpu001": resolved, "connect gpu001:29500": answer}
    own = {"/proc/net/tcp": tcp, **{f"/etc/{name.replace('_', '.')}": text for name, text in files.items()}}
    return RENDEZVOUS.run(FakeSource(own, {ADDR: ended(addresses)}, calls), context)


def test_a_node_that_finds_and_reaches_the_master_over_one_interface() -> None:
    assert values(measure(), "rendezvous") == {
        "master": "gpu001:29500", "interfaces": "bond0", "socket_interfaces": 1, "resolves": True,
        "is_master": False, "reaches": True,
    }  # fmt: skip


def test_a_name_that_does_not_resolve_is_reached_by_nobody() -> None:
    facts = values(measure(resolved=None), "rendezvous")

    assert facts["resolves"] is False
    assert "reaches" not in facts


def test_a_port_that_swallows_connections_is_not_reached() -> None:
    assert values(measure(answer="not possible (timed out)"), "rendezvous")["reaches"] is False


@pytest.mark.parametrize(("tcp", "taken"), [(TCP, False), (TCP + LISTENER, True)])
def test_the_master_itself_sees_whether_its_port_is_free(tcp: str, taken: bool) -> None:
    """29500 is 733C; in the table without a listener that number is only the far end of a connection."""
    facts = values(measure(resolved="10.20.0.7", tcp=tcp), "rendezvous")

    assert (facts["is_master"], facts["port_in_use"], facts["reaches"]) == (True, taken, True)


def test_two_networks_are_two_interfaces_unless_one_is_named() -> None:
    both = measure(ONE + STORAGE + DOCKER)
    named = measure(ONE + STORAGE + DOCKER, nccl_conf="NCCL_SOCKET_IFNAME=bond0\n")

    assert values(both, "rendezvous")["interfaces"] == "bond0, eth2.40"
    assert values(named, "rendezvous")["socket_interfaces"] == 1


@pytest.mark.parametrize(
    ("chosen", "usable"),
    [
        (None, ["eth0", "eth01"]),
        ("eth0", ["eth0", "eth01"]),
        ("=eth0", ["eth0"]),
        ("^docker,eth01", ["eth0"]),
        ("ib", []),
    ],
)
def test_names_are_chosen_as_nccl_chooses_them(chosen: str | None, usable: list[str]) -> None:
    assert usable_interfaces(["lo", "docker0", "eth0", "eth01"], chosen) == usable


def test_without_a_configured_place_it_is_missing() -> None:
    assert problems(measure(context=ProbeContext()), "rendezvous") == [(EVERY_SUBJECT, MISSING)]


@pytest.mark.parametrize("told", ["gpu001:0", "gpu001:99999", "gpu001:x", "-x", "a b", "http://gpu001"])
def test_anything_but_a_host_and_a_port_is_refused(told: str) -> None:
    assert problems(measure(context=ProbeContext(rendezvous=told)), "rendezvous") == [(EVERY_SUBJECT, ERROR)]


def test_this_machine_resolves_itself_and_not_what_is_nowhere() -> None:
    assert _resolve("localhost") == "127.0.0.1"
    assert _resolve("gpu001.invalid") is None


def test_a_listener_accepts_and_a_free_port_refuses() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        assert _connect("127.0.0.1", port) == "refused"
        one.listen()
        assert _connect("127.0.0.1", port) == "accepted"


# Shared memory


def shm(sizes: Json) -> ProbeResult:
    source = FakeSource({"/proc/meminfo": "MemTotal:       2113536000 kB\n"}, calls={JOB_SHM: sizes})
    return SHM.run(source, ProbeContext())


def test_the_smallest_shared_memory_of_the_jobs_counts_as_a_share_of_the_nodes() -> None:
    """64 MiB, which a container starts with, of 2 064 000 MiB; the other job has half of that."""
    facts = values(shm([67_108_864, 1_032_000 * 1024 * 1024]), "shm-size")

    assert facts["shm_share"] == pytest.approx(100 * 64 / 2_064_000)


def test_without_a_job_there_is_no_shared_memory_to_look_at() -> None:
    assert problems(shm([]), "shm-size") == [(EVERY_SUBJECT, MISSING)]


def test_a_job_of_this_machine_shows_its_own_shared_memory() -> None:
    """Whoever runs the tests is the user who trains: their processes see the /dev/shm of this machine."""
    found = os.statvfs("/dev/shm")
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20

    facts = values(SHM.run(LiveSource(), ProbeContext(job_user=ME)), "shm-size")

    assert facts["shm_share"] == pytest.approx(100 * found.f_blocks * found.f_frsize / 2**20 / total)
