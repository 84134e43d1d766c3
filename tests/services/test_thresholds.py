"""A threshold is proposed with its back-test, stands in shadow, and does what was shown once another accepts it."""

from collections import Counter
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db.models import F

from checks.domain.incidents.backtest import movable
from checks.domain.incidents.kinds import Relation
from checks.models import Cluster, Flip, LedgerEntry, Node, NodeItemState, Role, ValueRollup
from checks.selectors.contributors import EDITS
from checks.selectors.incident_backtest import back_test, effect_of, shadow_of
from checks.selectors.rules import ruleset_for
from checks.services.incident_links import Linking
from checks.services.incident_records import Touched
from checks.services.permissions import MayNot
from checks.services.proofs import ProofTooOld
from checks.services.thresholds import (
    ShadowTooShort,
    ThresholdRefused,
    ThresholdSettled,
    accept_threshold,
    propose_threshold,
)
from portal.accounts.models import User
from tests.fleet import Fleet, make_fleet
from tests.incidents import opened
from tests.lab import HOUR, MINUTE, NOON
from tests.people import person
from tests.signed import proof

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
TODAY = NOON.replace(hour=0)
ITEM, FACT = "sysctl-netdev-backlog", "live"
PACKETS = {"gpu001": 250_000, "gpu002": 250_000, "gpu003": 6_000}


@pytest.fixture
def fleet() -> Fleet:
    made = make_fleet(at=NOON - 2 * HOUR)
    for host in PACKETS:
        made.enrol(host, at=NOON - HOUR)
        for minutes in (6, 1):
            measured(made, host, at=NOON - minutes * MINUTE)
    return made


def measured(fleet: Fleet, host: str, *, at: Any) -> None:
    fleet.report(host, at=at, changed={ITEM: {"live": PACKETS[host], "configured": PACKETS[host]}})


@pytest.fixture
def hana(fleet: Fleet) -> User:
    return person("hana", fleet.cluster, Role.HARDWARE)


@pytest.fixture
def wren(fleet: Fleet) -> User:
    return person("wren", fleet.cluster, Role.PLATFORM)


def fresh(fleet: Fleet) -> Cluster:
    return Cluster.objects.get(pk=fleet.cluster.pk)


def proposed(fleet: Fleet, by: User, threshold: float = 10_000, **changes: Any) -> Any:
    told = {"item": ITEM, "fact": FACT, "reason": "6,000 came before two incidents", "now": NOON} | changes
    return propose_threshold(cluster=fresh(fleet), threshold=threshold, by=by, proof=proof(told["now"]), **told)


def test_figures_of_the_back_test_equal_a_count_of_every_single_day(fleet: Fleet) -> None:
    """Four weeks of three nodes at random; two incidents, of which one goes on. Counted again by hand, day by day."""
    random, cluster = Random(31), fresh(fleet)
    nodes = {node.hostname: node for node in Node.objects.all()}
    days = [TODAY - number * DAY for number in range(28)]
    values = {(host, day): float(random.randint(4_000, 12_000)) for host in nodes for day in days}
    ValueRollup.objects.bulk_create(
        ValueRollup(node=nodes[host], item=ITEM, subject="", name=FACT, grain="day", at=day, least=value,
                    greatest=value + 500, last=value, samples=288)
        for (host, day), value in values.items()
    )  # fmt: skip
    caught = (Linking(ITEM, Relation.SHOULD_HAVE_CAUGHT),)
    first = opened(
        cluster, error_class="", touched=(Touched("gpu001"),), links=caught, started_at=TODAY - 20 * DAY + 6 * HOUR,
        detected_at=TODAY - 20 * DAY + 6 * HOUR,
    ).incident  # fmt: skip
    first.stable_at = TODAY - 17 * DAY + HOUR
    first.save(update_fields=["stable_at"])
    opened(cluster, error_class="", touched=(Touched("gpu002"),), links=caught, started_at=TODAY - 3 * DAY,
           detected_at=TODAY - 3 * DAY)  # fmt: skip
    opened(cluster, error_class="", touched=(Touched("gpu003"),), links=(Linking(ITEM, Relation.RELATED),))

    def kind(host: str, ago: int) -> str:
        if host == "gpu001":  # began on the 20th day ago at 6:00, so the 22nd is within 48 h of it; ended on the 17th
            return "before" if 20 <= ago <= 22 else "nothing" if 17 <= ago <= 19 else "good"
        if host == "gpu002":  # began on the third day ago and goes on
            return "before" if 3 <= ago <= 5 else "nothing" if ago < 3 else "good"
        return "good"

    (criterion,) = movable(ruleset_for(cluster).items[ITEM])
    found = back_test(cluster, ITEM, criterion, now=NOON)
    samples = [(values[host, day], kind(host, ago)) for host in nodes for ago, day in enumerate(days)]
    counted = Counter(kind for _, kind in samples)

    assert (found.good, found.before) == (counted["good"], counted["before"]) == (72, 6)
    for threshold in (4_000, 5_000, 7_777, 10_000, 12_001):
        assert found.at(threshold).false_alarms == sum(v < threshold and k == "good" for v, k in samples)
        assert found.at(threshold).misses == sum(v >= threshold and k == "before" for v, k in samples)


