"""Lists that come as one text, and versions that a table asks for."""

import pytest

from checks.domain.comparing import compare, entries
from checks.domain.errors import UnitMismatch
from checks.domain.items import Operator
from checks.domain.verdicts import Reason, Verdict
from checks.domain.versions import least_version, version
from tests.domain.building import item_of, judged, read

TABLE = ("12:525.60.13", "11:450.80.02", "11.0:450.36.06")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("none", ()),
        ("79", ("79",)),
        ("13 (2x), 79", ("13", "79")),
        ("In Progress, Completed", ("In Progress", "Completed")),
        ("a (2x) b", ("a (2x) b",)),
    ],
)
def test_a_list_is_parted_by_commas_and_a_count_is_no_part_of_an_entry(text: str, held: tuple[str, ...]) -> None:
    assert entries(text) == held


@pytest.mark.parametrize("text", ["", ",", "13,", " , 79", 13, True])
def test_a_list_that_tells_nothing_in_some_place_is_none(text: str | int | bool) -> None:
    with pytest.raises(UnitMismatch):
        entries(text)


@pytest.mark.parametrize(
    ("operator", "measured", "holds"),
    [
        (Operator.ONLY, "none", True),
        (Operator.ONLY, "13", True),
        (Operator.ONLY, "13 (7x), 31", True),
        (Operator.ONLY, "13, 79", False),
        (Operator.ONLY, "131", False),
        (Operator.WITHOUT, "none", True),
        (Operator.WITHOUT, "79", True),
        (Operator.WITHOUT, "79, 31", False),
        (Operator.WITHOUT, "131", True),
    ],
)
def test_entries_are_compared_as_wholes(operator: Operator, measured: str, holds: bool) -> None:
    assert compare(operator, measured, ("13", "31")) is holds


@pytest.mark.parametrize("operator", [Operator.ONLY, Operator.WITHOUT])
def test_a_list_is_held_against_a_list(operator: Operator) -> None:
    with pytest.raises(UnitMismatch):
        compare(operator, "13", "13")


@pytest.mark.parametrize(("older", "newer"), [("9.2", "10.0"), ("525.60.13", "525.125.06"), ("580", "580.65")])
def test_versions_are_numbers_and_no_texts(older: str, newer: str) -> None:
    assert version(older) < version(newer)


@pytest.mark.parametrize("text", ["", "12.", "12.x", "-1", "1" * 10, "١٢"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(UnitMismatch):
        version(text)


@pytest.mark.parametrize(
    ("wanted_by", "least"),
    [("12.4", "525.60.13"), ("12", "525.60.13"), ("11.8", "450.80.02"), ("11.0.3", "450.36.06"), ("14.0", None),
     ("1", None), ("120.1", None)],
)  # fmt: skip
def test_the_lowest_row_that_fits_the_release_counts(wanted_by: str, least: str | None) -> None:
    assert least_version(TABLE, wanted_by) == least


CUDA = {
    "facts": {"live": "text", "runtime": "text"},
    "criteria": [{"fact": "live", "operator": "new_enough", "by": "runtime", "threshold": list(TABLE)}],
}


@pytest.mark.parametrize(
    ("live", "runtime", "verdict", "reason"),
    [
        ("525.60.13", "12.4", Verdict.PASS, None),
        ("515.48.07", "12.4", Verdict.FAIL, Reason.CRITERION),
        ("600.10", "14.0", Verdict.UNKNOWN, Reason.NO_THRESHOLD),
        ("new", "12.4", Verdict.UNKNOWN, Reason.UNIT_MISMATCH),
    ],
)
def test_a_release_without_a_row_is_unknown_and_never_a_pass(
    live: str, runtime: str, verdict: Verdict, reason: Reason | None
) -> None:
    found = judged(item_of(**CUDA), live=live, runtime=runtime)

    assert (found.verdict, found.reason) == (verdict, reason)


def test_what_is_missed_names_both_versions_and_the_one_that_is_needed() -> None:
    assert judged(item_of(**CUDA), live="515.48.07", runtime="12.4").detail == (
        "live 515.48.07, runtime 12.4 needs ≥ 525.60.13"
    )


@pytest.mark.parametrize(
    ("criterion", "complaint"),
    [
        ({"fact": "live", "operator": "new_enough", "threshold": ["12:525"]}, "by: is missing"),
        ({"fact": "live", "operator": "eq", "by": "runtime", "threshold": "x"}, "has no meaning with the operator eq"),
        ({"fact": "live", "operator": "only", "threshold": "13"}, "must be a list"),
        (
            {"fact": "live", "operator": "new_enough", "by": "other", "threshold": ["12:525"]},
            "not among the item's facts",
        ),
    ],
)
def test_a_criterion_that_could_not_be_judged_is_a_mistake(criterion: dict[str, object], complaint: str) -> None:
    _, errors = read(facts={"live": "text", "runtime": "text"}, criteria=[criterion])

    assert any(complaint in error.message for error in errors)


def test_a_list_is_never_held_against_a_number() -> None:
    _, errors = read(criteria=[{"fact": "live", "operator": "only", "threshold": [5]}])

    assert any("cannot be held against a fact of unit count" in error.message for error in errors)
