"""Windows as people set them, and what a node's plan names while one is open."""

from datetime import time, timedelta
from pathlib import Path

import pytest

from checks.domain.windows import WindowKind
from checks.models import Cluster, LedgerEntry, NodeItemState
from checks.services.cluster_settings import InvalidSetting, change_settings
from checks.services.plans import plan_for_agent
from checks.services.windows import WindowRefused, end_window, set_window
from tests.factories import NOON, Machine, enrolled_machine, known_catalogue, make_cluster, put_catalogue_in_force

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A node of a catalogue in which fio has its probe, in a cluster with a window from 11:00 to 13:00."""
    for file in known_catalogue().iterdir():
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if file.is_dir():
            (tmp_path / file.name).symlink_to(file)
        elif "[nvme-fio]" in text:
            begin, fio, rest = text.partition("[nvme-fio]")
            (tmp_path / file.name).write_text(begin + fio + rest.replace("shadow = true\n", "", 1), encoding="utf-8")
        else:
            (tmp_path / file.name).symlink_to(file)
    put_catalogue_in_force(tmp_path)
    cluster = make_cluster()
    window(cluster, 11, 13)
    return enrolled_machine(cluster)


def window(cluster: Cluster, opens: int, closes: int) -> None:
    set_window(
        cluster=cluster, kind=WindowKind.OFF_PEAK, opens=time(opens), closes=time(closes), by=None, reason="why",
        now=NOON,
    )  # fmt: skip


def planned(machine: Machine, *, hours: float = 0.0) -> tuple[str, ...]:
    token = machine.node.tokens.get(kind="agent")
    return plan_for_agent(token=token, now=NOON + timedelta(hours=hours)).plan.offline


def measured(machine: Machine, verdict: str, *, hours_ago: float) -> None:
    at = NOON - timedelta(hours=hours_ago)
    NodeItemState.objects.filter(node=machine.node, item="nvme-fio").update(
        raw=verdict, observed_at=at, valid_until=at + timedelta(days=7)
    )


def test_the_plan_names_what_was_never_measured_while_a_window_is_open(machine: Machine) -> None:
    assert planned(machine) == ("nvme-fio",)
    assert planned(machine, hours=1) == ()


@pytest.mark.parametrize(
    ("verdict", "hours_ago", "due"),
    [("pass", 1, False), ("pass", 4 * 24, False), ("pass", 5.5 * 24, True), ("fail", 2, False), ("unknown", 21, True)],
)
def test_what_is_measured_again_is_what_ends_soon_or_was_not_sound(
    machine: Machine, verdict: str, hours_ago: float, due: bool
) -> None:
    measured(machine, verdict, hours_ago=hours_ago)

    assert bool(planned(machine)) is due


def test_a_window_is_set_once_and_both_acts_are_in_the_ledger(machine: Machine) -> None:
    with pytest.raises(WindowRefused, match="set already"):
        window(machine.cluster, 11, 13)
    end_window(window=machine.cluster.windows.get(), by=None, reason="over", now=NOON)

    entries = LedgerEntry.objects.filter(what__startswith="window_").order_by("seq")
    assert [(entry.what, entry.target, entry.reason) for entry in entries] == [
        ("window_set", "off_peak 11:00-13:00", "why"),
        ("window_ended", "off_peak 11:00-13:00", "over"),
    ]
    assert planned(machine) == ()


def test_a_window_without_a_length_is_refused(machine: Machine) -> None:
    with pytest.raises(WindowRefused, match="no length"):
        window(machine.cluster, 9, 9)


def test_a_cluster_has_a_time_zone_that_exists(machine: Machine) -> None:
    with pytest.raises(InvalidSetting, match="no time zone 'Mars/Olympus'"):
        change_settings(cluster=machine.cluster, changes={"time_zone": "Mars/Olympus"}, by=None, reason="", now=NOON)
