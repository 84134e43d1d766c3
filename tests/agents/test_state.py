"""What lies on disk may be cut short, of another version, or nonsense: the agent starts anew, it never stops."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readiness_agent import files
from readiness_agent.agent import Agent
from readiness_agent.config import Paths
from readiness_agent.decision import DecisionCache
from readiness_agent.files import place_in_memory, read_json, remove_leftovers, write_json
from readiness_agent.lock import TickLock
from readiness_agent.node import Moment, now, stored_age, stored_moment
from readiness_agent.spool import Spool
from readiness_agent.state import State
from readiness_agent.stuck import StuckRegister
from readiness_agent.ticking import Tick
from tests.agents.conftest import uptime_probe
from tests.agents.portals import LoopbackPortal

DAMAGED = [
    b"",
    b"{",
    b"\x00\xff\xfe\x80" * 100,
    b"[" * 100_000,
    b"[]",
    b"null",
    b'{"moments": 7, "numbers": [], "texts": null, "plan": "x", "failures": [1], "rechecks_done": {}}',
    b'{"moments": {"tick": "yesterday", "hold": [1], "asked": [NaN, NaN, 7]}, "numbers": {"hold_seconds": "long"}}',
    b'{"failures": {"one": "often", "two": null, "three": -9}, "plan": {"tick": 7, "interval": 1e999}}',
    b'{"boot_id": 7, "probes": [1, 2], "questions": {"": 7, "r": {"used": 9, "ttl": "long"}}, "spool": "x", "bad": []}',
    b'{"boot_id": "%s", "probes": {"fast": 7, "slow": [[1]], "odd": [["self", 1]]}}',
]


@pytest.fixture
def no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory below which nothing can be written, and the memory that is used instead."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(files, "MEMORY", str(memory))
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    yield blocked / "state"
    shutil.rmtree(memory)


@pytest.mark.parametrize("content", DAMAGED)
@pytest.mark.parametrize("name", ["state.json", "stuck.json", "lost.json", "gate.json", "address.json"])
def test_a_tick_with_a_damaged_file_of_its_own_still_reports(
    name: str, content: bytes, enrolled: Paths, portal: LoopbackPortal
) -> None:
    Path(enrolled.in_state(name)).write_bytes(content.replace(b"%s", now().boot_id.encode()))

    result = Tick(Agent(enrolled), lambda: (uptime_probe("fast", "one"),), spread=0.0).run()

    assert result.sent >= 1
    assert portal.reports()[0]["covered"] == ["one"]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_files_count_as_empty(content: bytes, tmp_path: Path) -> None:
    for name in ("state.json", "gate.json", "lost.json", "stuck.json"):
        (tmp_path / name).write_bytes(content)

    state = State(str(tmp_path / "state.json"))

    assert state.age("tick", now()) is None
    assert state.number("hold_seconds") == 0.0
    assert set(state.failures().values()) <= {1}
    assert DecisionCache(str(tmp_path)).read("", now()).word == "unknown"
    assert DecisionCache(str(tmp_path)).runs_in_use(now()) == []
    assert Spool(str(tmp_path)).lost() == {"spool": 0, "bad": 0}
    StuckRegister(str(tmp_path / "stuck.json"), now().boot_id).remember([])


@pytest.mark.parametrize(
    "stored", [None, 7, "now", [], [1.0, 2.0], [1.0, 2.0, 3.0], [float("nan"), 1.0, "b"], [1.0, float("inf"), "b"]]
)
def test_what_is_no_moment_has_no_age(stored: Any) -> None:
    assert stored_moment(stored) is None
    assert stored_age(stored, now()) is None


def test_a_moment_that_this_boot_has_not_reached_has_no_age() -> None:
    moment = Moment(1_795_983_439.0, 1000.0, "boot-a")

    assert stored_age(list(moment._replace(boottime=1000.1)), moment) is None
    assert stored_age(list(moment._replace(boottime=999.0)), moment) == 1.0


def test_on_a_disk_that_takes_nothing_a_file_lies_in_memory_and_is_read_from_there(no_room: Path) -> None:
    path = str(no_room)

    assert write_json(path, {"kept": 1}) is False

    assert read_json(path) == {"kept": 1}


def test_back_on_disk_the_copy_in_memory_is_gone(no_room: Path) -> None:
    path = str(no_room)
    write_json(path, {"kept": 1})
    no_room.parent.unlink()
    no_room.parent.mkdir()

    assert write_json(path, {"kept": 2}) is True

    assert json.loads(no_room.read_text()) == {"kept": 2}
    assert not Path(place_in_memory(path)).exists()


def test_a_file_of_somebody_else_in_memory_is_not_believed(tmp_path: Path, no_room: Path) -> None:
    planted = Path(place_in_memory(str(tmp_path / "state.json")))
    planted.symlink_to(tmp_path / "forged")
    (tmp_path / "forged").write_text('{"kept": "forged"}')
    (tmp_path / "state.json").write_text('{"kept": "own"}')

    assert read_json(str(tmp_path / "state.json")) == {"kept": "own"}


def test_a_name_that_somebody_planted_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / f"state.json.{os.getpid()}.tmp").symlink_to(target)

    write_json(str(tmp_path / "state.json"), {"kept": 1})

    assert target.read_text() == "precious"
    assert read_json(str(tmp_path / "state.json")) == {"kept": 1}


def test_two_ticks_on_a_full_disk_are_still_one_at_a_time(no_room: Path) -> None:
    first, second = TickLock(str(no_room)), TickLock(str(no_room))
    assert first.acquire()

    child = os.fork()  # a record lock is a process' own
    if child == 0:
        os._exit(0 if second.acquire() else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_lock_file_that_points_elsewhere_is_not_followed(tmp_path: Path, no_room: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "precious")

    assert TickLock(str(tmp_path / "lock")).acquire()

    assert not (tmp_path / "precious").exists()


def test_what_a_killed_write_left_behind_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    living = tmp_path / f"gate.json.{os.getpid()}.tmp"
    for path in (living, tmp_path / "state.json.4194301.tmp", tmp_path / "driver-log.json.4194301"):
        path.write_text("{")

    remove_leftovers(str(tmp_path))

    assert sorted(path.name for path in tmp_path.iterdir()) == [living.name]
