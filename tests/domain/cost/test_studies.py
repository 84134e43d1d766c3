"""What published runs lost, by cause: counts as printed, shares by arithmetic, items that exist."""

from pathlib import Path

import pytest

from checks.domain.cost.price_files import PricesInvalid, read_studies
from checks.domain.cost.studies import Study
from tests.lab import our_catalogue

FILE = Path(__file__).parents[3] / "checks" / "rates" / "causes.toml"


@pytest.fixture(scope="module")
def llama() -> Study:
    (study,) = read_studies(FILE)
    return study


def test_the_eighteen_causes_add_up_to_the_printed_interruptions(llama: Study) -> None:
    assert (len(llama.causes), llama.interruptions) == (18, 419)


def test_an_item_that_looks_for_two_causes_is_told_both(llama: Study) -> None:
    """72 of HBM3 and 19 of SRAM; 91000 / (54 x 2048) = 0.8228 of a node in 1000 days."""
    found = llama.of_item("gpu-ecc")

    assert found is not None
    assert (found.times, float(found.per_1000_node_days)) == (91, pytest.approx(0.8228, abs=1e-4))


def test_sixty_four_nodes_would_lose_one_and_a_half_times_in_a_month(llama: Study) -> None:
    """0.8228 x 64 x 30 / 1000 = 1.58."""
    found = llama.of_item("gpu-ecc")

    assert found is not None
    assert found.expected(nodes=64, days=30) == pytest.approx(1.58, abs=0.005)


def test_an_item_that_looks_for_no_published_cause_has_no_figure(llama: Study) -> None:
    assert llama.of_item("sysctl-swappiness") is None


def test_every_item_named_there_is_on_the_checklist(llama: Study) -> None:
    named = {item for cause in llama.causes for item in cause.items}

    assert named - our_catalogue().items.keys() == set()


def test_counts_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "causes.toml"
    wrong.write_text(FILE.read_text(encoding="utf-8").replace("times = 148", "times = 126"), encoding="utf-8")

    with pytest.raises(PricesInvalid, match="is 419, and the causes add up to 397"):
        read_studies(wrong)
