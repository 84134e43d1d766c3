"""Where the tests of the parsers find real outputs: beside the checkout, when they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared"


def shared(path: str) -> str:
    """The text of one file of ``../shared``; skips the test where that folder is absent."""
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"../shared/{path} is not here")
    return file.read_bytes().decode("utf-8", "replace")
