"""The catalogue that is shipped, loaded once: nothing in these tests is made up for them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from checks.domain.catalogue import Catalogue, load_catalogue
from checks.domain.evaluation import judge
from checks.domain.facts import Fact
from checks.domain.measuring import measure
from checks.domain.memory import ItemMemory
from checks.domain.profiles import Ruleset
from checks.domain.units import Scalar
from tests.architecture.source_files import ROOT

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BOOT = "8f7a1c52-3f0e-4a55-9d5b-0d7d4a1f6f10"

Sample = dict[str, Scalar]
Judged = Callable[..., str]


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """Every item and profile, read as the portal reads them."""
    return load_catalogue(ROOT / "checks" / "catalog")


@pytest.fixture
def judged(catalogue: Catalogue) -> Judged:
    """The raw verdict of an item under a profile after one or more samples, 150 s apart."""

    def verdict(profile: str, key: str, *samples: Sample) -> str:
        item = Ruleset.build(catalogue, profile, {}).items[key]
        memory, judgement = ItemMemory(), None
        for place, sample in enumerate(samples):
            now = NOON + place * timedelta(seconds=150)
            facts = [Fact(key, "", name, held, item.facts[name].value, now) for name, held in sample.items()]
            measured = measure(item, facts, [], memory, observed_at=now, boot_id=BOOT)
            memory, judgement = measured.memory, judge(item, measured.value, now=now)
        assert judgement is not None
        return judgement.verdict.value

    return verdict
