"""How large checkpoints are, and how many stay; golden sizes are published ones."""

from decimal import Decimal

import pytest

from checks.domain.cost.errors import ImpossibleInput
from checks.domain.cost.retention import retained
from checks.domain.cost.scenario import Layout
from checks.domain.cost.sizes import as_gb, as_gib, checkpoint_bytes


@pytest.mark.parametrize(
    ("layout", "gb", "gib"),
    [
        (Layout.WEIGHTS, "26.0", "24.2"),
        (Layout.ADAM, "130", "121"),
        (Layout.ADAM_FP32, "156", "145"),
        (Layout.ADAM_MASTER, "182", "169.5"),
    ],
)
def test_13_billion_parameters_weigh_what_their_layout_says(layout: Layout, gb: str, gib: str) -> None:
    size = checkpoint_bytes(13e9, layout)

    assert as_gb(size) == Decimal(gb)
    assert round(as_gib(size), -Decimal(gib).as_tuple().exponent) == Decimal(gib)


def test_opt_with_175_billion_parameters_makes_the_published_1_6_tb() -> None:
    assert round(as_gib(checkpoint_bytes(175e9, Layout.ADAM)) / 1024, 2) == Decimal("1.59")


def test_bloom_makes_the_published_2_3_tb_and_weights_of_329_gb() -> None:
    assert round(as_gib(checkpoint_bytes(176.247e9, Layout.ADAM_MASTER)) / 1024, 2) == Decimal("2.24")
    assert round(as_gib(checkpoint_bytes(176.247e9, Layout.WEIGHTS)), 1) == Decimal("328.3")


@pytest.mark.parametrize("parameters", [0, -1, float("nan"), float("inf")])
def test_a_model_without_parameters_has_no_size(parameters: float) -> None:
    with pytest.raises(ImpossibleInput, match="give a number above 0"):
        checkpoint_bytes(parameters, Layout.ADAM)


@pytest.mark.parametrize(
    ("written", "last", "every", "kept"),
    [(100, 3, 0, 3), (100, 3, 10, 12), (2, 3, 10, 2), (0, 3, 10, 0), (13, 3, 10, 4), (100, 0, 1, 100)],
)
def test_the_last_ones_and_every_so_many_th_stay(written: int, last: int, every: int, kept: int) -> None:
    assert retained(written, keep_last=last, keep_every=every) == kept
