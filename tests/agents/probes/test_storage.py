"""Hung input and output, and the directory of checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.facts import EVERY_SUBJECT, HUNG, MISSING, NOT_CAPTURED, UNREADABLE, CouldNotMeasure
from readiness_agent.probes.checkpoint import CHECKPOINT
from readiness_agent.probes.storage import STORAGE, Blocked, look_at_blocked, update_blocked
from readiness_agent.source import CommandResult, ProbeContext
from tests.agents.probes.fake_source import Answer, FakeSource, ended, problems, values

ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
NFS = "91 27 0:51 / /mnt/shared rw,noatime - nfs4 filer:/shared rw,vers=4.2\n"
DATA = "90 27 9:0 / /mnt/data rw,noatime - xfs /dev/md0 rw\n"
MOUNTINFO = "/proc/self/mountinfo"
TRAINER = ProbeContext(job_user="trainer", checkpoint_dir="/mnt/data/checkpoints")
ACCOUNT = {"uid": 1001, "gid": 1002, "groups": ["trainer"], "gids": [1002, 1003], "agent_uid": 0}
AS_TRAINER = "setpriv --reuid=1001 --regid=1002 --groups=1002,1003 test -w /mnt/data/checkpoints"


def hung_io(blocked: list[dict[str, object]], mounts: str = ROOT, **commands: Answer) -> dict[str, object]:
    source = FakeSource({MOUNTINFO: mounts}, {"stat -f /mnt/shared": ended()} | commands, {"blocked tasks": blocked})
    return values(STORAGE.run(source, ProbeContext()), "hung-io")


def test_the_task_that_waits_longest_is_told_and_nobody_says_whether_that_is_too_long() -> None:
    tasks = [{"pid": 1, "name": "a", "seconds": 61.0}, {"pid": 2, "name": "b", "seconds": 59.0}]

    assert hung_io(tasks) == {"longest_wait": 61.0, "slowest_mount": 0.0, "failing_mounts": 0}


def test_where_no_task_waits_the_longest_wait_is_nothing() -> None:
    assert hung_io([])["longest_wait"] == 0.0


@pytest.mark.parametrize("damage", [{"pid": 1}, {"pid": 1, "seconds": "long"}, {"pid": 1, "seconds": float("nan")}, 7])
def test_a_saved_list_that_tells_no_seconds_is_unreadable(damage: Any) -> None:
    source = FakeSource({MOUNTINFO: ROOT}, {}, {"blocked tasks": [damage]})

    result = STORAGE.run(source, ProbeContext())

    assert "longest_wait" not in values(result, "hung-io")
    assert problems(result, "hung-io") == [("", UNREADABLE)]


def test_a_memory_that_nests_without_end_is_none(tmp_path: Path) -> None:
    (tmp_path / "blocked-tasks.json").write_text("[" * 200_000)

    assert look_at_blocked(str(tmp_path), boot_id="b", now=80.0, waiting={"7:100": Blocked("a", 5)}) == [
        {"pid": 7, "name": "a", "seconds": 0.0}
    ]


@pytest.mark.parametrize("held", ["x", ["x", 5], [10.0], [10.0, None], {"a": 1}, [1e999, 5]])
def test_a_task_that_an_earlier_look_tells_badly_waits_anew(tmp_path: Path, held: Any) -> None:
    stored = {"boot_id": "b", "look": {"7:100": held}}
    (tmp_path / "blocked-tasks.json").write_text(json.dumps(stored))

    assert look_at_blocked(str(tmp_path), boot_id="b", now=80.0, waiting={"7:100": Blocked("a", 5)}) == [
        {"pid": 7, "name": "a", "seconds": 0.0}
    ]


def test_only_mounts_of_other_machines_are_asked() -> None:
    source = FakeSource({MOUNTINFO: ROOT + DATA + NFS}, {"stat -f /mnt/shared": ended()}, {"blocked tasks": []})

    STORAGE.run(source, ProbeContext())

    assert source.asked == ["blocked tasks", "stat -f /mnt/shared"]


def test_the_slowest_mount_is_told_in_tenths_of_a_second() -> None:
    slow = CommandResult((), 0, "", "", 1.2345)

    assert hung_io([], ROOT + NFS, **{"stat -f /mnt/shared": slow})["slowest_mount"] == 1.2


def test_a_mount_that_does_not_answer_is_told_as_what_was_waited_for() -> None:
    source = FakeSource(
        {MOUNTINFO: ROOT + NFS},
        {"stat -f /mnt/shared": CouldNotMeasure(HUNG, "stat: no answer after 2 s")},
        {"blocked tasks": []},
    )

    assert values(STORAGE.run(source, ProbeContext()), "hung-io") == {
        "longest_wait": 0.0, "slowest_mount": 3.0, "failing_mounts": 0,
    }  # fmt: skip


def test_a_mount_that_answers_with_an_error_is_failing() -> None:
    source = FakeSource(
        {MOUNTINFO: ROOT + NFS},
        {"stat -f /mnt/shared": ended("", 1, "stat: cannot read: Stale file handle\n")},
        {"blocked tasks": []},
    )

    assert values(STORAGE.run(source, ProbeContext()), "hung-io")["failing_mounts"] == 1


def test_the_first_look_at_a_waiting_task_does_not_know_for_how_long() -> None:
    assert update_blocked({}, {"7:100": Blocked("a", 5)}, now=1000.0) == {"7:100": (1000.0, 5)}


def test_a_task_that_did_not_run_since_the_last_look_has_waited_since_then() -> None:
    assert update_blocked({"7:100": (1000.0, 5)}, {"7:100": Blocked("a", 5)}, now=1300.0) == {"7:100": (1000.0, 5)}


def test_a_task_that_ran_in_between_waits_anew() -> None:
    assert update_blocked({"7:100": (1000.0, 5)}, {"7:100": Blocked("a", 6)}, now=1300.0) == {"7:100": (1300.0, 6)}


def test_a_task_that_no_longer_waits_is_forgotten() -> None:
    assert update_blocked({"7:100": (1000.0, 5)}, {}, now=1300.0) == {}


def test_what_was_seen_is_kept_for_the_next_look(tmp_path: Path) -> None:
    look_at_blocked(str(tmp_path), boot_id="b", now=10.0, waiting={"7:100": Blocked("a", 5)})

    again = look_at_blocked(str(tmp_path), boot_id="b", now=80.0, waiting={"7:100": Blocked("a", 5)})

    assert again == [{"pid": 7, "name": "a", "seconds": 70.0}]


def test_what_was_seen_in_another_boot_is_another_task(tmp_path: Path) -> None:
    look_at_blocked(str(tmp_path), boot_id="b", now=10.0, waiting={"7:100": Blocked("a", 5)})

    again = look_at_blocked(str(tmp_path), boot_id="c", now=80.0, waiting={"7:100": Blocked("a", 5)})

    assert again == [{"pid": 7, "name": "a", "seconds": 0.0}]


def checkpoint(mounts: str, answer: Answer, context: ProbeContext = TRAINER) -> FakeSource:
    calls = {"realpath /mnt/data/checkpoints": "/mnt/data/checkpoints", "account trainer": ACCOUNT}
    return FakeSource({MOUNTINFO: mounts}, {AS_TRAINER: answer}, calls)


def test_a_mounted_and_writable_directory_is_both_and_names_its_device() -> None:
    result = CHECKPOINT.run(checkpoint(ROOT + DATA, ended()), TRAINER)

    assert values(result, "checkpoint-mount") == {
        "mounted": True, "writable": True, "device": "/dev/md0", "fstype": "xfs",
    }  # fmt: skip
    assert values(result, "checkpoint-atime") == {"atime": "noatime", "fstype": "xfs"}


def test_a_directory_on_the_root_disk_is_not_mounted() -> None:
    result = CHECKPOINT.run(checkpoint(ROOT, ended()), TRAINER)

    assert values(result, "checkpoint-mount")["mounted"] is False


def test_a_directory_that_the_training_user_may_not_write_is_not_writable() -> None:
    result = CHECKPOINT.run(checkpoint(ROOT + DATA, ended("", 1)), TRAINER)

    assert values(result, "checkpoint-mount")["writable"] is False


def test_a_read_only_mount_needs_no_test_to_be_not_writable() -> None:
    source = checkpoint(ROOT + DATA.replace("rw,noatime", "ro,noatime"), ended())

    assert values(CHECKPOINT.run(source, TRAINER), "checkpoint-mount")["writable"] is False


def test_a_test_that_could_not_be_made_says_nothing_about_writing() -> None:
    answer = ended("", 127, "setpriv: setresuid failed: Operation not permitted\n")

    result = CHECKPOINT.run(checkpoint(ROOT + DATA, answer), TRAINER)

    assert "writable" not in values(result, "checkpoint-mount")
    assert len(problems(result, "checkpoint-mount")) == 1


def test_a_node_whose_configuration_names_no_directory_is_missing_it() -> None:
    result = CHECKPOINT.run(FakeSource({MOUNTINFO: ROOT}), ProbeContext())

    assert problems(result, "checkpoint-mount") == [(EVERY_SUBJECT, MISSING)]
    assert problems(result, "checkpoint-atime") == [(EVERY_SUBJECT, MISSING)]


def test_a_capture_without_its_nodes_configuration_does_not_say_that_no_directory_was_named() -> None:
    result = CHECKPOINT.run(FakeSource({MOUNTINFO: ROOT}), ProbeContext(is_known=False))

    assert problems(result, "checkpoint-mount") == [(EVERY_SUBJECT, NOT_CAPTURED)]
    assert problems(result, "checkpoint-atime") == [(EVERY_SUBJECT, NOT_CAPTURED)]
