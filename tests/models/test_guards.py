"""What the serving role can never do, whatever the code above it does: asked as ``app``, with the guards on."""

from collections.abc import Callable

import psycopg
import pytest

from checks.models import Flip, LedgerEntry
from checks.services.ledger import write_entry
from tests.factories import NOON, enrolled_machine, make_cluster

Connect = Callable[[str], psycopg.Connection]

FORBIDDEN = [
    "UPDATE checks_flip SET raw = 'pass'",
    "DELETE FROM checks_flip",
    "TRUNCATE checks_flip",
    "UPDATE checks_ledgerentry SET reason = ''",
    "DELETE FROM checks_ledgerentry",
    "TRUNCATE checks_ledgerentry",
    "DELETE FROM checks_flip_p202611",
    "DROP TABLE checks_flip_p202611",
    "ALTER TABLE checks_ledgerentry DISABLE TRIGGER ALL",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_serving_role_may_not_change_what_was_written(connect_as: Connect, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect_as("app").execute(statement)


@pytest.mark.parametrize("table", ["checks_flip", "checks_ledgerentry"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET reason = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_even_the_owner_is_stopped_by_a_trigger(connect_as: Connect, table: str, statement: str) -> None:
    machine = enrolled_machine(make_cluster())
    machine.push()
    write_entry(what="test", target="test", now=NOON)
    assert Flip.objects.exists()
    assert LedgerEntry.objects.exists()

    with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
        connect_as("owner").execute(statement.format(table))


def test_a_partition_by_its_own_name_is_guarded_against_truncate(connect_as: Connect) -> None:
    with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
        connect_as("owner").execute("TRUNCATE checks_flip_p202611")


def test_the_serving_role_makes_partitions_through_the_owners_function_only(connect_as: Connect) -> None:
    app = connect_as("app")
    assert app.execute("SELECT ensure_partitions()").fetchone() == (0,)
    app.commit()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("CREATE TABLE checks_report_p19990101 (LIKE checks_report)")


@pytest.mark.parametrize("name", ["ensure_partitions", "drop_partitions"])
def test_functions_that_run_as_owner_pin_their_search_path(connect_as: Connect, name: str) -> None:
    asked = "SELECT prosecdef, proconfig FROM pg_proc WHERE proname = %s"
    (definer, settings) = connect_as("app").execute(asked, [name]).fetchone() or (None, None)

    assert definer
    assert "search_path=pg_catalog, public, pg_temp" in settings
