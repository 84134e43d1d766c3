"""What trials mean: verdicts of nodes and links, what is measured again, and what a run is proved by."""

from datetime import timedelta

import pytest

from checks.models import Run, ScopeState
from checks.selectors.links import ITEM
from checks.selectors.rules import ruleset_for
from checks.selectors.windows import offline_items_due
from checks.services.claims import release_node
from checks.services.runs import set_pool
from tests.factories import NOON, enrolled_machine
from tests.link_lab import LinkLab, link_lab
from tests.runs import a_run

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def pair() -> LinkLab:
    """Two nodes that are taken."""
    lab = link_lab(2)
    lab.take()
    return lab


@pytest.fixture
def four() -> LinkLab:
    """Four nodes that are taken."""
    lab = link_lab(4)
    lab.take()
    return lab


def test_a_node_without_perftest_is_unknown_for_that_reason_and_waits_for_the_next_night(pair: LinkLab) -> None:
    machine = pair.machines["gpu001"]
    why = "ib_write_bw: not installed (looked in PATH and the system directories)"
    machine.push(facts={}, cadence="offline", covered=[ITEM], problems=[(ITEM, "*", "missing", why)])
    assert ITEM in offline_items_due(machine.node, ruleset_for(pair.cluster), NOON)
    pair.derive()

    assert (pair.row("gpu001").raw, pair.row("gpu001").reason, pair.row("gpu001").detail) == ("unknown", "missing", why)
    assert ITEM not in offline_items_due(machine.node, ruleset_for(pair.cluster), NOON)


def test_a_night_without_a_partner_takes_no_pass_back(pair: LinkLab) -> None:
    pair.measure(lambda one, other: False)
    pair.derive()
    machine = pair.machines["gpu001"]
    machine.now = pair.now + timedelta(hours=1)
    machine.push(facts={}, cadence="offline", covered=[ITEM], problems=[(ITEM, "*", "error", "no link was measured")])
    pair.now += timedelta(hours=2)
    pair.derive()

    assert pair.row("gpu001").raw == "pass"


@pytest.mark.parametrize(("days", "due"), [(1, False), (4, False), (6, True)])
def test_links_are_measured_again_two_days_before_the_evidence_ends(pair: LinkLab, days: float, due: bool) -> None:
    pair.measure(lambda one, other: False)
    pair.derive()
    for name in pair.machines:
        release_node(token=pair.token(name), hostname=name, now=pair.now)
    node, at = pair.machines["gpu001"].node, NOON + timedelta(days=days)

    assert (ITEM in offline_items_due(node, ruleset_for(pair.cluster), at)) is due


def run_row(run: Run) -> ScopeState:
    return ScopeState.objects.get(scope="link", item=ITEM, subject=run.slug)


def test_a_run_is_proved_by_the_nodes_of_its_pool_alone(four: LinkLab) -> None:
    pools = {"one": "gpu[001,003]", "two": "gpu[001-002]"}
    sound, hurt = (a_run(four.cluster, nodes, slug=slug) for slug, nodes in pools.items())
    four.derive()
    assert not ScopeState.objects.filter(scope="link").exists()  # nobody has measured anything
    four.measure(lambda one, other: "gpu002" in (one, other))
    four.derive()

    assert (run_row(sound).raw, run_row(sound).settled) == ("pass", "pass")
    assert (run_row(hurt).raw, run_row(hurt).detail.partition(":")[0]) == ("fail", "gpu002")


def test_a_run_with_a_node_that_nobody_measured_is_unknown_and_names_it(four: LinkLab) -> None:
    enrolled_machine(four.cluster, "gpu009")
    run = a_run(four.cluster, "gpu[001,009]")
    four.now += 7 * MINUTE
    four.ask_all()
    four.now += 7 * MINUTE
    four.ask_all()
    four.measure(lambda one, other: False)
    four.derive()

    assert run_row(run).raw == "unknown"
    assert run_row(run).detail == "1 of 2 nodes are not proved: gpu009 (gpu009: never measured)"


def test_what_was_proved_of_other_nodes_does_not_go_over_to_a_new_pool(four: LinkLab) -> None:
    for name in ("gpu008", "gpu009"):
        enrolled_machine(four.cluster, name)
    run = a_run(four.cluster, "gpu[001-002]")
    four.measure(lambda one, other: False)
    four.derive()
    assert run_row(run).raw == "pass"

    set_pool(run=run, nodes="gpu[008-009]", by=run.owner, reason="other rack", now=four.now)

    assert (run_row(run).raw, "2 of 2 nodes are not proved" in run_row(run).detail) == ("unknown", True)


def test_a_run_that_grows_beyond_one_node_needs_its_links(pair: LinkLab) -> None:
    run = a_run(pair.cluster, "gpu001", nodes_needed=1)
    pair.derive()
    assert run_row(run).raw == "na"

    set_pool(run=run, nodes="gpu[001-002]", by=run.owner, reason="it grows", now=pair.now)

    assert run_row(run).raw == "unknown"


def test_a_run_on_one_node_has_no_link(pair: LinkLab) -> None:
    run = a_run(pair.cluster, "gpu001", nodes_needed=1)
    pair.derive()

    assert (run_row(run).raw, run_row(run).settled) == ("na", "na")


def test_a_bad_link_stops_only_runs_that_use_both_of_its_ends(four: LinkLab) -> None:
    partner = four.ask_all()["gpu001"].partner
    other = next(name for name in four.machines if name not in ("gpu001", partner))
    both = a_run(four.cluster, f"gpu001,{partner}", slug="both")
    one = a_run(four.cluster, f"gpu001,{other}", slug="one")
    four.measure(lambda here, there: {here, there} == {"gpu001", partner})
    four.derive()

    assert (run_row(both).raw, run_row(one).raw) == ("fail", "pass")
    assert run_row(both).detail.partition(":")[0] in (f"gpu001 - {partner}", f"{partner} - gpu001")
