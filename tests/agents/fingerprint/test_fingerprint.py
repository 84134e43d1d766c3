"""What a node is set to, read from this machine and from captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checks.services.fingerprint_v1 import fingerprint_digest
from readiness_agent.fingerprint import (
    FINGERPRINT,
    LONGEST_VALUE,
    MOST_SETTINGS,
    Fingerprint,
    clean,
    decoded,
    read_fingerprint,
)
from readiness_agent.fingerprint.leaving import is_left_out, is_secret
from readiness_agent.node import Moment
from readiness_agent.recording import OK, command_key
from readiness_agent.replaying import RecordedSnapshot, ReplaySource
from readiness_agent.source import LiveSource, ProbeContext


def captured(**answers: Any) -> ReplaySource:
    """A capture that holds exactly these files and calls, and is silent about everything else."""
    records = [{"kind": kind, "key": key, "outcome": OK, "value": value} for kind, key, value in answers["records"]]
    return ReplaySource(RecordedSnapshot(Moment(0.0, 0.0, "boot"), records))


def test_this_machine_has_the_setting_that_its_own_file_states() -> None:
    found = read_fingerprint(LiveSource())

    assert found.settings["sysctl:vm.swappiness"] == Path("/proc/sys/vm/swappiness").read_text().strip()
    assert len(found.settings) > 500


def test_two_readings_of_a_machine_that_nobody_touched_are_the_same() -> None:
    first, second = read_fingerprint(LiveSource()), read_fingerprint(LiveSource())

    moved = {name for name, value in first.settings.items() if second.settings.get(name) != value}
    assert (moved, first.sha256) == (set(), second.sha256)


def test_the_portal_works_out_the_same_digest() -> None:
    found = Fingerprint(("sysctl", "env"), {"sysctl:a.b": "1", "env:NCCL_ALGO": "Árbol", "sysctl:c.d": None})

    assert found.sha256 == fingerprint_digest(found.kinds, found.settings)


def test_a_kind_that_was_not_captured_is_left_out_and_not_said_to_be_absent() -> None:
    found = read_fingerprint(captured(records=[("read", "/proc/cmdline", "iommu=pt quiet\n")]))

    assert found.kinds == ("cmdline",)
    assert found.settings == {"cmdline:iommu": "pt", "cmdline:quiet": "set"}


def test_the_output_of_sysctl_serves_where_a_capture_holds_only_that() -> None:
    output = [0, "kernel.numa_balancing = 1\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n", "", 0.1]

    found = read_fingerprint(captured(records=[("run", command_key(("sysctl", "-a")), output)]))

    assert found.settings == {"sysctl:kernel.numa_balancing": "1", "sysctl:net.ipv4.tcp_rmem": "4096 131072 6291456"}


def test_what_follows_two_dashes_is_for_the_first_process() -> None:
    found = read_fingerprint(captured(records=[("read", "/proc/cmdline", "quiet -- --password=hunter2\n")]))

    assert found.settings == {"cmdline:quiet": "set"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cmdline:rd.luks.password", "hunter2"),
        ("env:NCCL_API_KEY", "abc"),
        ("sysctl:net.ipv6.conf.eth0.stable_secret", "fe80::1"),
        ("sysctl:net.ipv4.tcp_fastopen_key", "0-0-0-0"),
    ],
)
def test_a_secret_is_never_sent(name: str, value: str) -> None:
    assert clean(name, value) == "removed"


def test_a_login_in_an_address_is_taken_out() -> None:
    assert clean("cmdline:inst.repo", "http://me:hunter2@10.0.0.1/os") == "http://removed@10.0.0.1/os"


def test_only_variables_of_gpus_and_communication_are_read() -> None:
    text = 'PATH=/usr/bin\nexport NCCL_ALGO="Tree"\nAWS_SECRET_ACCESS_KEY=x\n# NCCL_DEBUG=INFO\n'
    found = read_fingerprint(
        captured(records=[("read", "/etc/environment", text), ("read", "/etc/nccl.conf", "NCCL_IB_HCA=mlx5\n")])
    )

    assert found.settings == {"env:NCCL_ALGO": "Tree", "env:NCCL_IB_HCA": "mlx5"}


def test_counters_move_and_limits_do_not() -> None:
    assert [is_left_out(f"sysctl:fs.{name}") for name in ("aio-nr", "aio-max-nr", "file-nr", "file-max")] == [
        True, False, True, False,
    ]  # fmt: skip
    assert is_left_out("sysctl:net.ipv4.conf.veth0a1b.rp_filter")
    assert not is_left_out("sysctl:net.ipv4.conf.eth0.rp_filter")


def test_no_usual_setting_is_taken_for_a_secret() -> None:
    names = ("sysctl:kernel.keys.maxkeys", "sysctl:net.sctp.auth_enable", "cmdline:random.trust_cpu", "package:author")
    assert [is_secret(name) for name in names] == [False, False, False, False]


def test_a_long_value_is_sent_as_its_digest() -> None:
    told = clean("cmdline:long", "x" * (LONGEST_VALUE + 1))

    assert told is not None
    assert told.startswith("sha256:")
    assert len(told) == 71


def test_a_node_with_countless_settings_sends_a_bounded_number() -> None:
    tree = [[f"net.a.s{n:05d}", "1"] for n in range(MOST_SETTINGS + 100)]

    assert len(read_fingerprint(captured(records=[("call", "kernel settings", tree)])).settings) == MOST_SETTINGS


def test_a_setting_that_may_not_be_read_is_there_and_not_known() -> None:
    found = read_fingerprint(captured(records=[("call", "kernel settings", [["vm.a", None], ["vm.b", "1"]])]))

    assert found.settings == {"sysctl:vm.a": None, "sysctl:vm.b": "1"}


def test_mounts_are_told_by_kind_server_and_options_and_not_by_disk() -> None:
    lines = (
        "25 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"
        "40 25 0:45 / /data rw,noatime shared:2 - nfs4 filer:/data rw,vers=4.2,clientaddr=10.0.0.7,addr=10.0.0.1\n"
        "41 25 0:46 / /run/lock rw - tmpfs tmpfs rw\n"
        "42 25 0:47 / /proc rw - proc proc rw\n"
    )
    found = read_fingerprint(captured(records=[("read", "/proc/self/mountinfo", lines)]))

    assert found.settings == {
        "mount:/": "ext4 errors=remount-ro,relatime,rw",
        "mount:/data": "nfs4 filer:/data noatime,rw,vers=4.2",
    }


def test_packages_count_in_one_digest_and_the_telling_ones_by_name() -> None:
    status = (
        "Package: libnccl2\nStatus: install ok installed\nVersion: 2.21.5-1\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1:1.2.13\n\n"
    )
    found = read_fingerprint(captured(records=[("read", "/var/lib/dpkg/status", status)]))

    assert found.settings["package:libnccl2"] == "2.21.5-1"
    assert str(found.settings["package:all"]).startswith("2 packages, ")
    assert "package:gone" not in found.settings


def test_the_probe_hands_back_what_it_read() -> None:
    result = FINGERPRINT.run(LiveSource(), ProbeContext())

    found = decoded(result)
    assert found is not None
    assert json.loads(result.evidence[0].text)["settings"] == found.settings