def test_what_a_proposal_shows_is_what_judging_by_it_then_does(fleet: Fleet, hana: User, wren: User) -> None:
    proposal = proposed(fleet, hana)
    shown = effect_of(fresh(fleet), proposal, now=NOON)
    for host in PACKETS:
        measured(fleet, host, at=NOON + 5 * MINUTE)
    flips = Flip.objects.filter(item=ITEM, cause="rejudge").exclude(raw=F("raw_before"))
    before = flips.count()
    accept_threshold(proposal=proposal, by=wren, proof=proof(NOON + 6 * MINUTE), now=NOON + 6 * MINUTE)

    assert shown.changes == {("pass", "fail"): 1}
    assert Counter(flips.values_list("raw_before", "raw")) == Counter(shown.changes)
    assert before == 0
    assert dict(NodeItemState.objects.filter(item=ITEM).values_list("node__hostname", "raw")) == {
        "gpu001": "pass", "gpu002": "pass", "gpu003": "fail",
    }  # fmt: skip
    assert fresh(fleet).overrides[ITEM][FACT]["threshold"] == 10_000


def test_a_proposal_judges_nothing_while_it_is_in_shadow(fleet: Fleet, hana: User) -> None:
    proposed(fleet, hana)
    measured(fleet, "gpu003", at=NOON + 5 * MINUTE)

    assert fresh(fleet).overrides == {}
    assert not NodeItemState.objects.filter(item=ITEM, raw="fail").exists()


def test_nothing_is_accepted_before_half_of_it_was_measured_in_shadow(fleet: Fleet, hana: User, wren: User) -> None:
    proposal = proposed(fleet, hana)
    later = NOON + 6 * MINUTE
    measured(fleet, "gpu001", at=NOON + 5 * MINUTE)
    with pytest.raises(ShadowTooShort):
        accept_threshold(proposal=proposal, by=wren, proof=proof(later), now=later)
    measured(fleet, "gpu002", at=NOON + 5 * MINUTE)

    assert (shadow_of(proposal, now=later).measured, shadow_of(proposal, now=later).rows) == (2, 3)
    accept_threshold(proposal=proposal, by=wren, proof=proof(later), now=later)


def test_one_person_is_not_two_and_only_the_newest_proposal_counts(fleet: Fleet, hana: User, wren: User) -> None:
    old = proposed(fleet, hana)
    new = proposed(fleet, hana, 20_000)
    for host in PACKETS:
        measured(fleet, host, at=NOON + 5 * MINUTE)
    later = NOON + 6 * MINUTE
    with pytest.raises(MayNot):
        accept_threshold(proposal=new, by=hana, proof=proof(later), now=later)
    with pytest.raises(MayNot):
        accept_threshold(proposal=new, by=person("v", fleet.cluster, Role.VIEWER), proof=proof(later), now=later)
    with pytest.raises(ProofTooOld):
        accept_threshold(proposal=new, by=wren, proof=proof(NOON), now=later)
    with pytest.raises(ThresholdSettled):
        accept_threshold(proposal=old, by=wren, proof=proof(later), now=later)
    accept_threshold(proposal=new, by=wren, proof=proof(later), now=later)
    with pytest.raises(ThresholdSettled):
        accept_threshold(proposal=new, by=wren, proof=proof(later), now=later)


@pytest.mark.parametrize(
    "told",
    [
        {"item": "gpu-temperature", "fact": "temperature"}, {"item": "no-such"}, {"fact": "configured_by"},
        {"threshold": 5000.0}, {"threshold": float("nan")}, {"threshold": float("inf")},
    ],
)  # fmt: skip
def test_what_cannot_be_moved_is_refused(fleet: Fleet, hana: User, told: dict[str, Any]) -> None:
    with pytest.raises(ThresholdRefused):
        proposed(fleet, hana, **told)


def test_both_lend_a_hand_to_what_is_signed(fleet: Fleet, hana: User, wren: User) -> None:
    proposal = proposed(fleet, hana)
    for host in PACKETS:
        measured(fleet, host, at=NOON + 5 * MINUTE)
    accept_threshold(proposal=proposal, by=wren, proof=proof(NOON + 6 * MINUTE), now=NOON + 6 * MINUTE)

    edits = LedgerEntry.objects.filter(what__in=EDITS).order_by("seq").values_list("what", "who__username")
    assert list(edits) == [("overrides_changed", "hana"), ("threshold_accepted", "wren")]
