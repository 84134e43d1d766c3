"""Rules that change: nodes are judged again from what was measured, and say *unknown* where that is not enough."""

import re
import shutil
from pathlib import Path

import pytest

from checks.domain.errors import CountersignError
from checks.models import CatalogVersion, Flip, LedgerEntry, NodeItemState, NodeMemory
from checks.selectors.rules import catalogue_in_force
from checks.services.catalog import load_catalogue
from checks.services.clusters import set_node_profile, set_overrides, set_profile
from checks.services.nodes import confirm_node, retire_node, retire_subject
from checks.services.rejudge import rejudge_cluster, rejudge_outdated
from tests.factories import NOON, Machine, enrolled_machine, healthy_facts, known_catalogue, make_cluster
from tests.people import person

pytestmark = pytest.mark.django_db

STRICT = {"mem-oom": {"global_oom_kills_24h": {"threshold": 1, "reason": "trial", "source": "ours"}}}


@pytest.fixture
def machine() -> Machine:
    machine = enrolled_machine(make_cluster())
    for _ in range(4):
        machine.push()
        machine.sleep()
    return machine


def edited_catalogue(place: Path, file: str, pattern: str, replacement: str) -> Path:
    """A copy of our catalogue with one edit that must apply."""
    shutil.copytree(known_catalogue(), place / "catalog")
    path = place / "catalog" / file
    text, edits = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), count=1, flags=re.DOTALL)
    assert edits == 1
    path.write_text(text, encoding="utf-8")
    return place / "catalog"


def test_another_threshold_judges_stored_values_at_once(machine: Machine) -> None:
    set_overrides(cluster=machine.cluster, overrides=STRICT, by=None, reason="trial", now=machine.now)
    row = machine.state("mem-oom")

    assert (row.raw, row.settled, row.epoch, row.since) == ("fail", "fail", 1, machine.now)
    assert Flip.objects.get(item="mem-oom", raw="fail").cause == "rejudge"
    assert LedgerEntry.objects.get(what="overrides_changed").reason == "trial"


def test_judging_again_touches_no_memory_and_no_time_of_measurement(machine: Machine) -> None:
    memory = list(NodeMemory.objects.order_by("pk").values_list())
    times = list(NodeItemState.objects.order_by("pk").values_list("observed_at", "counted_at"))
    stamp = machine.readiness.tick_at
    set_overrides(cluster=machine.cluster, overrides=STRICT, by=None, reason="trial", now=machine.now)

    assert list(NodeMemory.objects.order_by("pk").values_list()) == memory
    assert list(NodeItemState.objects.order_by("pk").values_list("observed_at", "counted_at")) == times
    assert machine.readiness.tick_at == stamp


def test_judging_again_by_the_same_rules_changes_nothing(machine: Machine) -> None:
    before = list(NodeItemState.objects.order_by("pk").values_list())
    rejudge_cluster(cluster=machine.cluster, now=machine.now)

    assert list(NodeItemState.objects.order_by("pk").values_list()) == before


def test_an_override_that_fits_nothing_is_refused_and_changes_nothing(machine: Machine) -> None:
    with pytest.raises(CountersignError):
        set_overrides(cluster=machine.cluster, overrides={"no-such-item": {}}, by=None, reason="trial", now=machine.now)

    machine.cluster.refresh_from_db()
    assert machine.cluster.overrides == {}
    assert not LedgerEntry.objects.filter(what="overrides_changed").exists()


def test_a_smaller_profile_excuses_what_it_does_not_have(machine: Machine) -> None:
    set_profile(cluster=machine.cluster, profile="no-gpu", by=None, reason="CPU partition", now=machine.now)

    assert (machine.state("gpu-ecc").raw, machine.state("gpu-ecc").blocks) == ("na", 0)
    assert not NodeItemState.objects.filter(node=machine.node, item="gpu-ecc", subject="gpu0").exists()


def test_a_profile_of_ones_own_overrides_the_clusters(machine: Machine) -> None:
    set_node_profile(node=machine.node, profile="no-gpu", by=None, reason="login node", now=machine.now)
    other = enrolled_machine(machine.cluster, "gpu002")

    assert machine.state("gpu-ecc").raw == "na"
    assert other.state("gpu-ecc", "gpu0").raw == "unknown"
    machine.cluster.refresh_from_db()
    assert set(machine.cluster.judged_under) == {"8xh200", "no-gpu"}


def test_an_unknown_profile_is_refused(machine: Machine) -> None:
    with pytest.raises(CountersignError) as refusal:
        set_profile(cluster=machine.cluster, profile="9xh900", by=None, reason="", now=machine.now)

    assert refusal.value.code == "unknown_profile"


