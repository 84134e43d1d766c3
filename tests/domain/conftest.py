"""The catalogue of this repository, and the rules that it makes for the node of the captures."""

from pathlib import Path

import pytest
from hypothesis import settings

from checks.domain.catalogue import Catalogue, load_catalogue
from checks.domain.profiles import Ruleset

CATALOGUE = Path(__file__).resolve().parents[2] / "checks" / "catalog"

# A property is about values, not about the speed of the machine that happens to run it.
settings.register_profile("domain", deadline=None, max_examples=100)
settings.load_profile("domain")


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue(CATALOGUE)


@pytest.fixture(scope="session")
def h200x2(catalogue: Catalogue) -> Ruleset:
    """The rules of a virtual machine with two H200."""
    return Ruleset.build(catalogue, "2xh200-virtual", {})


@pytest.fixture(scope="session")
def h100x8(catalogue: Catalogue) -> Ruleset:
    """The rules of a bare-metal node with eight H100."""
    return Ruleset.build(catalogue, "8xh100", {})
