"""What must hold for any facts, any order, any threshold."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checks.domain.catalogue import load_catalogue
from checks.domain.evaluation import judge
from checks.domain.facts import Fact, Problem, ProblemKind
from checks.domain.item_checks import facts_of as read_by
from checks.domain.items import Item
from checks.domain.measuring import measure
from checks.domain.memory import ItemMemory, Value
from checks.domain.profiles import Ruleset
from checks.domain.units import Kind, Unit
from checks.domain.verdicts import RANK, Verdict
from tests.domain.building import NOON, item_of
from tests.domain.conftest import CATALOGUE

RULES = Ruleset.build(load_catalogue(CATALOGUE), "2xh200-virtual", {})
JUDGED = [RULES.items[key] for key in sorted(RULES.applicable)]

ANYTHING = st.one_of(st.integers(), st.floats(), st.text(max_size=8), st.booleans(), st.just("unlimited"))
FITTING = {
    Kind.NUMBER: st.one_of(st.integers(-1, 2**63), st.floats(0, 1e6), st.just("unlimited")),
    Kind.TEXT: st.sampled_from(["set", "unset", "present", "absent", "Default", "noatime", ""]),
    Kind.BOOL: st.booleans(),
}


Round = tuple[list[Fact], str]
Reports = tuple[Item, list[Round]]


def a_fact(item: Item, name: str) -> st.SearchStrategy[Fact | None]:
    """One fact in its own unit, or (less often) anything in any unit, or none."""
    unit = item.facts[name]
    right = FITTING[unit.kind].map(lambda value: Fact(item.key, "", name, value, unit, NOON))
    wrong = st.tuples(ANYTHING, st.sampled_from(Unit)).map(lambda sent: Fact(item.key, "", name, *sent, NOON))
    return st.one_of(right, right, right, wrong, st.none())


def some_reports(item: Item) -> st.SearchStrategy[Reports]:
    """Up to four reports on one item, each with the boot that it comes from."""
    facts = st.tuples(*(a_fact(item, name) for name in item.facts)).map(lambda found: [one for one in found if one])
    return st.tuples(st.just(item), st.lists(st.tuples(facts, st.sampled_from("ab")), min_size=1, max_size=4))


REPORTS = st.one_of(*map(some_reports, JUDGED))


def follow(item: Item, rounds: list[Round], problems: list[Problem]) -> Value:
    """The value after all rounds, 150 seconds apart; every memory goes through JSON."""
    memory, value = ItemMemory(), Value()
    for place, (facts, boot) in enumerate(rounds):
        at = NOON + timedelta(seconds=150 * place)
        found = measure(item, facts, problems, memory, observed_at=at, boot_id=boot)
        memory, value = json.loads(json.dumps(found.memory)), json.loads(json.dumps(found.value))
    return value


@given(REPORTS)
def test_no_facts_make_it_raise_and_judging_again_says_the_same(reports: Reports) -> None:
    item, rounds = reports
    value = follow(item, rounds, [])

    judgement = judge(item, value, now=NOON)

    assert judgement == judge(item, json.loads(json.dumps(value)), now=NOON)
    assert judgement.verdict in (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NA)
    assert (judgement.reason is None) == (judgement.verdict in (Verdict.PASS, Verdict.NA))


@given(REPORTS)
def test_nothing_passes_without_every_fact_that_it_is_judged_by(reports: Reports) -> None:
    item, rounds = reports
    value = follow(item, rounds, [])

    if judge(item, value, now=NOON).verdict in (Verdict.PASS, Verdict.WARN):
        needed = {
            name for criterion in item.criteria if criterion.operator != "survives" for name in read_by(criterion)
        }
        proved = value.get("load", {}).get("evidence", {}).get("proved", False)
        assert needed <= value["facts"].keys() or proved


@given(REPORTS, st.sampled_from(ProblemKind))
def test_a_problem_never_passes(reports: Reports, kind: ProblemKind) -> None:
    item, rounds = reports

    value = follow(item, rounds, [Problem(item.key, None, kind)])

    assert judge(item, value, now=NOON).verdict in (Verdict.UNKNOWN, Verdict.FAIL, Verdict.NA)


@given(st.sampled_from(JUDGED), st.lists(st.sampled_from(ProblemKind), max_size=2))
def test_no_measurement_never_passes_and_never_excuses(item: Item, kinds: list[ProblemKind]) -> None:
    value = follow(item, [([], "a")], [Problem(item.key, None, kind) for kind in kinds])

    assert judge(item, value, now=NOON).verdict is Verdict.UNKNOWN
    assert judge(item, Value(), now=NOON).verdict is Verdict.UNKNOWN


LOOSER = {"ge": -1, "gt": -1, "le": 1, "lt": 1, "delta_over": 1}


@given(
    st.sampled_from([*LOOSER, "sustained"]),
    st.lists(st.integers(0, 100), min_size=1, max_size=5),
    st.integers(0, 100),
    st.integers(0, 50),
    st.booleans(),
)
def test_a_looser_threshold_never_makes_a_verdict_worse(
    operator: str, samples: list[int], threshold: int, looser_by: int, under_load: bool
) -> None:
    criterion: dict[str, Any] = {"fact": "live", "operator": operator, "threshold": threshold}
    criterion |= {"compare": "gt", "for": "150s"} if operator == "sustained" else {}
    criterion |= {"needs_load": "prove"} if under_load else {}
    item = item_of(scope="gpu", facts={"live": "count", "utilization": "percent"}, criteria=[criterion])
    rounds = [([_fact(item, "live", sample), _fact(item, "utilization", 99)], "a") for sample in samples]

    value = follow(item, rounds, [])

    looser = replace(item.criteria[0], threshold=threshold + LOOSER.get(operator, 1) * looser_by)
    strict, loose = judge(item, value, now=NOON), judge(replace(item, criteria=(looser,)), value, now=NOON)
    assert RANK[loose.verdict] >= RANK[strict.verdict]


def _fact(item: Item, name: str, value: int) -> Fact:
    return Fact(item.key, "", name, value, item.facts[name], NOON)
