"""``manage.py status``: how the portal itself fares; its exit code is a container's health check."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.selectors.ledger_signs import CHAIN, LedgerSign
from checks.selectors.signs import Sign, State
from checks.selectors.status import PortalStatus, portal_status


class Command(BaseCommand):
    """Ages of worker, beat and sweep, what waits to be sent, and how far ahead tables can take rows."""

    help = "Print how old each sign of life is; exit 1 when one is red, or when the one named by --only is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--only worker``: one sign, for the health check of the container that gives it."""
        parser.add_argument("--only", choices=["worker", "beat", "sweep", "outbox"], help="judge this sign alone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print every sign, then exit by the worst that counts."""
        status = portal_status(now=timezone.now())
        for line in _lines(status):
            self.stdout.write(line)
        red = [sign.name for sign in _signs(status) if sign.state is State.RED]
        if options["only"] is None and status.partitions is State.RED:
            red.append("partitions")
        if options["only"] is None and status.ledger_state is State.RED:
            red.append("ledger")
        found = [name for name in red if options["only"] in (None, name)]
        if found:
            raise CommandError(f"Red: {', '.join(found)}.")


def _signs(status: PortalStatus) -> tuple[Sign, ...]:
    return (*status.signs, status.oldest_unsent)


def _lines(status: PortalStatus) -> list[str]:
    until = status.partitions_until.isoformat() if status.partitions_until else "never"
    return [
        *(f"{sign.name:<10} {sign.state:<5} {_age(sign)}" for sign in _signs(status)),
        f"partitions {status.partitions:<5} until {until}",
        *(f"{_ledger_name(sign):<10} {sign.state:<5} {_ledger_words(sign)}" for sign in status.ledger),
        f"{status.unsent} unsent, {status.nodes_heard} of {status.nodes} nodes heard, {status.breakers_open} breakers",
    ]


def _age(sign: Sign) -> str:
    return "never seen" if sign.age_s is None else f"{sign.age_s:.0f} s"


def _ledger_name(sign: LedgerSign) -> str:
    return "ledger" if sign.name == CHAIN else "anchor"


def _ledger_words(sign: LedgerSign) -> str:
    good = f"last well {sign.good_at:%F %T} UTC" if sign.good_at else "not yet"
    place = "" if sign.name == CHAIN else f"{sign.name}: "
    return f"{place}{good}" if sign.state is State.OK else f"{place}{good}; {sign.detail or 'nobody looked since'}"
