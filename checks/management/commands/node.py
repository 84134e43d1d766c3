"""``manage.py node place|allow-reenrolment|confirm|retire``."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.management.acts import find_cluster, told_in_one_line
from checks.models import Node
from checks.selectors.nodesets import parse_node_set
from checks.services.enrolment import allow_reenrolment
from checks.services.nodes import confirm_node, retire_node, retire_subject
from checks.services.topology import place_nodes

PERSONS_ACTS = {
    "allow-reenrolment": "let a hostname enrol again without its token, for 15 minutes",
    "confirm": "end a node's trouble: its present serials are the right ones, and it is one machine",
    "retire": "take a node out, or with --part one of its GPUs or NICs; its history stays",
}


class Command(BaseCommand):
    """Where nodes stand, and what only a person may decide about one."""

    help = "State where nodes stand; allow a re-enrolment, confirm hardware that changed, or retire a node."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``place SLUG NODES --switch S --rack R``; the others ``SLUG HOSTNAME --by PERSON --reason WHY``."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        place = verbs.add_parser("place", help="state where nodes stand; an empty name means not known")
        place.add_argument("cluster")
        place.add_argument("nodes", help="a node set as Slurm writes it")
        place.add_argument("--switch")
        place.add_argument("--rack")
        for verb, purpose in PERSONS_ACTS.items():
            act = verbs.add_parser(verb, help=purpose)
            act.add_argument("cluster")
            act.add_argument("hostname")
            act.add_argument("--by", required=True, help="user name of the person who decides; it is kept")
            act.add_argument("--reason", required=True, help="why; it is kept")
        verbs.choices["retire"].add_argument("--part", help="only this part, such as gpu3")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the one act."""
        with told_in_one_line():
            said = self._place(options) if options["verb"] == "place" else self._decide(options)
        self.stdout.write(said)

    def _place(self, options: dict[str, Any]) -> str:
        places = {name: options[name] for name in ("switch", "rack") if options[name] is not None}
        if not places:
            raise CommandError("Give --switch, --rack or both.")
        hostnames = parse_node_set(options["nodes"])
        cluster = find_cluster(options["cluster"])
        placed = place_nodes(cluster=cluster, hostnames=hostnames, places=places, by=None, now=timezone.now())
        return f"{placed} nodes of {options['cluster']} placed."

    def _decide(self, options: dict[str, Any]) -> str:
        node = find_cluster(options["cluster"]).nodes.filter(hostname=options["hostname"].lower()).first()
        if node is None:
            raise CommandError(f"There is no node {options['hostname']!r} in {options['cluster']}.")
        return _act(options["verb"], node, options)


def _act(verb: str, node: Node, options: dict[str, Any]) -> str:
    person = get_user_model().objects.filter(username=options["by"], is_active=True).first()
    if person is None:
        raise CommandError(f"There is nobody called {options['by']!r}; name the person who decides.")
    why: dict[str, Any] = {"by": person, "reason": options["reason"], "now": timezone.now()}
    if verb == "allow-reenrolment":
        node = allow_reenrolment(node=node, **why)
        return f"{node.hostname} may enrol again until {node.reenrol_until:%H:%M} UTC."
    if verb == "confirm":
        return f"{confirm_node(node=node, **why).hostname} is believed again from its next report."
    if options["part"]:
        retire_subject(node=node, subject=options["part"], **why)
        return f"{options['part']} of {node.hostname} is retired."
    return f"{retire_node(node=node, **why).hostname} is retired, and its token revoked."
