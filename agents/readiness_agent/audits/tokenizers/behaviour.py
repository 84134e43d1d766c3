"""What a tokenizer does with a text."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Union

from readiness_agent.audits.libraries import library
from readiness_agent.audits.tokenizers.files import BrokenFile, TokenizerFiles


class Encoded(NamedTuple):
    """One text as a model is fed it."""

    with_special: List[int]
    without: List[int]
    decoded: str


class FastTokenizer:
    """A ``tokenizer.json`` in the library that training and inference load it with."""

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded

    def encode(self, text: str) -> Encoded:
        """Ids with and without special tokens, and what they are read back as."""
        with_special, without = (list(self._loaded.encode(text, add_special_tokens=one).ids) for one in (True, False))
        return Encoded(with_special, without, self._loaded.decode(without, skip_special_tokens=False))


class SlowTokenizer:
    """A tokenizer without ``tokenizer.json``: only transformers knows how to load it."""

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded

    def encode(self, text: str) -> Encoded:
        """Ids with and without special tokens, and what they are read back as."""
        with_special, without = (list(self._loaded.encode(text, add_special_tokens=one)) for one in (True, False))
        return Encoded(with_special, without, self._loaded.decode(without))


def load(files: TokenizerFiles) -> Union[FastTokenizer, SlowTokenizer]:
    """The tokenizer of one side. Nothing is fetched, and no code that lies beside it is run.

    Raises:
        LibraryMissing: its library is not installed.
        BrokenFile: its library refuses the files.
    """
    if files.fast is not None:
        tokenizers = library("tokenizers", "what a tokenizer.json does")
        return FastTokenizer(_loaded(files, lambda: tokenizers.Tokenizer.from_file(files.fast_path)))
    transformers = library("transformers", "a tokenizer without tokenizer.json")
    options = {"use_fast": False, "local_files_only": True, "trust_remote_code": False}
    return SlowTokenizer(_loaded(files, lambda: transformers.AutoTokenizer.from_pretrained(files.path, **options)))


def _loaded(files: TokenizerFiles, load_it: Any) -> Any:
    try:
        return load_it()
    except Exception as error:  # of no class of its own: the Rust library raises Exception itself
        first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise BrokenFile(f"{files.path} cannot be loaded: {first_line}") from None
