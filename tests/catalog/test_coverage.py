"""The page that tells what measures each item is what the code says."""

from checks.domain.catalogue import Catalogue
from checks.domain.verdicts import Source
from tests.item_coverage import PAGE, page, seen, ways_of


def test_the_page_of_coverage_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.item_coverage"


def test_what_counts_is_measured_by_something(catalogue: Catalogue) -> None:
    assert [key for key, item in catalogue.items.items() if not item.shadow and not [*ways_of(item)]] == []


def test_what_a_person_states_is_measured_by_nobody_else(catalogue: Catalogue) -> None:
    stated = [item for item in catalogue.items.values() if item.source is Source.ATTESTED]

    assert {tuple(ways_of(item)) for item in stated} == {("a person states it",)}


def test_only_items_of_the_catalogue_were_seen(catalogue: Catalogue) -> None:
    assert seen().keys() <= catalogue.items.keys()
