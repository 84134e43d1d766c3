"""``manage.py prices check|diff|load|import|currency|cluster``: price books against their bounds, and in force."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checks.domain.cost.currency import Rate
from checks.domain.cost.price_bounds import Weight, findings
from checks.domain.cost.price_changes import PriceChange, price_changes
from checks.domain.cost.price_csv import read_price_csv
from checks.domain.cost.price_files import read_base_rates, read_books, read_currency_rates
from checks.domain.cost.prices import Book
from checks.management.acts import find_cluster, told_in_one_line
from checks.selectors.costs import newest_book
from checks.services.costs import price_cluster
from checks.services.price_books import load_base_rates, load_book, load_currency_rates

_CHECKS: Final = settings.BASE_DIR / "checks"


class Command(BaseCommand):
    """The price books' files. ``check`` reads them alone; the other verbs need the database."""

    help = "Check price books, compare them with those in force, put them in force, or import your own."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The verbs; ``--yes`` agrees to what ``diff`` shows."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        for name, told in (
            ("check", "name everything that is odd in the files; exit 1 when something is out of bounds"),
            ("diff", "show what loading the files would change"),
            ("load", "put the files in force, and the published rates beside them"),
        ):
            verb = verbs.add_parser(name, help=told)
            verb.add_argument("--path", type=Path, default=_CHECKS / "prices", help="folder of the books")
            if name == "load":
                _add_yes(verb)
        _add_import(verbs.add_parser("import", help="put a book of your own in force, from CSV"))
        _add_currency(verbs.add_parser("currency", help="write down what a dollar is in another currency"))
        priced = verbs.add_parser("cluster", help="say what an hour of one of a cluster's GPUs costs")
        priced.add_argument("cluster", help="slug of the cluster")
        priced.add_argument("amount", help="US dollars, such as 2.49")
        priced.add_argument("--reason", required=True, help="where the price is from; it stands in the ledger")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what was asked; a mistake is told in one line."""
        acts: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "check": self._check, "diff": self._diff, "load": self._load, "import": self._import,
            "currency": self._currency, "cluster": self._cluster,
        }  # fmt: skip
        with told_in_one_line():
            acts[options["verb"]](options)

    def _check(self, options: Mapping[str, Any]) -> None:
        refused = 0
        for book in _books(options["path"]):
            found = findings(book, None, today=timezone.now().date())
            refused += sum(one.weight is Weight.REFUSED for one in found)
            self.stdout.write(f"{book.provider}: {len(book.rows)} prices of {book.as_of}")
            for one in found:
                self.stdout.write(f"  {one}")
        if refused:
            raise CommandError(f"Out of bounds: {refused}. Correct the files; nothing was loaded.")

    def _diff(self, options: Mapping[str, Any]) -> None:
        for book in _books(options["path"]):
            changes = price_changes(newest_book(book.provider), book)
            self.stdout.write(f"{book.provider}: {len(changes)} prices differ")
            for change in changes:
                self.stdout.write(f"  {_told(change)}")

    def _load(self, options: Mapping[str, Any]) -> None:
        now, rates = timezone.now(), _CHECKS / "rates"
        books = _books(options["path"])
        base, currencies = read_base_rates(rates / "base.toml"), read_currency_rates(rates / "currencies.toml")
        added = load_base_rates(base) + load_currency_rates(currencies, today=now.date())
        loaded = [book.provider for book in books if self._put(book, options, now)]
        self.stdout.write(f"In force anew: {', '.join(loaded) or 'no book'}; rates added: {added}.")

    def _put(self, book: Book, options: Mapping[str, Any], now: Any) -> bool:
        """Whether the book is new; a newer one of one's own stays in force."""
        before = newest_book(book.provider)
        if before is not None and before.as_of > book.as_of:
            self.stdout.write(f"{book.provider}: your book of {before.as_of} is newer and stays in force.")
            return False
        return load_book(book=book, confirmed=options["yes"], by=None, now=now) is not None

    def _import(self, options: Mapping[str, Any]) -> None:
        book = read_price_csv(
            _text(options["file"]), provider=options["provider"], name=options["name"] or options["provider"],
            as_of=_day(options["as_of"]), source=options["source"],
        )  # fmt: skip
        stored = load_book(book=book, confirmed=options["yes"], by=None, now=timezone.now())
        if stored is None:
            self.stdout.write("This very book is in force already.")
            return
        for one in findings(book, None, today=timezone.now().date()):
            self.stdout.write(f"  {one}")
        self.stdout.write(f"{book.provider}: {len(book.rows)} prices of {book.as_of} are in force.")

    def _currency(self, options: Mapping[str, Any]) -> None:
        rate = Rate(
            options["currency"], _number(options["per_usd"]), as_of=_day(options["as_of"]), source=options["source"],
            verified=True,
        )  # fmt: skip
        load_currency_rates([rate], today=timezone.now().date())
        self.stdout.write(f"One US dollar was {rate.per_usd} {rate.currency} on {rate.as_of}.")

    def _cluster(self, options: Mapping[str, Any]) -> None:
        cluster = find_cluster(options["cluster"])
        priced = price_cluster(
            cluster=cluster, amount=_number(options["amount"]), reason=options["reason"], by=None, now=timezone.now()
        )
        self.stdout.write(f"An hour of a GPU of {cluster.slug} costs {priced.amount} USD from now on.")


def _add_import(verb: ArgumentParser) -> None:
    verb.add_argument("file", type=Path, help="CSV with the columns kind, region, amount, source and more")
    verb.add_argument("--provider", required=True, help="such as aws, or a name of your own")
    verb.add_argument("--name", default="", help="what the book is called")
    verb.add_argument("--as-of", required=True, help="day of the prices, such as 2026-11-30")
    verb.add_argument("--source", required=True, help="URL where the prices stand")
    _add_yes(verb)


def _add_yes(verb: ArgumentParser) -> None:
    verb.add_argument("--yes", action="store_true", help="agree to prices that change by more than 30 %%")


def _add_currency(verb: ArgumentParser) -> None:
    verb.add_argument("currency", help="three letters, such as CNY")
    verb.add_argument("per_usd", help="how many of it one US dollar was")
    verb.add_argument("--as-of", required=True, help="day of the rate, such as 2026-11-30")
    verb.add_argument("--source", required=True, help="URL where the rate stands")


def _books(folder: Path) -> tuple[Book, ...]:
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise CommandError(f"{folder} holds no price book; name the folder that holds aws.toml and the like.")
    return read_books(paths)


def _told(change: PriceChange) -> str:
    if change.before is None:
        return f"+ {change.row} {change.after:f}"
    return f"- {change.row}" if change.after is None else f"~ {change.row} {change.before:f} -> {change.after:f}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}. Give a CSV file in UTF-8.") from error


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{text!r} is no day; write it as 2026-11-30.") from None


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise CommandError(f"{text!r} is no number; write it as 2.49.") from None
