"""Trials of links do not pile up; what they proved stays."""

from datetime import timedelta

import pytest

from checks.models import LinkSide, LinkTrial
from checks.services.link_purge import purge_trials
from tests.factories import NOON
from tests.link_lab import link_lab

pytestmark = pytest.mark.django_db


def test_old_trials_go_and_the_rows_judged_from_them_stay() -> None:
    lab = link_lab(3)
    lab.take()
    lab.measure(lambda one, other: False)
    lab.derive()
    rows, trials = lab.rows(), LinkTrial.objects.count()

    assert purge_trials(now=NOON + timedelta(days=100)) == 0
    assert purge_trials(now=lab.now + timedelta(days=101)) == trials > 0
    assert (LinkTrial.objects.count(), LinkSide.objects.count(), lab.rows()) == (0, 0, rows)


def test_a_trial_that_goes_on_is_never_taken_away() -> None:
    lab = link_lab(2)
    lab.take()
    lab.ask_all()

    assert purge_trials(now=lab.now + timedelta(days=500)) == 0
    assert LinkTrial.objects.count() == 1
