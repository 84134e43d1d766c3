"""``manage.py incidents check|load``: what others told in public of their incidents, linked to items."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from checks.domain.incidents.knowledge import read_known
from checks.management.acts import told_in_one_line
from checks.selectors.rules import catalogue_in_force
from checks.services.precedents import load_precedents

_KNOWLEDGE: Final = settings.BASE_DIR / "checks" / "knowledge"


class Command(BaseCommand):
    """The files of known incidents against the checklist in force."""

    help = "Check or load incidents that others told in public; they enter no figure of a cluster."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        for name, told in (("check", "name every mistake in the files"), ("load", "put the files in force")):
            verb = verbs.add_parser(name, help=told)
            verb.add_argument("--path", type=Path, default=_KNOWLEDGE, help="folder of the files")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what was asked; a mistake is told in one line."""
        with told_in_one_line():
            known = read_known(sorted(options["path"].glob("*.toml")), items=catalogue_in_force().items)
            if options["verb"] == "load":
                load_precedents(known=known, now=timezone.now())
        self.stdout.write(f"{len(known)} incidents that others told are {options['verb']}ed.")
