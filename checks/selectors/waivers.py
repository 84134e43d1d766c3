"""Waivers that count now: agreed on by two people, neither over nor taken back."""

from datetime import datetime

from django.db.models import QuerySet

from checks.domain.package import WaiverFacts
from checks.domain.verdicts import Layer
from checks.models import Run, Waiver


def open_waivers(run: Run, *, now: datetime) -> QuerySet[Waiver]:
    """Waivers of *run*, asked for or in force, newest first."""
    return Waiver.objects.filter(run=run, until__gte=now, end=None)


def waivers_in_force(run: Run, *, now: datetime) -> tuple[WaiverFacts, ...]:
    """What is accepted of *run* at *now*, as the domain reads it."""
    found = open_waivers(run, now=now).filter(approval__isnull=False).order_by("id")
    return tuple(facts_of(waiver) for waiver in found)


def facts_of(waiver: Waiver) -> WaiverFacts:
    """One waiver as the domain reads it."""
    return WaiverFacts(str(waiver.pk), Layer(waiver.layer), waiver.item, frozenset(waiver.nodes), waiver.until)
