"""Language of a document, by a model file that the team names: a score without its model means nothing."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from readiness_agent.audits.libraries import library
from readiness_agent.errors import usage_error

CONFIDENCE_FLOOR = 0.95
"""Documents below it are counted."""


class LanguageModel(NamedTuple):
    """A fastText model that tells languages."""

    model: Any
    digest: str
    """``sha256:…`` of its file."""

    def confidence(self, text: str) -> float:
        """Of the likeliest language, 0 to 1."""
        _, scores = self.model.predict(text.replace("\n", " "), k=1)
        return float(scores[0]) if len(scores) else 0.0


def load_language_model(path: str) -> LanguageModel:
    """The model in the file *path*.

    Raises:
        LibraryMissing: fastText is not installed.
        AgentError: the file cannot be read, or holds no model.
    """
    fasttext = library("fasttext", "telling languages")
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        model = fasttext.load_model(path)
    except (OSError, ValueError) as error:
        raise usage_error(f"{path} is no fastText model ({error}): name a file such as lid.176.ftz") from None
    return LanguageModel(model, f"sha256:{digest.hexdigest()}")
