"""The files of one tokenizer, as far as they lie there."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

CONFIG, FAST, MODEL_CONFIG = "tokenizer_config.json", "tokenizer.json", "config.json"
SLOW = ("tokenizer.model", "spiece.model", "vocab.json", "vocab.txt", "sentencepiece.bpe.model")
"""What a tokenizer without the fast form is made of."""

_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_OTHERS = ("special_tokens_map.json", "added_tokens.json", "merges.txt")
_LARGEST = 512 << 20


class BrokenFile(Exception):
    """A file that cannot be read as what its name promises; one sentence."""


class TokenizerFiles(NamedTuple):
    """One side of a comparison."""

    path: str
    fast: Optional[Dict[str, Any]]
    """``tokenizer.json``; None where there is none."""
    fast_path: str
    config: Dict[str, Any]
    config_text: str
    chat_template: Optional[Any]
    model_vocabulary: Optional[int]
    """Token ids of the model, when its configuration lies beside."""
    slow: Tuple[str, ...]
    digests: Dict[str, str]
    """By name: ``sha256:…`` of each file that was found."""


def read_tokenizer_files(path: str) -> TokenizerFiles:
    """Read a folder with a tokenizer, or one ``tokenizer.json``.

    Raises:
        BrokenFile: a file is no JSON, or there is no tokenizer at all.
        OSError: a file cannot be read.
    """
    is_folder = os.path.isdir(path)
    folder = path if is_folder else os.path.dirname(path) or "."
    fast_path = os.path.join(folder, FAST) if is_folder else path
    found = {name: os.path.join(folder, name) for name in (CONFIG, MODEL_CONFIG, *SLOW, *_TEMPLATES, *_OTHERS)}
    there = {name: full for name, full in found.items() if is_folder and os.path.isfile(full)}
    fast = _json(fast_path) if os.path.isfile(fast_path) else None
    slow = tuple(name for name in SLOW if name in there)
    if fast is None and not slow:
        raise BrokenFile(f"{path} holds no tokenizer: name a folder with tokenizer.json, or with {', '.join(SLOW)}")
    config = _json(there[CONFIG]) if CONFIG in there else {}
    model = _json(there[MODEL_CONFIG]) if MODEL_CONFIG in there else {}
    digests = {name: _digest(full) for name, full in there.items() if name != MODEL_CONFIG}
    if fast is not None:
        digests[os.path.basename(fast_path)] = _digest(fast_path)
    text = _text(there[CONFIG]) if CONFIG in there else ""
    template = _template(there, config)
    return TokenizerFiles(path, fast, fast_path, config, text, template, _vocabulary(model), slow, digests)


def _template(there: Dict[str, str], config: Dict[str, Any]) -> Optional[Any]:
    """The chat template: a file of its own counts before the configuration, as the library has it."""
    if "chat_template.jinja" in there:
        return _text(there["chat_template.jinja"])
    if "chat_template.json" in there:
        return _json(there["chat_template.json"]).get("chat_template")
    return config.get("chat_template")


def _vocabulary(model: Dict[str, Any]) -> Optional[int]:
    """A model of several parts keeps it with its part for text."""
    part = model.get("text_config")
    size = model.get("vocab_size", part.get("vocab_size") if isinstance(part, dict) else None)
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_LARGEST)
    except UnicodeDecodeError:
        raise BrokenFile(f"{path} is no UTF-8: copy it again from where it was saved") from None


def _json(path: str) -> Dict[str, Any]:
    try:
        told = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise BrokenFile(f"{path} is no JSON, or it breaks off: copy it again from where it was saved") from None
    if not isinstance(told, dict):
        raise BrokenFile(f"{path} is no JSON object: copy it again from where it was saved")
    return told


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return f"sha256:{hashlib.sha256(file.read()).hexdigest()}"
