"""``manage.py node place``."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import find_cluster, told_in_one_line
from checks.selectors.nodesets import parse_node_set
from checks.services.topology import place_nodes


class Command(BaseCommand):
    """Where nodes stand, so that the gate can propose nodes on few switches."""

    help = "State the switch and rack of nodes, such as: node place helios gpu[001-032] --switch leaf-1"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``place SLUG NODES --switch S --rack R``."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        place = verbs.add_parser("place", help="state where nodes stand; an empty name means not known")
        place.add_argument("cluster")
        place.add_argument("nodes", help="a node set as Slurm writes it")
        place.add_argument("--switch")
        place.add_argument("--rack")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act."""
        places = {name: options[name] for name in ("switch", "rack") if options[name] is not None}
        if not places:
            raise CommandError("Give --switch, --rack or both.")
        with told_in_one_line():
            hostnames = parse_node_set(options["nodes"])
            cluster = find_cluster(options["cluster"])
            placed = place_nodes(cluster=cluster, hostnames=hostnames, places=places, by=None, now=timezone.now())
        self.stdout.write(f"{placed} nodes of {options['cluster']} placed.")
