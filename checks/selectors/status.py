"""How the portal itself fares: ages of everything that must not fall silent unseen.

Limits are those of the self-monitoring table in the operators' handbook: amber asks for a look, red for a hand.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Max, Min, Q

from checks.models import BreakerTrip, Heartbeat, Node, NodeReadiness, Outbox
from checks.selectors.ledger_signs import LedgerSign, ledger_signs
from checks.selectors.notice_signs import NoticeSign, notice_signs
from checks.selectors.partitions import partitions_until
from checks.selectors.signs import Sign, State, sign

# name -> (amber, red) age in seconds. The worker writes every 30 s, beat every 30 s, the sweep every 60 s.
HEARTBEATS = {"worker": (60, 120), "beat": (90, 180), "sweep": (120, 300)}
OLDEST_UNSENT_S = (120, 600)
PARTITIONS_AHEAD = (timedelta(days=7), timedelta(days=2))
HEARD_WITHIN = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class PortalStatus:
    """Everything `/status` and `/metrics` tell."""

    at: datetime
    signs: tuple[Sign, ...]
    unsent: int
    oldest_unsent: Sign
    partitions_until: datetime | None
    partitions: State
    nodes: int
    nodes_heard: int
    last_report_at: datetime | None
    breakers_open: int
    ledger: tuple[LedgerSign, ...]
    notices: tuple[NoticeSign, ...]

    @property
    def troubles(self) -> tuple[str, ...]:
        """Names of what is not well, for a banner; empty when all is."""
        bad = [each.name for each in (*self.signs, self.oldest_unsent) if each.state is not State.OK]
        bad += ["partitions"] if self.partitions is not State.OK else []
        bad += ["notices"] if self.notices else []
        return (*bad, *(["ledger"] if self.ledger_state is not State.OK else []))

    @property
    def ledger_state(self) -> State:
        """The worst of the chain and its anchors."""
        states = {each.state for each in self.ledger}
        return next((state for state in (State.RED, State.AMBER) if state in states), State.OK)


def portal_status(*, now: datetime) -> PortalStatus:
    """The portal's state at *now*."""
    unsent = Outbox.objects.filter(sent_at=None).aggregate(count=Count("id"), oldest=Min("created_at"))
    nodes = Node.objects.filter(retired_at=None, cluster__closed_at=None)
    heard = NodeReadiness.objects.filter(node__in=nodes).aggregate(
        count=Count("node", filter=Q(last_report_at__gt=now - HEARD_WITHIN)), last=Max("last_report_at")
    )
    until = partitions_until()
    return PortalStatus(
        at=now,
        signs=heartbeat_signs(now=now),
        unsent=unsent["count"],
        oldest_unsent=_oldest_unsent(unsent["oldest"], now=now),
        partitions_until=until,
        partitions=partition_state(until, now=now),
        nodes=nodes.count(),
        nodes_heard=heard["count"],
        last_report_at=heard["last"],
        breakers_open=BreakerTrip.objects.filter(ended_at=None).count(),
        ledger=ledger_signs(now=now),
        notices=notice_signs(now=now),
    )


def heartbeat_signs(*, now: datetime) -> tuple[Sign, ...]:
    """Worker, beat and sweep, in one statement; one that never lived is red, not missing."""
    seen = dict(Heartbeat.objects.values_list("name", "at"))
    return tuple(sign(name, seen.get(name), limits, now=now) for name, limits in HEARTBEATS.items())


def partition_state(until: datetime | None, *, now: datetime) -> State:
    """Red under two days ahead: the portal then takes itself out of service before an insert fails."""
    ahead = until - now if until else timedelta()
    amber, red = PARTITIONS_AHEAD
    if ahead < red:
        return State.RED
    return State.AMBER if ahead < amber else State.OK


def missing_migrations() -> frozenset[tuple[str, str]]:
    """Migrations of this code that the database has not had."""
    return _migrations_on_disk() - frozenset(MigrationRecorder(connection).applied_migrations())


@lru_cache(maxsize=1)
def _migrations_on_disk() -> frozenset[tuple[str, str]]:
    """Read once a process: its code does not change while it runs."""
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations or ())


def _oldest_unsent(created_at: datetime | None, *, now: datetime) -> Sign:
    if created_at is None:
        return Sign("outbox", 0.0, State.OK)
    return sign("outbox", created_at, OLDEST_UNSENT_S, now=now)
