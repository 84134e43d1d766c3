"""``manage.py ledger``: what an auditor and an operator type, and its exit status."""

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django.fixtures import Settings

from checks.models import LedgerEntry
from checks.services.ledger import write_entry
from portal.quickstart.place import Place
from tests.databases import TestDatabases
from tests.factories import NOON
from tests.people import person
from tests.selectors.test_ledger import Falsify, falsify

__all__ = ["falsify"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, settings: Settings) -> Path:
    """A portal with a key and one directory for its anchors."""
    settings.LEDGER_KEY_FILE = str(Place(tmp_path).ledger_key())
    settings.LEDGER_ANCHORS = [str(Place(tmp_path).anchors())]
    return tmp_path / "anchors"


def ledger(*arguments: str) -> tuple[int, str]:
    """Exit status and output."""
    said = StringIO()
    try:
        call_command("ledger", *arguments, stdout=said)
    except SystemExit as ended:
        return int(str(ended.code)), said.getvalue()
    except CommandError as error:
        return error.returncode, said.getvalue() + str(error)
    return 0, said.getvalue()


def write(number: int) -> None:
    for place in range(number):
        write_entry(what="test", target=f"target {place}", now=NOON)


def test_an_anchored_chain_verifies_with_exit_zero() -> None:
    write(3)
    assert ledger("anchor")[0] == 0

    assert ledger("verify") == (0, "Whole: 3 entries, held against 2 anchors\n")


def test_a_changed_entry_is_exit_one_and_names_the_entry(falsify: Falsify) -> None:
    write(3)
    ledger("anchor")
    falsify("UPDATE checks_ledgerentry SET reason = 'x' WHERE seq = 2")

    status, said = ledger("verify")
    assert status == 1
    assert "Entry 2 was changed after it was written." in said


def test_a_chain_without_an_anchor_is_exit_two() -> None:
    write(3)

    assert ledger("verify")[0] == 2


@pytest.mark.parametrize("verb", ["verify", "restored"])
def test_a_directory_that_is_not_there_is_told_in_one_sentence(verb: str, tmp_path: Path) -> None:
    write(1)
    more = ["--reason", "test"] if verb == "restored" else []

    status, said = ledger(verb, "--anchors", str(tmp_path / "absent"), *more)
    assert status == (2 if verb == "verify" else 1)
    assert "There is no directory" in said


def test_a_database_put_back_from_a_backup_is_told_and_then_explained(
    falsify: Falsify, place: Path, tmp_path: Path, settings: Settings
) -> None:
    """The anchors were saved from mail into a directory that the settings do not name."""
    write(9)
    ledger("anchor")
    shutil.move(place, tmp_path / "saved")
    settings.LEDGER_ANCHORS = []
    falsify("DELETE FROM checks_ledgerentry WHERE seq > 5; DELETE FROM checks_ledgeranchor")
    person("ada")
    saved = ["--anchors", str(tmp_path / "saved")]

    status, said = ledger("verify", *saved)
    assert (status, "Rolled back by 4 entries" in said) == (1, True)
    assert ledger("restored", *saved, "--reason", "disk failed", "--by", "ada")[0] == 0
    status, said = ledger("verify", *saved)
    assert (status, "Rolled back by 4 entries before entry 6: restored" in said) == (0, True)
    assert LedgerEntry.objects.get(what="restored").name == "ada"


def test_a_restore_without_any_anchor_outside_is_refused() -> None:
    write(2)

    status, said = ledger("restored", "--reason", "disk failed")
    assert status == 1
    assert "--anchors DIR" in said
    assert LedgerEntry.objects.count() == 2


def test_a_place_that_takes_no_anchor_is_exit_one(settings: Settings, tmp_path: Path) -> None:
    settings.LEDGER_ANCHORS = [*settings.LEDGER_ANCHORS, str(tmp_path / "absent")]
    write(1)

    status, said = ledger("anchor")
    assert status == 1
    assert "absent" in said


def test_entries_are_shown_newest_first_with_how_to_see_more() -> None:
    write(5)

    lines = ledger("show", "--limit", "2")[1].splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["5", "4"]
    assert lines[2] == "More with: --before 4"


def test_an_anchor_file_holds_what_its_documentation_says(place: Path, databases: TestDatabases) -> None:
    write(1)
    ledger("anchor")

    (file,) = place.iterdir()
    assert set(json.loads(file.read_text())) == {"format", "seq", "head", "at", "key_id", "signature"}
