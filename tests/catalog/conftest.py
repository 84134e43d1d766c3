"""The catalogue that is shipped, loaded once: nothing in these tests is made up for them."""

import pytest

from checks.domain.catalogue import Catalogue, load_catalogue
from tests.architecture.source_files import ROOT


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """Every item and profile, read as the portal reads them."""
    return load_catalogue(ROOT / "checks" / "catalog")
