"""Nodes that ask at the same moment, as the role ``app`` on connections of their own.

Each docstring names the line whose deletion turns the test red.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import psycopg
import pytest
from django.db import IntegrityError

from checks.models import LinkSide, LinkTrial, ScopeState
from checks.services.link_trials import next_turn, tell_outcome
from tests.link_lab import FAST, OFFER, LinkLab, link_lab, told
from tests.runs import a_run
from tests.services.test_races import Background, calls_waiting

pytestmark = pytest.mark.django_db(transaction=True)

Connect = Callable[[str], psycopg.Connection]


@pytest.fixture
def lab() -> LinkLab:
    """Two nodes that are taken and have asked once, so that both have a seat and neither a trial."""
    lab = link_lab(3)
    lab.take(["gpu001", "gpu002"])
    lab.ask_all(["gpu001", "gpu002"])
    lab.now += timedelta(seconds=80)
    lab.ask_all(["gpu001", "gpu002"])
    lab.machines.pop("gpu003")
    return lab


def asking(lab: LinkLab, name: str) -> Background:
    token, at = lab.token(name), lab.now
    return Background(partial(next_turn, token=token, hostname=name, offer=OFFER, now=at))


def test_two_nodes_that_ask_at_once_get_one_trial(lab: LinkLab, connect_as: Connect) -> None:
    """``lock_cluster`` in ``next_turn``: without it each deals a trial of its own, and a constraint refuses one."""
    lab.now += timedelta(seconds=lab.cluster.interval_s + 60 - 80)
    lab.ask_all(["gpu001", "gpu002"])  # whoever comes first must find the other still there
    LinkSide.objects.all().delete()
    LinkTrial.objects.all().delete()
    held = connect_as("app")
    held.execute("SELECT FROM checks_cluster FOR NO KEY UPDATE")
    both = [asking(lab, name) for name in ("gpu001", "gpu002")]
    assert calls_waiting(2)
    held.rollback()
    turns = [one.result() for one in both]

    assert LinkTrial.objects.count() == 1
    assert {turn.do for turn in turns} <= {"measure", "wait"}
    assert any(turn.do == "measure" for turn in turns)


def test_a_node_is_in_one_trial_whatever_a_service_forgets(lab: LinkLab) -> None:
    """The constraint ``linkside_one_open_a_node``."""
    lab.now += timedelta(seconds=lab.cluster.interval_s + 60 - 80)
    lab.ask_all(["gpu002", "gpu001"])
    lab.ask_all(["gpu002", "gpu001"])
    trial = LinkTrial.objects.get()
    trial.pk = None
    trial.save(force_insert=True)

    with pytest.raises(IntegrityError, match="linkside_one_open_a_node"):
        LinkSide.objects.create(trial=trial, node=trial.server)


def test_both_ends_that_tell_at_once_end_the_trial_with_both_words(lab: LinkLab, connect_as: Connect) -> None:
    """``lock_cluster`` in ``tell_outcome``: without it each sees the other end as open, and nobody ends the trial."""
    lab.now += timedelta(seconds=lab.cluster.interval_s + 60 - 80)
    lab.ask_all(["gpu002", "gpu001"])
    turns = lab.ask_all(["gpu002", "gpu001"])
    held = connect_as("app")
    held.execute("SELECT FROM checks_cluster FOR NO KEY UPDATE")
    both = []
    for name, turn in turns.items():
        assert turn.trial is not None
        call = partial(
            tell_outcome, token=lab.token(name), hostname=name, trial=turn.trial.pk, told=told(FAST), now=lab.now
        )
        both.append(Background(call))
    assert calls_waiting(2)
    held.rollback()
    for one in both:
        assert one.result() is None

    ended = LinkTrial.objects.get()
    assert (ended.ended_at, ended.problem) == (lab.now, "")
    assert ended.facts["host_share"] == 0.9799


def test_a_run_whose_pool_somebody_changes_is_left_to_them_and_judged_by_the_next_look(
    lab: LinkLab, connect_as: Connect
) -> None:
    """``skip_locked`` in ``_derive_runs``: without it what stood for the old pool is written over the new one's."""
    run = a_run(lab.cluster, "gpu001", nodes_needed=1)
    row = ScopeState.objects.filter(subject=run.slug)
    held = connect_as("app")
    held.execute("SELECT FROM checks_run FOR NO KEY UPDATE")

    lab.derive()
    assert not row.exists()
    held.rollback()
    lab.derive()
    assert row.get().raw == "na"
