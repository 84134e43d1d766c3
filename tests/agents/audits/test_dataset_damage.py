"""Damaged, foreign and unreadable files: a fault or a problem of their items, never a crash, never a pass."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.audits.dataset import ITEMS
from tests.agents.audits.datasets import (
    IDS,
    TEXTS,
    audited,
    cut,
    facts,
    id_rows,
    megatron_index,
    of_ids,
    of_text,
    problems,
    text_rows,
    write_arrow,
    write_jsonl,
    write_megatron,
    write_numpy,
    write_parquet,
)  # fmt: skip


def test_an_index_of_another_file_is_found(folder: Path) -> None:
    paths = write_megatron(folder, id_rows())
    paths[1].with_suffix(".idx").write_bytes(megatron_index([300] * 39 + [299]))

    result = of_ids(folder)

    assert facts(result, "data-integrity")["index_errors"] == 1
    assert "the file has 48000" in next(one.said for one in result.findings if one.item == "data-integrity")
    assert problems(result, "data-shard-balance")[0][0] == "unreadable"


def test_an_index_without_its_file_is_found(folder: Path) -> None:
    paths = write_megatron(folder, id_rows())
    paths[3].unlink()

    assert facts(of_ids(folder), "data-integrity")["index_errors"] == 1


def test_a_file_of_tokens_without_its_index_is_of_another_format(folder: Path) -> None:
    paths = write_megatron(folder, id_rows())
    paths[3].with_suffix(".idx").unlink()

    assert facts(of_ids(folder), "data-format") == {"format": "memory-mapped", "files_of_other_format": 1}


@pytest.mark.parametrize("form", ["gzip", "zstd", "Parquet", "Arrow file", "Arrow stream"])
def test_a_file_that_breaks_off_is_a_fault_and_leaves_the_rest_unknown(folder: Path, patterns: Path, form: str) -> None:
    cut(TEXTS[form](folder, text_rows())[2])

    result = of_text(folder, patterns)

    assert facts(result, "data-integrity")["index_errors"] == 1
    for item in ("data-shard-balance", "data-encoding", "data-duplicates", "data-sensitive", "data-shard-by-sample"):
        assert problems(result, item)[0][0] == "unreadable", item
    assert not problems(result, "data-format")


@pytest.mark.parametrize("form", ["Megatron", "Parquet", "Arrow file", "Arrow stream"])
def test_a_file_of_ids_that_breaks_off_is_a_fault(folder: Path, form: str) -> None:
    cut(IDS[form](folder, id_rows())[0])

    result = of_ids(folder)

    assert facts(result, "data-integrity")["index_errors"] == 1
    assert problems(result, "data-shard-balance")[0][0] == "unreadable"


def test_an_array_that_breaks_off_is_a_fault(folder: Path) -> None:
    folder.mkdir()
    cut(write_numpy(folder / "tokens.npy", list(range(4_000))))

    assert facts(of_ids(folder), "data-integrity")["index_errors"] == 1


def test_a_null_in_the_column_of_texts_is_a_fault(folder: Path, patterns: Path) -> None:
    rows = text_rows()
    rows[0][0]["text"] = None
    write_parquet(folder, rows)

    assert facts(of_text(folder, patterns), "data-integrity")["index_errors"] == 1


def test_an_index_of_floats_is_no_dataset_of_tokens(folder: Path) -> None:
    folder.mkdir()
    write_numpy(folder / "weights.npy", [0.5, 1.5], "<f4")

    assert problems(of_ids(folder), "data-integrity")[0] == (
        "error", "weights.npy: it holds <f4, not token ids in one or two dimensions"
    )  # fmt: skip


def test_files_put_together_are_no_arrow_stream(folder: Path, patterns: Path) -> None:
    paths = write_arrow(folder, text_rows(), stream=True)
    paths[0].write_bytes(paths[0].read_bytes() + paths[1].read_bytes())

    assert facts(of_text(folder, patterns), "data-integrity")["index_errors"] == 1


def test_without_pyarrow_the_contents_are_unknown(
    folder: Path, patterns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    write_parquet(folder, text_rows())
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    result = of_text(folder, patterns)

    assert facts(result, "data-format")["format"] == "parquet"
    for item in set(ITEMS) - {"data-format", "data-language", "data-cleaning-loss"}:
        assert "pip install pyarrow" in dict(problems(result, item))["missing"], item


def test_an_empty_folder_passes_nothing(folder: Path) -> None:
    folder.mkdir()

    result = of_ids(folder)

    assert result.facts == ()
    assert {problem.item for problem in result.problems} == set(ITEMS)


def test_gzip_of_nothing_that_is_known_is_of_another_format(folder: Path) -> None:
    write_megatron(folder, id_rows())
    (folder / "more.gz").write_bytes(gzip.compress(bytes(range(256))))

    assert facts(of_ids(folder), "data-format")["files_of_other_format"] == 1


CUT = [form for form in TEXTS if form != "JSON Lines"]  # cut between two lines, only a listing tells


def places(size: int) -> Iterator[int]:
    """Places in a file at which it is cut: near both ends, and between."""
    yield from sorted({1, 4, 8, 12, *range(16, size, max(size // 24, 1)), size - 9, size - 8, size - 4, size - 1})


@pytest.mark.parametrize("form", CUT)
def test_wherever_a_file_is_cut_it_is_never_whole(folder: Path, form: str) -> None:
    path = TEXTS[form](folder, text_rows()[:1])[0]
    content, format_of_it = path.read_bytes(), facts(audited(folder), "data-format")["format"]
    for place in places(len(content)):
        path.write_bytes(content[:place])

        result = audited(folder, "--item", "data-integrity", "--item", "data-encoding", "--item", "data-format")

        is_another = facts(result, "data-format")["format"] != format_of_it
        faults = facts(result, "data-integrity")["index_errors"]
        assert is_another or faults or problems(result, "data-encoding"), place


def test_wherever_a_pair_is_cut_it_is_never_whole(folder: Path) -> None:
    path = write_megatron(folder, id_rows()[:1])[0]
    for half in (path, path.with_suffix(".idx")):
        content = half.read_bytes()
        for place in places(len(content)):
            half.write_bytes(content[:place])

            result = audited(folder, "--item", "data-integrity", "--item", "data-shard-balance")

            assert facts(result, "data-integrity")["index_errors"] or problems(result, "data-integrity"), place
        half.write_bytes(content)


def test_a_cut_file_of_a_stream_is_told_of_even_between_two_batches(folder: Path) -> None:
    path = write_arrow(folder, text_rows()[:1], stream=True)[0]
    content = path.read_bytes()
    path.write_bytes(content[:-8])

    said = [one.said for one in audited(folder).findings if one.item == "data-integrity"]

    assert said == ["it has no end of stream: whoever wrote it was stopped"]
    cut(path)
    assert facts(audited(folder), "data-integrity")["index_errors"] == 1


def test_a_file_that_may_not_be_read_is_a_problem_of_every_item(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_jsonl(folder, text_rows())
    real = open

    def denied(path: Any, *rest: Any, **named: Any) -> Any:
        if str(path) == str(paths[1]):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **named)

    monkeypatch.setattr("builtins.open", denied)

    result = audited(folder)

    assert {item: problems(result, item)[0] for item in ITEMS} == dict.fromkeys(
        ITEMS, ("denied", "part-00001.jsonl cannot be read: Permission denied")
    )
