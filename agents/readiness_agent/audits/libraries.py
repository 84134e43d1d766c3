"""Data libraries that an agent does without: imported when a file needs one, and missed in one sentence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_DISTRIBUTIONS = {"fasttext": "fasttext-predict", "pyarrow": "pyarrow", "tokenizers": "tokenizers"}
"""Where the distribution is called otherwise than the module, or the module is one of several in it."""


class LibraryMissing(Exception):
    """A library of the extra ``data`` is not installed here: what it reads is *unknown*."""


def library(module: str, purpose: str) -> Any:
    """The imported *module*, e.g. ``pyarrow.parquet``.

    Raises:
        LibraryMissing: it is not installed, or cannot be loaded; says what it is for, and how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        name = _DISTRIBUTIONS.get(top, top)
        why = "is not installed" if isinstance(error, ModuleNotFoundError) else f"cannot be loaded ({error})"
        raise LibraryMissing(f"{purpose} needs {name}, which {why}: pip install {name}") from None
