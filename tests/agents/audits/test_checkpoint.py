"""What ``audit checkpoint`` tells of real folders: every file once, no link followed, each step by itself."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.audits import AuditResult
from readiness_agent.audits import checkpoint as module
from readiness_agent.audits.checkpoint import audit

GIB = 1024**3


def audited(*paths: Path) -> AuditResult:
    return audit(argparse.Namespace(paths=[str(path) for path in paths], run=""))


def facts(result: AuditResult) -> dict[str, Any]:
    return {fact.name: fact.value for fact in result.facts}


def file(path: Path, size: int) -> Path:
    """A file of *size* bytes that takes none on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as made:
        made.truncate(size)
    return path


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    """Two steps of two ranks each, as DeepSpeed names them, and what it leaves beside them."""
    for step, rank_size in (("global_step1000", GIB), ("global_step2000", GIB // 2)):
        for rank in (0, 1):
            file(tmp_path / step / f"zero_pp_rank_{rank}_optim_states.pt", rank_size)
    (tmp_path / "latest").write_text("global_step2000")
    file(tmp_path / "zero_to_fp32.py", 30_000)
    return tmp_path


def test_the_largest_step_stands_for_all_and_each_is_told(steps: Path) -> None:
    result = audited(steps)

    assert facts(result) == {"checkpoint_size": 2.0, "checkpoint_disk": 0.0, "checkpoints": 2}
    assert [(Path(one.place).name, one.said) for one in result.findings] == [
        ("global_step1000", "2.147 GB in 2 files, 0.000 GB on disk"),
        ("global_step2000", "1.074 GB in 2 files, 0.000 GB on disk"),
    ]


def test_one_checkpoint_alone_is_one(steps: Path) -> None:
    assert facts(audited(steps / "global_step2000"))["checkpoint_size"] == 1.0


def test_shards_of_one_checkpoint_are_not_steps(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        file(tmp_path / f"model-0000{part}-of-00003.safetensors", GIB)

    assert facts(audited(tmp_path)) == {"checkpoint_size": 3.0, "checkpoint_disk": 0.0, "checkpoints": 1}


def test_files_of_one_step_belong_together(tmp_path: Path) -> None:
    for name in ("step-100.pt", "step-100.optim.pt", "step-200.pt"):
        file(tmp_path / name, GIB)

    assert facts(audited(tmp_path)) == {"checkpoint_size": 2.0, "checkpoint_disk": 0.0, "checkpoints": 2}


def test_what_was_written_takes_room_on_disk(tmp_path: Path) -> None:
    (tmp_path / "iter_0000100").mkdir()
    (tmp_path / "iter_0000100" / "model.pt").write_bytes(os.urandom(2 << 20))

    told = facts(audited(tmp_path))
    assert told["checkpoint_size"] == pytest.approx(2 / 1024, abs=1e-6)
    assert told["checkpoint_disk"] >= told["checkpoint_size"]


def test_a_hard_link_counts_once(tmp_path: Path) -> None:
    first = file(tmp_path / "checkpoint-500" / "a.pt", GIB)
    os.link(first, first.with_name("b.pt"))

    assert facts(audited(tmp_path))["checkpoint_size"] == 1.0


def test_no_link_is_followed_out_of_the_folder_or_around_in_it(tmp_path: Path) -> None:
    outside = file(tmp_path / "elsewhere" / "huge.pt", 8 * GIB)
    step = tmp_path / "checkpoints" / "checkpoint-500"
    file(step / "a.pt", GIB)
    (step / "b.pt").symlink_to(outside)
    (step / "loop").symlink_to(step)
    (tmp_path / "checkpoints" / "checkpoint-900").symlink_to(step)

    assert facts(audited(tmp_path / "checkpoints")) == {
        "checkpoint_size": 1.0, "checkpoint_disk": 0.0, "checkpoints": 1,
    }  # fmt: skip


def test_a_folder_without_a_file_is_unknown_and_no_size_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "global_step1000").mkdir()
    result = audited(tmp_path)

    assert (result.facts, [one.kind for one in result.problems]) == ((), ["missing"])


def test_a_step_that_goes_away_while_it_is_read_is_left_out(steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = os.lstat

    def taken_away(path: str) -> os.stat_result:
        if "global_step1000/zero_pp_rank_1" in str(path):
            raise FileNotFoundError(path)
        return seen(path)

    monkeypatch.setattr(module.os, "lstat", taken_away)
    result = audited(steps)

    assert facts(result) == {"checkpoint_size": 1.0, "checkpoint_disk": 0.0, "checkpoints": 1}
    assert "files went away" in result.findings[0].said


def test_a_folder_that_may_not_be_read_is_told_and_not_taken_for_small(
    steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def closed(path: str) -> Any:
        if str(path).endswith("global_step2000"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(module.os, "scandir", closed)
    result = audited(steps)

    assert [(one.kind, "global_step2000" in one.detail) for one in result.problems] == [("denied", True)]
