"""Where the datasets of tests lie, and a team's patterns."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the dataset of a test lies."""
    return tmp_path / "dataset"


@pytest.fixture
def patterns(tmp_path: Path) -> Path:
    """The team's patterns."""
    path = tmp_path / "patterns.txt"
    path.write_text("# numbers of cards\nsecret[0-9]+\n(?i)internal only\n")
    return path
