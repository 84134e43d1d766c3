"""What another threshold would have said, against a count of every single sample."""

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.incidents.backtest import BackTest, Counts, Tally, movable
from checks.domain.items import Operator
from tests.lab import our_catalogue

# Ten nodes of which two had an incident: 431 and 438 came before one; 458 is a good node that is merely slow.
MEASURED = (
    Tally(431.0, 0, 1), Tally(438.0, 0, 1), Tally(458.0, 1, 0), Tally(461.0, 0, 1), Tally(468.0, 4, 0),
    Tally(470.0, 3, 0),
)  # fmt: skip
FAILS = {
    Operator.GE: lambda value, threshold: value < threshold, Operator.GT: lambda value, threshold: value <= threshold,
    Operator.LE: lambda value, threshold: value > threshold, Operator.LT: lambda value, threshold: value >= threshold,
}  # fmt: skip
values = st.floats(-1e6, 1e6).map(lambda value: round(value, 1))
samples = st.lists(st.tuples(values, st.booleans()), max_size=80)


def tallied(found: list[tuple[float, bool]]) -> tuple[Tally, ...]:
    return tuple(
        Tally(value, sum(v == value and not bad for v, bad in found), sum(v == value and bad for v, bad in found))
        for value in sorted({value for value, _ in found})
    )


def test_a_threshold_has_false_alarms_among_the_good_and_misses_among_the_bad() -> None:
    found = BackTest(Operator.GE, MEASURED)

    assert (found.good, found.before) == (8, 3)
    assert found.at(460.0) == Counts(false_alarms=1, misses=1)
    assert found.at(463.0) == Counts(false_alarms=1, misses=0)
    assert found.at(469.0) == Counts(false_alarms=5, misses=0)


def test_the_best_threshold_misses_nothing_at_the_least_price_in_false_alarms() -> None:
    assert BackTest(Operator.GE, MEASURED).best() == 468.0


def test_without_an_incident_no_threshold_is_better_than_another() -> None:
    assert BackTest(Operator.GE, (Tally(468.0, 4, 0),)).best() is None


@given(samples, values, st.sampled_from(sorted(FAILS)))
def test_figures_equal_a_count_of_every_sample(
    found: list[tuple[float, bool]], threshold: float, operator: Operator
) -> None:
    fails = FAILS[operator]
    expected = Counts(
        false_alarms=len([1 for value, bad in found if not bad and fails(value, threshold)]),
        misses=len([1 for value, bad in found if bad and not fails(value, threshold)]),
    )

    assert BackTest(operator, tallied(found)).at(threshold) == expected


@given(samples, st.sampled_from(sorted(FAILS)))
def test_no_measured_value_is_a_better_threshold_than_the_best(
    found: list[tuple[float, bool]], operator: Operator
) -> None:
    test = BackTest(operator, tallied(found))
    best = test.best()
    if best is None:
        assert not any(bad for _, bad in found)
        return
    counts = [(test.at(value).misses, test.at(value).false_alarms) for value, _ in found]

    assert (test.at(best).misses, test.at(best).false_alarms) == min(counts)


@given(samples.filter(bool), values)
def test_the_columns_of_a_histogram_hold_every_sample_once_and_the_threshold(
    found: list[tuple[float, bool]], threshold: float
) -> None:
    test = BackTest(Operator.GE, tallied(found))
    columns = test.columns(threshold)

    assert sum(column.good for column in columns) == test.good
    assert sum(column.before for column in columns) == test.before
    assert columns[0].low <= threshold <= columns[-1].high


def test_thresholds_that_one_number_replaces_can_be_moved_and_those_under_load_cannot() -> None:
    items = our_catalogue().items

    assert [one.fact for one in movable(items["sysctl-netdev-backlog"])] == ["live"]
    assert movable(items["gpu-temperature"]) == ()
    assert movable(items["gpu-fabric"]) == ()
