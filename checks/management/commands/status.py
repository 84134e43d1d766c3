"""``manage.py status``: how the portal itself fares; its exit code is a container's health check."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.selectors.status import PortalStatus, Sign, State, portal_status


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
        f"{status.unsent} unsent, {status.nodes_heard} of {status.nodes} nodes heard, {status.breakers_open} breakers",
    ]


def _age(sign: Sign) -> str:
    return "never seen" if sign.age_s is None else f"{sign.age_s:.0f} s"
