"""One item that is judged again from what was sent, after its facts were mended in the catalogue."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from checks.domain.verdicts import Layer
from checks.models import Flip, LedgerEntry, NodeItemState, NodeMemory, Report, RunEvidence, ScopeState
from checks.services.catalog import load_catalogue
from checks.services.rejudge_item import Change, NoSuchItem, Rejudged, rejudge_item
from tests.audited import audit_run
from tests.factories import NOON, TICK, Machine, enrolled_machine, known_catalogue, make_cluster, put_catalogue_in_force
from tests.runs import a_run
from tests.services.test_rejudge import edited_catalogue

pytestmark = pytest.mark.django_db

OOM = "mem-oom"
DAYS = timedelta(days=3)


@pytest.fixture
def machine() -> Machine:
    machine = enrolled_machine(make_cluster())
    for _ in range(4):
        machine.push()
        machine.sleep()
    return machine


@pytest.fixture
def misread(tmp_path: Path) -> Machine:
    """A machine whose count came in while the catalogue asked for packets; the catalogue has been mended since."""
    put_catalogue_in_force(
        edited_catalogue(tmp_path, "system.toml", 'global_oom_kills_24h = "count"', 'global_oom_kills_24h = "packets"')
    )
    machine = enrolled_machine(make_cluster())
    machine.push()
    machine.sleep()
    load_catalogue(path=known_catalogue(), by=None, now=machine.now)
    return machine


def again(machine: Machine, item: str = OOM, **options: bool) -> Rejudged:
    return rejudge_item(
        item=item, clusters=[machine.cluster], since=machine.now - DAYS, by=None, reason="unit", now=machine.now,
        **options,
    )  # fmt: skip


def test_what_was_sent_in_a_unit_that_nobody_asked_for_counts_once_the_catalogue_is_mended(misread: Machine) -> None:
    assert misread.state(OOM).raw == "unknown"

    done = again(misread)

    assert (done.judged, done.changes) == (1, (Change("gpu001", "", "unknown", "pass", ""),))
    assert (misread.state(OOM).raw, misread.state(OOM).settled) == ("pass", "pass")


def test_its_flip_is_marked_as_judged_again_and_the_ledger_tells_why(misread: Machine) -> None:
    again(misread)

    assert Flip.objects.filter(item=OOM, raw="pass").latest("at").cause == "rejudge"
    entry = LedgerEntry.objects.get(what="rejudged")
    assert (entry.target, entry.reason, entry.data) == (OOM, "unit", {"flips": {"unknown → pass": 1}})


def test_a_dry_run_tells_the_same_and_changes_nothing(misread: Machine) -> None:
    before = [*NodeItemState.objects.order_by("pk").values_list()]

    assert again(misread, dry_run=True).changes == (Change("gpu001", "", "unknown", "pass", ""),)
    assert [*NodeItemState.objects.order_by("pk").values_list()] == before
    assert not LedgerEntry.objects.filter(what="rejudged").exists()


def test_the_node_s_summary_follows(misread: Machine) -> None:
    bad = misread.readiness.health_bad
    again(misread)

    assert misread.readiness.health_bad == bad - 1


def test_under_the_same_rules_no_item_changes(machine: Machine) -> None:
    before = [*NodeItemState.objects.order_by("pk").values_list()]
    memory = [*NodeMemory.objects.order_by("pk").values_list()]
    judged = {item: again(machine, item).judged for item in {row.item for row in NodeItemState.objects.all()}}

    assert judged[OOM] == judged["gpu-ecc"] == 1
    assert [*NodeItemState.objects.order_by("pk").values_list()] == before
    assert [*NodeMemory.objects.order_by("pk").values_list()] == memory


def test_what_a_counter_gained_is_not_forgotten(machine: Machine) -> None:
    grown = machine.report()
    for fact in grown["facts"]:
        if fact["name"] == "softnet_dropped":
            fact["value"] += 7
    machine.push(grown)
    gains = machine.state("sysctl-netdev-backlog").value["gains"]

    again(machine, "sysctl-netdev-backlog")

    assert machine.state("sysctl-netdev-backlog").value["gains"] == gains
    assert [7, 7] in gains.values()


def test_a_problem_stays_one(machine: Machine) -> None:
    machine.push(problems=[(OOM, None, "denied", "/proc/vmstat")], facts={}, cadence="check", covered=[OOM])

    assert again(machine).changes == ()
    assert machine.state(OOM).raw == "unknown"


def test_without_a_report_since_then_nothing_is_judged(machine: Machine) -> None:
    Report.objects.all().delete()

    assert again(machine) == Rejudged(0, ())


def test_a_report_older_than_the_row_says_nothing_of_it(misread: Machine) -> None:
    NodeItemState.objects.filter(item=OOM).update(observed_at=NOON + TICK)

    assert again(misread).changes == ()


def test_evidence_of_a_run_is_judged_again_too() -> None:
    put_catalogue_in_force(Path(__file__).resolve().parents[2] / "checks" / "catalog")
    cluster = make_cluster()
    enrolled_machine(cluster)
    run = a_run(cluster, "gpu001", nodes_needed=1)
    audit_run(run, at=NOON, layers=[Layer.DATA])
    assert RunEvidence.objects.count() == 1
    ScopeState.objects.filter(item="data-format").update(raw="unknown", value={})

    done = rejudge_item(item="data-format", clusters=[cluster], since=NOON - DAYS, by=None, reason="x", now=NOON)

    assert done.changes == (Change("run-7", "s3://corpus/v3", "unknown", "pass", ""),)


def test_an_item_that_is_not_there_is_one_sentence(machine: Machine) -> None:
    with pytest.raises(NoSuchItem, match="There is no item 'gpu-xyz'"):
        again(machine, "gpu-xyz")


def test_the_command_prints_each_change_and_what_it_came_to(
    misread: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("rejudge", "--item", OOM, "--since", "2026-11-01", "--dry-run")

    assert capsys.readouterr().out.splitlines() == [
        "gpu001: unknown → pass",
        "1 judged again, 1 verdicts change: nothing was changed (--dry-run)",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--item", OOM], "Say why with --reason"),
        (["--item", OOM, "--since", "yesterday", "--dry-run"], "'yesterday' is neither a time"),
        (["--item", OOM, "--since", "2999-01-01", "--dry-run"], "2999-01-01 00:00 UTC lies in the future"),
        (["--item", OOM, "--since=-3h", "--dry-run"], "lies in the future"),
        (["--item", "gpu-xyz", "--dry-run"], "There is no item 'gpu-xyz'"),
        (["--item", OOM, "--cluster", "nowhere", "--dry-run"], "There is no cluster 'nowhere'"),
    ],
)
def test_what_the_command_cannot_do_is_one_sentence(machine: Machine, arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("rejudge", *arguments)
