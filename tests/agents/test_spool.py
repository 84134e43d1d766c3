"""The spool loses nothing silently, and never stops the agent."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from readiness_agent import spool as spool_module
from readiness_agent.node import Moment
from readiness_agent.spool import KEPT_BAD, Entry, Spool, SpoolFull

WRITTEN = Moment(1_795_983_439.0, 1000.0, "boot-a")
NO_LOSS = {"spool": 0, "bad": 0}


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path))
    spool.open()
    return spool


def add(spool: Spool, name: str, written: Moment = WRITTEN) -> Entry:
    return spool.add(name, f"body of {name}".encode(), written, spool.lost())


def ids(spool: Spool) -> list[str]:
    entries = [spool.load(path) for path in spool.waiting()]
    return [entry.report_id for entry in entries if entry is not None]


def test_what_was_added_comes_back_as_it_was(spool: Spool) -> None:
    add(spool, "r1")

    entry = spool.load(spool.waiting()[0])

    assert entry is not None
    assert (entry.report_id, entry.written, entry.body) == ("r1", WRITTEN, b"body of r1")


def test_the_order_is_that_of_writing_whatever_the_clock_says(spool: Spool) -> None:
    add(spool, "z-first", WRITTEN)
    add(spool, "a-second", WRITTEN._replace(unix=0.0))

    assert ids(spool) == ["z-first", "a-second"]


def test_a_report_can_be_read_by_its_owner_only(spool: Spool) -> None:
    path = add(spool, "r1").path

    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(spool.directory).stat().st_mode) == 0o700


def test_a_write_cut_short_at_any_byte_is_set_aside_and_the_others_go(spool: Spool) -> None:
    whole = Path(add(spool, "torn").path).read_bytes()
    add(spool, "good")

    for length in range(len(whole)):
        torn = Path(spool.directory) / "000000000001-torn"
        torn.write_bytes(whole[:length])
        assert ids(spool) == ["good"], length

    assert spool.lost() == {"spool": 0, "bad": len(whole)}
    assert len(list(Path(spool.bad).iterdir())) == 1


def test_a_flipped_bit_is_noticed(spool: Spool) -> None:
    path = Path(add(spool, "r1").path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    assert ids(spool) == []
    assert spool.lost() == {"spool": 0, "bad": 1}


def test_the_temporary_file_of_a_crash_is_no_report(spool: Spool) -> None:
    (Path(spool.directory) / "000000000001-r1.4711.tmp").write_bytes(b"half")

    spool.open()

    assert spool.waiting() == []
    assert list(Path(spool.directory).iterdir()) == []


def test_the_oldest_reports_go_when_the_bytes_are_used_up_and_are_counted(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = Path(add(spool, "r1").path).stat().st_size
    for name in ("r2", "r3", "r4"):
        add(spool, name)
    monkeypatch.setattr(spool_module, "MAX_BYTES", 2 * size)

    spool.trim(WRITTEN)

    assert ids(spool) == ["r3", "r4"]
    assert spool.lost() == {"spool": 2, "bad": 0}


def test_a_report_older_than_seven_days_goes(spool: Spool) -> None:
    add(spool, "old")
    add(spool, "new", WRITTEN._replace(boottime=WRITTEN.boottime + 6 * 86400))

    spool.trim(WRITTEN._replace(boottime=WRITTEN.boottime + 7 * 86400 + 1))

    assert ids(spool) == ["new"]


def test_a_step_of_the_wall_clock_makes_no_report_old(spool: Spool) -> None:
    add(spool, "r1")

    spool.trim(WRITTEN._replace(unix=WRITTEN.unix + 10 * 365 * 86400))

    assert ids(spool) == ["r1"]


def test_a_loss_is_told_by_the_next_report_and_by_that_one_only(spool: Spool) -> None:
    add(spool, "old")
    spool.trim(WRITTEN._replace(boottime=WRITTEN.boottime + 8 * 86400))
    told = add(spool, "teller", WRITTEN._replace(boottime=WRITTEN.boottime + 8 * 86400))

    assert told.lost == {"spool": 1, "bad": 0}
    assert spool.lost() == NO_LOSS


def test_a_loss_told_by_a_report_that_is_lost_itself_is_told_again(spool: Spool) -> None:
    add(spool, "old")
    spool.trim(WRITTEN._replace(boottime=WRITTEN.boottime + 8 * 86400))
    add(spool, "teller")
    spool.trim(WRITTEN._replace(boottime=WRITTEN.boottime + 8 * 86400))

    assert spool.lost() == {"spool": 2, "bad": 0}


def test_ten_refused_reports_are_kept_for_a_person(spool: Spool) -> None:
    for number in range(KEPT_BAD + 3):
        entry = add(spool, f"r{number}")
        spool.set_aside(entry.path, entry.lost)

    assert len(list(Path(spool.bad).iterdir())) == KEPT_BAD
    assert spool.lost()["bad"] == KEPT_BAD + 3


def test_a_disk_that_is_nearly_full_is_not_filled_further(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "MIN_FREE_SHARE", 1.0)

    with pytest.raises(SpoolFull, match="nearly full"):
        add(spool, "r1")

    assert spool.waiting() == []
