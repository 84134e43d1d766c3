"""What ``make bench`` calls by name."""

from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES, ON_A_GPU


@pytest.mark.parametrize("name", NAMES + ON_A_GPU)
def test_every_named_benchmark_does_something_when_it_is_called(name: str) -> None:
    """Called as a program it gets to its ``main``, which is the last thing in it; nothing is measured here."""
    source = Path(f"benchmarks/{name}.py").read_text()
    body = source.rpartition('\nif __name__ == "__main__":\n')[2]

    assert body != source
    assert "main()" in body
