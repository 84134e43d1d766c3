"""``manage.py catalog check|diff|load``: the checklist's files against their rules, and against what is in force."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.domain.catalogue import Catalogue, CatalogueInvalid, Change
from checks.domain.catalogue import load_catalogue as read_catalogue
from checks.management.acts import told_in_one_line
from checks.selectors.rules import NoCatalogue, catalogue_in_force
from checks.services.catalog import load_catalogue

_SIGNS: Final[Mapping[str, str]] = {"added": "+", "removed": "-", "changed": "~"}


class Command(BaseCommand):
    """The catalogue's files. ``check`` reads them alone; ``diff`` and ``load`` need the database."""

    help = "Check the catalogue's files, compare them with the catalogue in force, or put them in force."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``check``, ``diff`` and ``load --yes``, each with the folder to read."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        check = verbs.add_parser("check", help="name every mistake in the files; exit 1 when there is one")
        diff = verbs.add_parser("diff", help="show what loading the files would change")
        load = verbs.add_parser("load", help="put the files in force and judge every node by them")
        load.add_argument("--yes", action="store_true", help="agree to the changes that diff shows")
        for verb in (check, diff, load):
            verb.add_argument("--path", type=Path, default=settings.BASE_DIR / "checks" / "catalog")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the files, then do what was asked; a mistake in them ends every verb."""
        catalogue = self._read(options["path"])
        acts: dict[str, Callable[[Catalogue, dict[str, Any]], None]] = {
            "check": self._check,
            "diff": self._diff,
            "load": self._load,
        }
        with told_in_one_line():
            acts[options["verb"]](catalogue, options)

    def _read(self, path: Path) -> Catalogue:
        if not path.is_dir():
            raise CommandError(f"{path} is no folder; name the folder that holds catalogue.toml.")
        try:
            return read_catalogue(path)
        except CatalogueInvalid as invalid:
            for error in invalid.errors:
                self.stderr.write(error.message)
            raise CommandError(f"Mistakes: {len(invalid.errors)}. Nothing was loaded.") from invalid

    def _check(self, catalogue: Catalogue, options: dict[str, Any]) -> None:
        shadow = sum(item.shadow for item in catalogue.items.values())
        self.stdout.write(
            f"Catalogue {catalogue.version} is sound: {len(catalogue.items)} items ({shadow} in shadow), "
            f"{len(catalogue.profiles)} hardware profiles."
        )

    def _diff(self, catalogue: Catalogue, options: dict[str, Any]) -> None:
        changes = self._changes(catalogue)
        if changes is None:
            self.stdout.write("No catalogue is in force yet.")
        else:
            self._show(changes)

    def _load(self, catalogue: Catalogue, options: dict[str, Any]) -> None:
        changes = self._changes(catalogue)
        if changes and not options["yes"]:
            self._show(changes)
            raise CommandError("Loading would change what is in force; say --yes to agree.")
        loaded = load_catalogue(path=options["path"], by=None, now=timezone.now())
        self.stdout.write(f"Catalogue {loaded.version} is in force; {loaded.nodes} nodes were judged by it.")

    def _changes(self, catalogue: Catalogue) -> tuple[Change, ...] | None:
        """What would change; none where no catalogue is in force."""
        try:
            return catalogue_in_force().diff(catalogue)
        except NoCatalogue:
            return None

    def _show(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            parts = f": {', '.join(change.parts)}" if change.parts else ""
            self.stdout.write(f"{_SIGNS[change.kind]} {change.what} {change.key}{parts}")
        if not changes:
            self.stdout.write("Nothing differs from the catalogue in force.")