def test_a_report_judges_the_rest_of_its_node_by_new_rules_too(machine: Machine) -> None:
    daily = machine.report(cadence="daily")
    machine.push(daily)
    machine.sleep()
    cluster = machine.cluster
    stale_rules = machine.readiness.judged_under
    set_overrides(cluster=cluster, overrides=STRICT, by=None, reason="trial", now=machine.now)
    left_behind = machine.readiness
    left_behind.judged_under = stale_rules
    left_behind.save()
    machine.push(facts={"hung-io": healthy_facts()["hung-io"]}, cadence="check")

    cluster.refresh_from_db()
    assert machine.readiness.judged_under == cluster.judged_under["8xh200"]
    assert machine.state("mem-oom").raw == "fail"


def test_nodes_left_under_old_rules_are_found_and_judged(machine: Machine) -> None:
    left_behind = machine.readiness
    left_behind.judged_under = "of a process that died"
    left_behind.save()

    assert rejudge_outdated(now=machine.now) == 1
    assert rejudge_outdated(now=machine.now) == 0


def test_a_corrected_text_changes_no_row(machine: Machine, tmp_path: Path) -> None:
    before = list(NodeItemState.objects.order_by("pk").values_list())
    edited = edited_catalogue(tmp_path, "system.toml", r'title = "Out of memory"', 'title = "Out of memory kills"')
    loaded = load_catalogue(path=edited, by=None, now=machine.now)

    assert loaded.nodes == 1
    assert list(NodeItemState.objects.order_by("pk").values_list()) == before
    assert catalogue_in_force().items["mem-oom"].en.title == "Out of memory kills"


def test_a_changed_step_one_is_not_measured_under_this_version(machine: Machine, tmp_path: Path) -> None:
    counted = (
        r'(\[mem-oom\].*?\[\[mem-oom.criteria\]\]\nfact = "global_oom_kills_24h"\noperator = )"eq"',
        r'\1"delta_over"',
    )
    load_catalogue(path=edited_catalogue(tmp_path, "system.toml", *counted), by=None, now=machine.now)

    assert (machine.state("mem-oom").raw, machine.state("mem-oom").reason) == ("unknown", "not_measured_under_version")
    machine.push()
    machine.sleep()
    machine.push()
    assert machine.state("mem-oom").raw == "pass"


def test_a_removed_item_takes_its_rows_along(machine: Machine, tmp_path: Path) -> None:
    load_catalogue(
        path=edited_catalogue(tmp_path, "system.toml", r"\[hung-io\].*?(?=\n\[rendezvous\])", ""),
        by=None,
        now=machine.now,
    )  # fmt: skip

    assert not NodeItemState.objects.filter(item="hung-io").exists()


def test_exactly_one_catalogue_is_in_force(machine: Machine, tmp_path: Path) -> None:
    edited = edited_catalogue(tmp_path, "system.toml", r'title = "Out of memory"', 'title = "Out of memory kills"')
    load_catalogue(path=edited, by=None, now=machine.now)
    load_catalogue(path=known_catalogue(), by=None, now=machine.now)

    assert CatalogVersion.objects.count() == 2
    assert catalogue_in_force().items["mem-oom"].en.title == "Out of memory"


def test_a_catalogue_without_a_profile_in_use_is_refused_and_names_the_cluster(
    machine: Machine, tmp_path: Path
) -> None:
    shutil.copytree(known_catalogue(), tmp_path / "catalog")
    (tmp_path / "catalog" / "profiles" / "8xh200.toml").unlink()
    in_force = CatalogVersion.objects.get(in_force=True)

    with pytest.raises(CountersignError, match="alpha"):
        load_catalogue(path=tmp_path / "catalog", by=None, now=machine.now)
    assert CatalogVersion.objects.get(in_force=True) == in_force


def test_a_confirmed_node_has_its_new_serials(machine: Machine) -> None:
    machine.serials["system"] = "SYS-2"
    machine.push()
    confirm_node(node=machine.node, by=person("ada"), reason="board replaced", now=machine.now)
    machine.sleep()
    receipt = machine.push()

    assert (receipt.trouble, machine.node.serials["system"]) == ("", "SYS-2")


def test_a_retired_part_has_no_rows_and_comes_not_back_with_a_report(machine: Machine) -> None:
    retire_subject(node=machine.node, subject="gpu7", by=person("ada"), reason="dead, not replaced", now=machine.now)
    machine.push()

    assert not NodeItemState.objects.filter(node=machine.node, subject="gpu7").exists()
    assert machine.readiness.tick_at == machine.now


def test_a_retired_node_loses_its_token_and_keeps_its_history(machine: Machine) -> None:
    retire_node(node=machine.node, by=person("ada"), reason="sold", now=NOON)

    with pytest.raises(CountersignError):
        machine.push()
    assert Flip.objects.filter(node=machine.node).exists()
