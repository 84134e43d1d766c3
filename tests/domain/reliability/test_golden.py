"""Published figures, worked out again from what their sources print.

Meta: arXiv 2410.21680 (rates of RSC-1 and RSC-2, MTTF at 16,384 and 131,072 GPUs). Llama 3: arXiv 2407.21783, section
3.3.4 and table 5 (419 unexpected interruptions in 54 days on 16,384 GPUs; the 30.1 % that it prints for 148 faulty GPUs
is no share of 419).
"""

import pytest

from checks.domain.reliability.poisson import at_least_one, expected, mttf_h, observed_rate, spares_needed
from checks.domain.reliability.posterior import PRIOR, Belief, History, gamma_below, gamma_quantile

RSC_2, LLAMA, RSC_1 = 2.34, 3.79, 6.5
LLAMA_3 = {
    "Faulty GPU": 148, "GPU HBM3 memory": 72, "Software bug": 54, "Network switch/cable": 35, "Host maintenance": 32,
    "GPU SRAM memory": 19, "GPU system processor": 17, "NIC": 7, "NCCL watchdog timeouts": 7,
    "Silent data corruption": 6, "GPU thermal interface + sensor": 6, "SSD": 3, "Power supply": 3, "Server chassis": 2,
    "IO expansion board": 2, "Dependency": 2, "CPU": 2, "System memory": 2,
}  # fmt: skip
OF_GPUS = (
    "Faulty GPU", "GPU HBM3 memory", "GPU SRAM memory", "GPU system processor", "Silent data corruption",
    "GPU thermal interface + sensor",
)  # fmt: skip


def test_the_counts_of_llama_3_add_up_and_its_printed_shares_do_not() -> None:
    assert sum(LLAMA_3.values()) == 419
    assert round(148 / 419, 3) == 0.353
    assert round(sum(LLAMA_3[name] for name in OF_GPUS) / 419, 3) == 0.640


def test_llama_3_was_interrupted_every_three_hours() -> None:
    rate = observed_rate(419, 16_384 / 8 * 54)

    assert round(rate, 2) == 3.79
    assert round(mttf_h(2048, rate), 2) == 3.09
    assert round(rate / 8 / 1000, 6) == 0.000474


@pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.8), (131_072, 0.23)])
def test_meta_projects_the_same_time_to_failure(gpus: int, hours: float) -> None:
    assert round(mttf_h(gpus // 8, RSC_1), 1 if hours > 1 else 2) == hours


def test_what_meta_measured_at_1024_gpus_is_another_rate_than_it_prints() -> None:
    assert round(mttf_h(128, 23.7), 1) == 7.9
    assert round(mttf_h(128, RSC_1), 1) == 28.8


@pytest.mark.parametrize(
    ("gpus", "mttf", "in_14_days", "in_30_days"),
    [
        (64, (1282, 792, 462), (0.26, 0.42, 0.73), (0.56, 0.91, 1.56)),
        (512, (160, 99, 58), (2.1, 3.4, 5.8), (4.5, 7.3, 12.5)),
        (4096, (20, 12, 7), (17, 27, 47), (36, 58, 100)),
        (16_384, (5, 3, 2), (67, 109, 186), (144, 233, 399)),
    ],
)
def test_expected_interruptions_at_three_published_rates(
    gpus: int, mttf: tuple[float, ...], in_14_days: tuple[float, ...], in_30_days: tuple[float, ...]
) -> None:
    rates = (RSC_2, LLAMA, RSC_1)

    assert [mttf_h(gpus // 8, rate) for rate in rates] == pytest.approx(mttf, abs=0.6)
    assert [expected(gpus / 8, 14, rate) for rate in rates] == pytest.approx(in_14_days, rel=0.03)
    assert [expected(gpus / 8, 30, rate) for rate in rates] == pytest.approx(in_30_days, rel=0.03)


@pytest.mark.parametrize(("gpus", "surely"), [(64, (0.23, 0.35, 0.52)), (512, (0.88, 0.97, 0.997))])
def test_the_chance_of_one_interruption_in_two_weeks(gpus: int, surely: tuple[float, ...]) -> None:
    found = [at_least_one(gpus / 8, 14, rate) for rate in (RSC_2, LLAMA, RSC_1)]

    assert found == pytest.approx(surely, abs=0.006)


@pytest.mark.parametrize(("gpus", "clean"), [(64, (0.86, 0.59)), (512, (0.29, 0.015)), (1024, (0.08, 0.0002))])
def test_three_days_without_failure_prove_no_reliability(gpus: int, clean: tuple[float, float]) -> None:
    found = [1 - at_least_one(gpus / 8, 3, rate) for rate in (RSC_1, 22)]

    assert found == pytest.approx(clean, abs=0.005)


def test_without_a_failure_it_takes_462_node_days_to_show_a_rate_of_six_and_a_half() -> None:
    """With no prior at all, 95 % lie below 3 / node-days (the rule of three)."""
    nearly_nothing = Belief(shape=1.0, node_days=462.0)

    assert nearly_nothing.quantile(0.95) == pytest.approx(6.5, rel=0.003)


def test_spares_are_the_quantile_of_a_binomial_distribution() -> None:
    """By hand: of four coins, at most three show heads with 15/16, and at most two with 11/16."""
    even = 0.6931471805599453 * 1000  # a rate at which one day's repair keeps a node away half of the time

    assert spares_needed(4, even, 1.0, surely=0.68) == 2
    assert spares_needed(4, even, 1.0, surely=0.9) == 3
    assert spares_needed(4, even, 1.0) == 4


def test_no_failures_need_no_spare() -> None:
    assert spares_needed(64, 0.0, 7.0) == 0


def test_a_thousand_machines_need_four_spares_where_one_in_a_thousand_is_away() -> None:
    """ByteRobust's example: 4 of 1,024 (SOSP 2025). Poisson of 1.02: P(<= 3) = 0.98, P(<= 4) = 0.996."""
    assert spares_needed(1024, 1.0, 1.0) == 4


def test_a_belief_of_whole_shape_is_the_sum_of_a_poisson_series() -> None:
    """By hand: a Gamma variable of shape 2 lies below x with 1 - e^-x (1 + x)."""
    assert gamma_below(2.0, 1.0) == pytest.approx(1 - 2 / 2.718281828459045, rel=1e-12)
    assert gamma_below(2.0, 9.0) == pytest.approx(1 - 10 * 2.718281828459045**-9, rel=1e-12)
    assert gamma_quantile(1.0, 0.5) == pytest.approx(0.6931471805599453, rel=1e-9)


def test_history_moves_the_prior_by_what_was_counted() -> None:
    """By hand: 0.975 failures in 150 node-days, and 12 in 850 more: 12.975 in 1000."""
    belief = PRIOR.after(History(failures=12, node_days=850.0))

    assert PRIOR.mean == pytest.approx(6.5)
    assert belief.mean == pytest.approx(12.975)
    assert belief.quantile(0.05) < belief.mean < belief.quantile(0.95)
