"""A capture replays as it was: same answers, same refusals, and nothing that was not looked at counts as absent."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from readiness_agent.capture import read_capture, write_capture
from readiness_agent.errors import AgentError
from readiness_agent.facts import CouldNotMeasure
from readiness_agent.node import now
from readiness_agent.recording import RecordingSource
from readiness_agent.redaction import Redaction, keep_everything
from readiness_agent.replaying import ReplaySource
from readiness_agent.source import JOB_LIMITS, ProbeContext

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT.parent / "shared/captures"
needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not here")


def kind_of(ask: object, *arguments: object) -> str:
    """What a question to a source is refused with."""
    with pytest.raises(CouldNotMeasure) as raised:
        ask(*arguments)  # type: ignore[operator]
    return raised.value.kind


def saved(tmp_path: Path, source: RecordingSource, hostname: str = "gpu001") -> ReplaySource:
    """What *source* recorded, written and read back."""
    path = str(tmp_path / "capture.tar.gz")
    write_capture(path, now(), hostname, ProbeContext("train"), source.records, keep_everything)
    return ReplaySource(read_capture(path).snapshots[-1])


def test_answers_and_refusals_come_back_as_they_were(tmp_path: Path) -> None:
    source = RecordingSource()
    (tmp_path / "limits.conf").write_text("* soft nofile 20000\n")
    conf, swaps = str(tmp_path / "limits.conf"), "/no-such-directory/swaps"
    source.read(conf)
    kind_of(source.read, swaps)
    source.run(["sh", "-c", "echo up; exit 5"])
    source.glob(str(tmp_path / "*.conf"))
    source.listdir(str(tmp_path))
    source.call("adjtimex", lambda: {"ret": 5})

    replay = saved(tmp_path, source)

    assert replay.read(conf) == "* soft nofile 20000\n"
    assert kind_of(replay.read, swaps) == "missing"
    assert replay.run(["sh", "-c", "echo up; exit 5"])[:3] == (("sh", "-c", "echo up; exit 5"), 5, "up\n")
    assert replay.glob(str(tmp_path / "*.conf")) == [conf]
    assert replay.listdir(str(tmp_path)) == ["limits.conf"]
    assert replay.call("adjtimex", lambda: {"ret": 0}) == {"ret": 5}


def test_what_nobody_looked_at_is_not_captured(tmp_path: Path) -> None:
    replay = saved(tmp_path, RecordingSource())

    questions: Sequence[tuple[object, object]] = [
        (replay.read, "/proc/swaps"),
        (replay.glob, "/etc/sysctl.d/*"),
        (replay.listdir, "/etc"),
        (replay.exists, "/etc"),
        (replay.run, ["nvidia-smi"]),
    ]
    assert {kind_of(ask, argument) for ask, argument in questions} == {"not_captured"}


def test_whether_a_file_existed_is_known_from_reading_it(tmp_path: Path) -> None:
    source = RecordingSource()
    source.read("/proc/uptime")
    kind_of(source.read, "/no-such-file")

    replay = saved(tmp_path, source)

    assert replay.exists("/proc/uptime")
    assert not replay.exists("/no-such-file")


def test_the_archive_has_an_index_of_commands_with_exit_code_and_time(tmp_path: Path) -> None:
    source = RecordingSource()
    source.run(["sh", "-c", "exit 3"])
    write_capture(str(tmp_path / "c.tar.gz"), now(), "gpu001", ProbeContext(), source.records, keep_everything)

    with tarfile.open(tmp_path / "c.tar.gz") as archive:
        member = archive.extractfile("index.json")
        assert member is not None
        (entry,) = json.load(member)["snapshots"][0]["entries"]

    assert (entry["argv"], entry["exit_code"]) == (["sh", "-c", "exit 3"], 3)
    assert entry["captured_at"] > 1_700_000_000


def test_an_index_that_points_outside_of_its_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("token")
    capture = tmp_path / "capture"
    capture.mkdir()
    entry = {"kind": "read", "key": "/etc/motd", "outcome": "ok", "file": "../secret"}
    snapshot = {"captured_at": 1.0, "boottime": 1.0, "boot_id": "b", "entries": [entry]}
    index = {"format": 1, "hostname": "h", "context": [None, None], "snapshots": [snapshot]}
    (capture / "index.json").write_text(json.dumps(index))

    with pytest.raises(AgentError, match="outside of the capture"):
        read_capture(str(capture))


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_something_else_is_said_not_to_be_a_capture(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "c.tar.gz"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(AgentError, match="is not a capture") as raised:
        read_capture(str(path))

    assert raised.value.exit_code == 64


def test_an_archive_without_an_index_is_not_a_capture(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("else"), io.BytesIO())

    with pytest.raises(AgentError, match="is not a capture"):
        read_capture(str(tmp_path / "c.tar.gz"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GPU-7f3a1c2e-11aa-4bcd-9def-0123456789ab", "GPU-00000000-0000-4000-8000-000000000001"),
        ("<serial>1654923012345</serial>", "<serial>serial-1</serial>"),
        ("link/ether 3c:ec:ef:12:34:56", "link/ether 02:00:00:00:00:01"),
        ("inet 10.20.30.40/24 on 127.0.0.1", "inet 192.0.2.1/24 on 127.0.0.1"),
        ("driver 580.159.04, vbios 96.00.A5.00.1A", "driver 580.159.04, vbios 96.00.A5.00.1A"),
        ("Wed gpu001 kernel: NVRM", "Wed node kernel: NVRM"),
        ("API_KEY=abcd1234efgh", "API_KEY=removed"),
        ("proxy http://user:secret1@proxy", "proxy http://removed@proxy"),
        ("net.core.somaxconn = 4096", "net.core.somaxconn = 4096"),
    ],
)
def test_redacting_takes_out_names_and_secrets_and_keeps_figures(text: str, shown: str) -> None:
    assert Redaction("gpu001")(text) == shown


def test_two_gpus_still_differ_after_redacting() -> None:
    first, second = "GPU-7f3a1c2e-11aa-4bcd-9def-000000000000", "GPU-7f3a1c2e-11aa-4bcd-9def-ffffffffffff"

    a, b, again = Redaction("gpu001")(f"{first} {second} {first}").split()

    assert a != b
    assert a == again


@needs_captures
def test_a_flat_directory_has_one_snapshot_a_query_at_the_time_it_states() -> None:
    capture = read_capture(str(CAPTURES / "h200x2"))

    first, second = (snapshot.moment for snapshot in capture.snapshots)
    assert first.unix == 1795978236.0  # Sun Nov 29 18:50:36 2026
    assert second.unix - first.unix == 35.0
    assert second.boottime - first.boottime == 35.0


@needs_captures
def test_a_sysctl_listing_stands_for_the_files_of_the_kernel() -> None:
    replay = ReplaySource(read_capture(str(CAPTURES / "h200x2")).snapshots[-1])

    assert replay.read("/proc/sys/net/core/netdev_max_backlog") == "1000\n"
    assert "Max open files            20000" in replay.read(JOB_LIMITS)
    assert kind_of(replay.read, "/proc/swaps") == "not_captured"
    assert kind_of(replay.listdir, "/etc/sysctl.d") == "not_captured"


@needs_captures
def test_a_mirror_has_seven_snapshots_in_time_order() -> None:
    capture = read_capture(str(CAPTURES / "h200x2-burn"))

    moments = [snapshot.moment for snapshot in capture.snapshots]
    assert [round(one.unix - moments[0].unix) for one in moments] == [0, 20, 121, 221, 322, 422, 481]
    assert moments[0].boottime == 35.82
    assert {one.boot_id for one in moments} == {"5a056caf-a3c8-4468-8c6f-c74542528cdb"}


@needs_captures
def test_a_mirror_answers_from_its_paths_and_from_each_snapshot() -> None:
    snapshots = read_capture(str(CAPTURES / "h200x2-burn")).snapshots
    idle, loaded = ReplaySource(snapshots[0]), ReplaySource(snapshots[3])

    assert "README.sysctl" in idle.listdir("/etc/sysctl.d")
    assert idle.glob("/proc/driver/nvidia/gpus/*/information") == [
        f"/proc/driver/nvidia/gpus/0000:00:0{slot}.0/information" for slot in (6, 7)
    ]
    assert "<gpu_util>0 %</gpu_util>" in idle.run(["nvidia-smi", "-q", "-x"]).stdout
    assert "<gpu_util>99 %</gpu_util>" in loaded.run(["nvidia-smi", "-q", "-x"]).stdout
    assert kind_of(idle.read, "/proc/cmdline") == "not_captured"


def test_a_directory_without_a_capture_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"no index\.json, no nvidia-smi-q\.xml"):
        read_capture(str(tmp_path))
