"""Pairs of real tokenizers: the same, and changed in one thing that a glance at the files would miss."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readiness_agent.audits import AuditResult
from readiness_agent.audits.tokenizers.hard_texts import hard_texts
from readiness_agent.errors import AgentError
from tests.agents.audits.datasets import facts, problems
from tests.agents.audits.tokenizers import compared, edit, shipped, trained

REAL = {"shipped": shipped, "trained": trained}


@pytest.fixture(params=REAL)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """One real tokenizer for training, and a copy for inference."""
    training = REAL[request.param](tmp_path / "training")
    return training, Path(shutil.copytree(training, tmp_path / "inference"))


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """The same with the small one only."""
    training = trained(tmp_path / "training")
    return training, Path(shutil.copytree(training, tmp_path / "inference"))


def differing(result: AuditResult) -> tuple[Any, Any]:
    """Settings and texts that are not the same."""
    told = facts(result, "tokenizer-parity")
    return told["settings_differing"], told["texts_differing"]


def named(result: AuditResult) -> set[str]:
    """What the findings point at."""
    return {one.place for one in result.findings}


def test_a_copy_is_the_same(pair: tuple[Path, Path]) -> None:
    result = compared(*pair)

    assert differing(result) == (0, 0)
    assert facts(result, "tokenizer-parity")["texts_compared"] == len(hard_texts([])) + added(pair[0])
    assert facts(result, "tokenizer-fast") == {"fast": True}
    assert not result.problems


def added(folder: Path) -> int:
    """Special tokens of this tokenizer that no text of ours holds anyway."""
    own = {token["content"] for token in json.loads((folder / "tokenizer.json").read_text())["added_tokens"]}
    config = json.loads((folder / "tokenizer_config.json").read_text())
    own |= {
        one if isinstance(one, str) else one["content"] for name, one in config.items() if name[-6:] == "_token" and one
    }
    return sum(not any(f"{token!r} in a text" == text.name for text in hard_texts([])) for token in own)


def test_a_file_written_by_another_release_is_the_same(small: tuple[Path, Path]) -> None:
    """Newer ones write out what is off; the file as a whole has another hash then."""
    edit(small[1] / "tokenizer.json", lambda told: told["model"].update(ignore_merges=False, dropout=None))

    assert differing(compared(*small)) == (0, 0)


def test_two_tokenizers_are_not_the_same(tmp_path: Path) -> None:
    settings, texts = differing(compared(shipped(tmp_path / "one"), trained(tmp_path / "other")))

    assert settings > 5
    assert texts > 50


def test_another_normalizer_shows_in_the_texts_that_it_changes(small: tuple[Path, Path]) -> None:
    edit(small[1] / "tokenizer.json", lambda told: told["normalizer"].update(lowercase=False))

    result = compared(*small)

    assert differing(result)[0] == 1
    assert {"normalizer", "capitals that fold oddly"} <= named(result)


def test_two_ids_that_were_swapped_are_found(pair: tuple[Path, Path]) -> None:
    def swap(told: dict[str, Any]) -> None:
        pieces = told["model"]["vocab"]
        pieces["a"], pieces["e"] = pieces["e"], pieces["a"]

    edit(pair[1] / "tokenizer.json", swap)

    result = compared(*pair)

    assert differing(result)[0] == 1
    assert "vocabulary" in named(result)
    assert differing(result)[1] > 0


def test_a_special_token_that_became_text_is_found(small: tuple[Path, Path]) -> None:
    edit(small[1] / "tokenizer.json", lambda told: told["added_tokens"].pop())

    result = compared(*small)

    assert differing(result)[0] == 1
    assert {"added_tokens", "'[MASK]' in a text"} <= named(result)


def test_a_start_token_that_is_no_longer_added_is_found(small: tuple[Path, Path]) -> None:
    edit(small[1] / "tokenizer.json", lambda told: told.update(post_processor=None))

    result = compared(*small)

    assert "post_processor" in named(result)
    assert facts(result, "tokenizer-parity")["texts_differing"] == facts(result, "tokenizer-parity")["texts_compared"]


def test_texts_that_are_cut_are_found(small: tuple[Path, Path]) -> None:
    cut = {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0}
    edit(small[1] / "tokenizer.json", lambda told: told.update(truncation=cut))

    result = compared(*small)

    assert {"truncation", "a long run without spaces"} <= named(result)


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        ("padding_side", lambda told: told.update(padding_side="left")),
        ("truncation_side", lambda told: told.update(truncation_side="left")),
        ("model_max_length", lambda told: told.update(model_max_length=2048)),
        ("pad_token", lambda told: told.update(pad_token="<|pad|>")),
        ("chat_template", lambda told: told.update(chat_template="{{ messages }}")),
        ("add_bos_token", lambda told: told.update(add_bos_token=True)),
    ],
)
def test_a_setting_that_changes_no_text_is_found(
    pair: tuple[Path, Path], setting: str, change: Callable[[dict[str, Any]], object]
) -> None:  # fmt: skip
    edit(pair[1] / "tokenizer_config.json", change)

    result = compared(*pair)

    assert differing(result)[0] == 1
    assert setting in named(result)


def test_a_default_that_is_written_out_is_no_difference(pair: tuple[Path, Path]) -> None:
    edit(pair[1] / "tokenizer_config.json", lambda told: told.update(padding_side="right", add_eos_token=False))

    assert differing(compared(*pair)) == (0, 0)


def test_a_chat_template_in_a_file_of_its_own_counts(small: tuple[Path, Path]) -> None:
    for folder in small:
        edit(folder / "tokenizer_config.json", lambda told: told.update(chat_template="{{ messages }}"))
    (small[1] / "chat_template.jinja").write_text("{{ messages[0] }}")

    assert "chat_template" in named(compared(*small))


def test_ids_beyond_the_model_are_found(small: tuple[Path, Path]) -> None:
    (small[0] / "config.json").write_text('{"vocab_size": 50}')

    result = compared(*small)

    assert differing(result)[0] == 1
    assert "vocabulary bounds" in named(result)


def test_ids_that_do_not_fit_into_the_datasets_integers_are_found(tmp_path: Path) -> None:
    training = shipped(tmp_path / "training")

    result = compared(training, training, "--id-bits", "16")

    assert named(result) == {"id width"}
    assert differing(compared(training, training, "--id-bits", "32")) == (0, 0)


def test_without_the_library_behaviour_is_unknown(small: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)

    result = compared(*small)

    assert "texts_compared" not in facts(result, "tokenizer-parity")
    assert problems(result, "tokenizer-parity")[0][0] == "missing"
    assert "pip install tokenizers" in problems(result, "tokenizer-parity")[0][1]


def test_a_tokenizer_of_pieces_alone_is_slow(small: tuple[Path, Path]) -> None:
    (small[0] / "tokenizer.json").unlink()
    (small[0] / "vocab.txt").write_text("[PAD]\n[UNK]\n")

    assert facts(compared(*small), "tokenizer-fast") == {"fast": False}


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "{}", '{"model": {"type": "BPE"}}', '{"model": {"vocab": [1, [2]]}}']
)
def test_a_damaged_file_is_unknown_and_never_the_same(small: tuple[Path, Path], damage: str) -> None:
    for folder in small:
        (folder / "tokenizer.json").write_text(damage)

    result = compared(*small)

    assert "texts_compared" not in facts(result, "tokenizer-parity")
    assert problems(result, "tokenizer-parity")[0][0] == "unreadable"


def test_a_folder_without_a_tokenizer_is_unknown(small: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    result = compared(small[0], tmp_path / "empty")

    assert "name a folder with tokenizer.json" in problems(result, "tokenizer-parity")[0][1]


def test_one_tokenizer_is_no_pair(small: tuple[Path, Path]) -> None:
    with pytest.raises(AgentError, match="name two tokenizers"):
        compared(small[0])


def test_what_was_compared_is_named_by_its_digest(small: tuple[Path, Path]) -> None:
    names = {one.name for one in compared(*small).artefacts}

    assert names == {
        f"{side}/{name}" for side in ("training", "inference") for name in ("tokenizer.json", "tokenizer_config.json")
    }
