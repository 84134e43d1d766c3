"""One fault planted in a sound dataset, in each format that can hold it: it is found, and nothing else is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.audits import AuditResult
from readiness_agent.audits.dataset import ITEMS
from tests.agents.audits.datasets import (
    IDS,
    TEXTS,
    arrow_table,
    audited,
    facts,
    id_rows,
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


def changed(sound: AuditResult, faulty: AuditResult) -> set[str]:
    """Items that say something else than they did of the sound dataset."""
    told = [(facts(one, item), problems(one, item)) for item in ITEMS for one in (sound, faulty)]
    pairs = zip(ITEMS, told[::2], told[1::2], strict=True)
    return {item for item, one, other in pairs if without_figures(one) != without_figures(other)}


def without_figures(told: tuple[Any, Any]) -> tuple[Any, Any]:
    """The sentence about the method counts documents, which is no finding."""
    stated, said = told
    return {name: value for name, value in stated.items() if name != "method"}, said


@pytest.mark.parametrize("form", TEXTS)
def test_a_sound_dataset_of_text_has_no_fault(folder: Path, patterns: Path, form: str) -> None:
    TEXTS[form](folder, text_rows())

    result = of_text(folder, patterns)

    assert facts(result, "data-shard-balance")["measured_in"] == "rows"
    assert facts(result, "data-shard-by-sample") == {"seeded_global_index": False, "misplaced_samples": 0}
    assert facts(result, "data-encoding") == {"invalid_records": 0, "replacement_characters": 0}
    assert facts(result, "data-duplicates")["duplicate_share"] == 0
    assert facts(result, "data-sensitive")["hits"] == 0
    assert facts(result, "data-integrity") == {"index_errors": 0}
    assert facts(result, "data-pretokenized") == {"holds_token_ids": False}


@pytest.mark.parametrize("form", IDS)
def test_a_sound_dataset_of_token_ids_has_no_fault(folder: Path, form: str) -> None:
    IDS[form](folder, id_rows())

    result = of_ids(folder)

    balance = {"tokens_min": 12_000, "tokens_max": 12_000, "tokens_mean": 12_000.0, "measured_in": "tokens"}
    assert facts(result, "data-shard-balance") == {**balance, "shard_remainder": 0}
    assert facts(result, "data-pretokenized") == {"holds_token_ids": True, "tokenizer_in_loader": False}
    integrity = facts(result, "data-integrity")
    assert (integrity["index_errors"], integrity["dtype_too_narrow"]) == (0, False)
    assert integrity["token_max"] < integrity["vocabulary_size"] == 50_000


def test_formats_are_told_by_bytes_and_not_by_names(folder: Path) -> None:
    for path in write_parquet(folder, id_rows()):
        path.rename(path.with_suffix(".jsonl"))

    assert facts(of_ids(folder), "data-format") == {"format": "parquet", "files_of_other_format": 0}


def test_a_shard_of_another_format_is_found(folder: Path, patterns: Path) -> None:
    rows = text_rows()
    paths = write_parquet(folder, rows)
    sound = of_text(folder, patterns)
    write_jsonl(folder, [rows[2]])[0].replace(paths[2])

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-format"}
    assert facts(faulty, "data-format") == {"format": "parquet", "files_of_other_format": 1}


@pytest.mark.parametrize("form", [form for form in TEXTS if form not in ("gzip", "zstd")])
def test_bytes_that_are_no_utf8_are_found(folder: Path, patterns: Path, form: str) -> None:
    rows = text_rows()
    rows[1][5]["text"] += " caf@@"
    paths = TEXTS[form](folder, rows)
    sound = of_text(folder, patterns)
    paths[1].write_bytes(paths[1].read_bytes().replace(b" caf@@", b" caf\xe9\xe9"))

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-encoding"}
    assert facts(faulty, "data-encoding") == {"invalid_records": 1, "replacement_characters": 0}


@pytest.mark.parametrize("form", TEXTS)
def test_characters_that_stand_for_lost_bytes_are_found(folder: Path, patterns: Path, form: str) -> None:
    rows = text_rows()
    TEXTS[form](folder, rows)
    sound = of_text(folder, patterns)
    rows[3][0]["text"] += " caf\ufffd \ufffd"
    TEXTS[form](folder, rows)

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-encoding"}
    assert facts(faulty, "data-encoding") == {"invalid_records": 0, "replacement_characters": 2}


def test_half_a_character_written_as_an_escape_is_no_utf8(folder: Path, patterns: Path) -> None:
    folder.mkdir()
    (folder / "part-0.jsonl").write_text('{"text": "half a smile \\ud83d", "sample_id": 0}\n')

    assert facts(of_text(folder, patterns), "data-encoding")["invalid_records"] == 1


@pytest.mark.parametrize("form", TEXTS)
def test_hits_of_patterns_are_counted_and_not_shown(folder: Path, patterns: Path, form: str) -> None:
    rows = text_rows()
    TEXTS[form](folder, rows)
    sound = of_text(folder, patterns)
    rows[0][7]["text"] += " secret4711 Internal Only"
    TEXTS[form](folder, rows)

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-sensitive"}
    assert (facts(faulty, "data-sensitive")["hits"], facts(faulty, "data-sensitive")["patterns"]) == (2, 2)
    assert "4711" not in str(faulty) and "nternal" not in str(faulty)


@pytest.mark.parametrize("form", TEXTS)
def test_near_duplicates_are_found(folder: Path, patterns: Path, form: str) -> None:
    rows = text_rows()
    TEXTS[form](folder, rows)
    sound = of_text(folder, patterns)
    for place in range(16):  # 16 of 160, each with another last word
        rows[3][place]["text"] = rows[0][place]["text"].rpartition(" ")[0] + " changed"
    TEXTS[form](folder, rows)

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-duplicates"}
    assert facts(faulty, "data-duplicates")["duplicate_share"] == 10.0


def test_near_duplicates_of_token_ids_are_found(folder: Path) -> None:
    rows = id_rows()
    for place in range(8):
        rows[2][place]["input_ids"] = [*rows[1][place]["input_ids"][:-1], 7]
    write_megatron(folder, rows)

    assert facts(of_ids(folder), "data-duplicates")["duplicate_share"] == 5.0


@pytest.mark.parametrize("form", TEXTS)
def test_a_longer_shard_is_found(folder: Path, patterns: Path, form: str) -> None:
    rows = text_rows()
    TEXTS[form](folder, rows)
    sound = of_text(folder, patterns)
    rows[3].append({"text": "one more document that is like no other at all", "sample_id": 163})
    TEXTS[form](folder, rows)

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-shard-balance"}
    balance = facts(faulty, "data-shard-balance")
    assert (balance["tokens_min"], balance["tokens_max"], balance["tokens_mean"]) == (40, 41, 40.25)


@pytest.mark.parametrize("form", IDS)
def test_a_shard_with_more_tokens_in_as_many_rows_is_found(folder: Path, form: str) -> None:
    rows = id_rows()
    IDS[form](folder, rows)
    sound = of_ids(folder)
    rows[1][0]["input_ids"] += [17] * 100
    IDS[form](folder, rows)

    faulty = of_ids(folder)

    assert changed(sound, faulty) == {"data-shard-balance"}
    assert facts(faulty, "data-shard-balance")["tokens_max"] == 12_100


def test_shards_that_cannot_be_dealt_evenly_are_found(folder: Path) -> None:
    write_megatron(folder, id_rows())

    assert facts(audited(folder, "--data-parallel", 3), "data-shard-balance")["shard_remainder"] == 1


@pytest.mark.parametrize("form", TEXTS)
def test_samples_in_another_ranks_shard_are_found(folder: Path, patterns: Path, form: str) -> None:
    rows = text_rows()
    TEXTS[form](folder, rows)
    sound = of_text(folder, patterns)
    rows[0][3], rows[1][3] = rows[1][3], rows[0][3]
    TEXTS[form](folder, rows)

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-shard-by-sample"}
    assert facts(faulty, "data-shard-by-sample")["misplaced_samples"] == 2


def test_the_order_that_a_loader_wrote_down_makes_shards_by_sample_needless(folder: Path) -> None:
    write_megatron(folder, id_rows())
    write_numpy(folder / "ab12-GPTDataset-train-shuffle_index.npy", [3, 1, 2, 0], "<i4")

    result = of_ids(folder)

    assert facts(result, "data-shard-by-sample") == {"seeded_global_index": True}
    assert not problems(result, "data-shard-by-sample")


def test_a_torn_line_is_found(folder: Path, patterns: Path) -> None:
    paths = write_jsonl(folder, text_rows())
    sound = of_text(folder, patterns)
    content = paths[2].read_bytes()
    paths[2].write_bytes(content[: content.rindex(b'"sample_id"')])

    faulty = of_text(folder, patterns)

    assert changed(sound, faulty) == {"data-integrity"}
    assert facts(faulty, "data-integrity")["index_errors"] == 1
    assert [one.place for one in faulty.findings if one.item == "data-integrity"] == ["part-00002.jsonl, line 40"]


@pytest.mark.parametrize("form", IDS)
def test_a_token_id_beyond_the_vocabulary_is_found(folder: Path, form: str) -> None:
    rows = id_rows()
    rows[0][0]["input_ids"][3] = 50_000
    IDS[form](folder, rows)

    result = of_ids(folder)

    assert facts(result, "data-integrity")["token_max"] == 50_000
    assert facts(result, "data-integrity")["index_errors"] == 0


@pytest.mark.parametrize("form", IDS)
def test_a_negative_token_id_is_found(folder: Path, form: str) -> None:
    rows = id_rows()
    rows[0][0]["input_ids"][3] = -100
    IDS[form](folder, rows)

    result = of_ids(folder)

    assert facts(result, "data-integrity")["index_errors"] == 1
    assert "token id -100" in next(one.said for one in result.findings if one.item == "data-integrity")


def test_ids_of_16_bits_are_too_narrow_for_a_larger_vocabulary(folder: Path) -> None:
    write_megatron(folder, id_rows(), code=8, form="H")

    assert facts(of_ids(folder, 65_536), "data-integrity")["dtype_too_narrow"] is False
    assert facts(of_ids(folder, 65_537), "data-integrity")["dtype_too_narrow"] is True


def test_the_sign_takes_a_bit(folder: Path) -> None:
    folder.mkdir()
    write_numpy(folder / "tokens.npy", [5, 6, 7], "<i4")

    assert facts(of_ids(folder, 2**31), "data-integrity")["dtype_too_narrow"] is False
    assert facts(of_ids(folder, 2**31 + 1), "data-integrity")["dtype_too_narrow"] is True


def test_rows_lost_in_cleaning_are_counted_against_the_original(folder: Path, tmp_path: Path) -> None:
    rows = text_rows()
    write_jsonl(tmp_path / "before", rows, "jsonl.gz")
    rows[0] = rows[0][:24]
    write_parquet(folder, rows)

    result = audited(folder, "--original", tmp_path / "before", "--stage", "quality filter")

    told = facts(result, "data-cleaning-loss")
    assert told == {"lost_share": 10.0, "rows_before": 160, "rows_after": 144, "stage": "quality filter"}


def test_rows_of_one_length_tell_nothing_of_duplicates(folder: Path) -> None:
    rows = id_rows()
    for shard in rows:
        for row in shard:
            row["input_ids"] = row["input_ids"][:256]
    write_arrow(folder, rows)

    result = of_ids(folder)

    assert facts(result, "data-duplicates") == {}
    assert "cut to one length" in problems(result, "data-duplicates")[0][1]


def test_what_writers_leave_beside_the_data_is_no_shard(folder: Path) -> None:
    write_arrow(folder, id_rows())
    (folder / "dataset_info.json").write_text('{"features": {}}')
    (folder / "_SUCCESS").write_text("")
    (folder / "README.md").write_text("# A dataset\n")

    assert facts(of_ids(folder), "data-format")["files_of_other_format"] == 0


def test_a_copy_of_the_dataset_has_the_same_digest_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    write_megatron(folder, id_rows())
    shutil.copytree(folder, tmp_path / "elsewhere" / "dataset")

    assert of_ids(folder).artefacts == of_ids(tmp_path / "elsewhere" / "dataset").artefacts
    assert of_ids(folder).artefacts[0].name == "dataset"


def test_a_table_may_hold_more_columns_than_are_read(folder: Path) -> None:
    rows = [[{**row, "url": "https://example.org", "score": 0.5} for row in shard] for shard in text_rows()]
    write_parquet(folder, rows)

    assert facts(audited(folder), "data-shard-balance")["tokens_max"] == 40
    assert arrow_table(rows[0]).num_columns == 4
