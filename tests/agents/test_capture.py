"""A capture replays as it was: same answers, same refusals, and nothing that was not looked at counts as absent."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from readiness_agent import capture as capture_module
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
        ("gpu001.hall2.corp.example: up", "node: up"),
        ("/data/gpu001/ckpt on gpu001-ib0", "/data/node/ckpt on node-ib0"),
        ("gpu0011 and xgpu001", "gpu0011 and xgpu001"),
        ("lost 10.20.30.40.", "lost 192.0.2.1."),
        ("at fd00:10:20::30 since 12:34:56", "at 2001:db8::1 since 12:34:56"),
        ("fe80::3eec:efff:fe12:3456%eth0", "2001:db8::1%eth0"),
        ("listening on ::1 and 0000:07:00.0", "listening on ::1 and 0000:07:00.0"),
        ("3C-EC-EF-12-34-56", "02:00:00:00:00:01"),
        ("Reference ID    : 0A141E28 (10.20.30.40)", "Reference ID    : C0000002 (192.0.2.1)"),
        ("Reference ID    : 00000000 ()", "Reference ID    : 00000000 ()"),
        ("root=UUID=4c4c4544-0042-3510-8052-b4c04f564d33", "root=UUID=00000000-0000-4000-8000-000000000001"),
        ("Authorization: Bearer abcd.efgh.ijkl", "Authorization: Bearer removed"),
        ("cs_agent_abcd1234_a-secret", "removed"),
        ("API_KEY=abcd1234efgh", "API_KEY=removed"),
        ("proxy http://user:secret1@proxy", "proxy http://removed@proxy"),
        ("net.core.somaxconn = 4096", "net.core.somaxconn = 4096"),
    ],
)
def test_redacting_takes_out_names_and_secrets_and_keeps_figures(text: str, shown: str) -> None:
    assert Redaction("gpu001")(text) == shown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/sys/class/dmi/id/product_serial", "J1K2L3\n"),
        ("/sys/class/dmi/id/product_uuid", "4c4c4544-0042-3510-8052-b4c04f564d33\n"),
        ("/sys/class/dmi/id/chassis_asset_tag", "Rack 12, slot 4\n"),
        ("/proc/sys/kernel/hostname", "gpu001\n"),
    ],
)
def test_a_file_that_is_nothing_but_a_name_is_taken_out_whole(path: str, text: str, tmp_path: Path) -> None:
    record = {"kind": "read", "key": path, "captured_at": 1.0, "outcome": "ok", "value": text}
    write_capture(str(tmp_path / "c.tar.gz"), now(), "node", ProbeContext(), [record], Redaction("gpu001"))

    assert ReplaySource(read_capture(str(tmp_path / "c.tar.gz")).snapshots[-1]).read(path) == "serial-1\n"


def test_no_name_is_left_anywhere_in_a_redacted_archive(tmp_path: Path) -> None:
    names = ["gpu001", "GPU-7f3a1c2e-11aa-4bcd-9def-0123456789ab", "10.20.30.40", "1654923012345"]
    told = f'serial: "{names[3]}" of {names[1]} at {names[2]} on {names[0]}'
    asked = [
        ("read", f"/data/{names[0]}/conf", told),
        ("run", json.dumps(["stat", "-f", f"/mnt/{names[2]}"]), [0, told, told, 0.1]),
        ("call", f"realpath /data/{names[0]}", {"serial": names[3], names[0]: [told, {"uuid": names[1]}]}),
        ("listdir", f"/data/{names[0]}", [names[0], names[2]]),
    ]
    records = [
        {"kind": kind, "key": key, "captured_at": 1.0, "outcome": "ok", "value": value} for kind, key, value in asked
    ]
    refused = {"kind": "read", "key": f"/x/{names[0]}", "captured_at": 1.0, "outcome": "denied", "detail": told}
    path = tmp_path / "c.tar.gz"

    write_capture(
        str(path), now(), "node", ProbeContext(None, f"/data/{names[0]}"), [*records, refused], Redaction("gpu001")
    )

    unpacked = gzip.decompress(path.read_bytes()).decode()
    assert [name for name in names if name in unpacked] == []
    assert read_capture(str(path)).context.checkpoint_dir == "/data/node"


def test_what_a_node_names_about_its_training_travels_with_its_capture(tmp_path: Path) -> None:
    named = ProbeContext(training_python="/opt/venv/bin/python", training_image="train:1", rendezvous="gpu7:29500")

    write_capture(str(tmp_path / "c.tar.gz"), now(), "node", named, [], keep_everything)

    assert read_capture(str(tmp_path / "c.tar.gz")).context == named


def test_two_gpus_still_differ_after_redacting() -> None:
    first, second = "GPU-7f3a1c2e-11aa-4bcd-9def-000000000000", "GPU-7f3a1c2e-11aa-4bcd-9def-ffffffffffff"

    a, b, again = Redaction("gpu001")(f"{first} {second} {first}").split()

    assert a != b
    assert a == again


GOOD = {"captured_at": 1.0, "boottime": 1.0, "boot_id": "b", "entries": []}


@pytest.mark.parametrize(
    "index",
    [
        [],
        {"format": 1, "hostname": "h", "context": [None, None], "snapshots": []},
        {"format": 1, "hostname": "h", "context": [None, None], "snapshots": [{**GOOD, "captured_at": 1e308}]},
        {"format": 1, "hostname": "h", "context": [None, None], "snapshots": [{**GOOD, "captured_at": float("nan")}]},
        {"format": 1, "hostname": "h", "context": [None, None], "snapshots": [{**GOOD, "boottime": 10**400}]},
        {"format": 1, "hostname": "h", "context": [None, None], "snapshots": [{**GOOD, "entries": [{"kind": []}]}]},
        {"format": 1, "hostname": "h", "context": [None, None], "snapshots": [{**GOOD, "entries": [7]}]},
        {"format": 1, "hostname": "h", "context": 7, "snapshots": [GOOD]},
        {"format": 99, "hostname": "h", "context": [None, None], "snapshots": [GOOD]},
    ],
)
def test_an_index_that_makes_no_sense_is_no_capture(index: object, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(json.dumps(index))

    with pytest.raises(AgentError, match="is not a capture"):
        read_capture(str(tmp_path))


def test_an_index_without_a_bottom_is_no_capture(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("[" * 200_000)

    with pytest.raises(AgentError, match="is not a capture"):
        read_capture(str(tmp_path))


def hostile(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> str:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return str(path)


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_an_archive_lead_nowhere(kind: bytes, tmp_path: Path) -> None:
    path = hostile(tmp_path / "c.tar.gz", (link("index.json", "/etc/passwd", kind), b""))

    with pytest.raises(AgentError, match="is not a capture"):
        read_capture(path)


def test_nothing_of_an_archive_is_written_anywhere(tmp_path: Path) -> None:
    escaping = tarfile.TarInfo("../../escaped")
    escaping.size = 1
    (tmp_path / "deep/er").mkdir(parents=True)
    path = hostile(tmp_path / "deep/er/c.tar.gz", (escaping, b"x"))

    with pytest.raises(AgentError, match="is not a capture"):
        read_capture(path)

    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == ["c.tar.gz"]


@pytest.mark.parametrize("header", ["path", "file"])
def test_an_archive_that_unpacks_to_gigabytes_is_refused_before_it_has(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_module, "MAX_CAPTURE_BYTES", 1024 * 1024)
    monkeypatch.setattr(capture_module, "MAX_OVERHEAD_BYTES", 1024 * 1024)
    member, content = tarfile.TarInfo("x"), b"0" * (8 * 1024 * 1024)
    if header == "path":
        member.pax_headers = {"comment": content.decode()}
        content = b""
    member.size = len(content)
    path = hostile(tmp_path / "c.tar.gz", (member, content))

    with pytest.raises(AgentError, match="more than 256 MiB"):
        read_capture(path)


def test_a_flipped_bit_in_an_archive_is_said_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "c.tar.gz"
    source = RecordingSource()
    source.read("/proc/meminfo")
    write_capture(str(path), now(), "gpu001", ProbeContext(), source.records, keep_everything)
    whole = path.read_bytes()

    for place in range(20, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            read_capture(str(path))
        except AgentError as error:
            assert "is not a capture" in str(error)  # a flipped time stamp is read as it stands


@pytest.mark.parametrize("name", ["files/unixtime.a", "commands/adjtimex"])
def test_a_mirror_that_makes_no_sense_is_no_capture(name: str, tmp_path: Path) -> None:
    for directory in ("files", "commands"):
        (tmp_path / directory).mkdir()
    (tmp_path / "files/unixtime.a").write_text("1795978236")
    (tmp_path / name).write_text("yesterday")

    with pytest.raises(AgentError, match="is not a capture"):
        read_capture(str(tmp_path))


def test_only_known_names_of_a_directory_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a-pipe-that-nobody-writes")
    (tmp_path / "nvidia-smi-q.xml").mkdir()

    with pytest.raises(AgentError, match="holds no capture"):
        read_capture(str(tmp_path))


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
