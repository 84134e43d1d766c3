"""``manage.py breaker list|end``."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import find_cluster, told_in_one_line
from checks.models import BreakerTrip
from checks.services.breaker import end_breaker


class Command(BaseCommand):
    """Circuit breakers: checks that failed on so many nodes at once that drains and messages are held."""

    help = "List the open circuit breakers, or end one; it ends by itself 30 minutes after the last failure."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``list``, ``end CLUSTER ITEM --by PERSON --reason TEXT``."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="what is open")
        end = verbs.add_parser("end", help="trust the check again; its failures count from now on")
        end.add_argument("cluster")
        end.add_argument("item")
        end.add_argument("--by", required=True, help="name of the person who decided it")
        end.add_argument("--reason", required=True, help="why; it is kept in the ledger")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act."""
        with told_in_one_line():
            getattr(self, f"_{options['verb']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        for trip in BreakerTrip.objects.filter(ended_at=None).select_related("cluster").order_by("tripped_at"):
            counts = f"{trip.nodes} of {trip.of_nodes} nodes"
            self.stdout.write(f"{trip.cluster.slug} {trip.item} {counts} since {trip.tripped_at:%F %T} UTC")

    def _end(self, options: dict[str, Any]) -> None:
        cluster = find_cluster(options["cluster"])
        trip = BreakerTrip.objects.filter(cluster=cluster, item=options["item"], ended_at=None).first()
        if trip is None:
            raise CommandError(
                f"No breaker is open for {options['item']} in {cluster.slug}; see: manage.py breaker list"
            )
        person = get_user_model().objects.filter(username=options["by"], is_active=True).first()
        if person is None:
            raise CommandError(f"There is no active person {options['by']!r}; --by takes a user name.")
        end_breaker(trip=trip, by=person, reason=options["reason"], now=timezone.now())
        self.stdout.write(f"Ended: {cluster.slug} {trip.item}")
