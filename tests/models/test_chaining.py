"""Acts that were written down before there was a chain: the migration numbers and chains them in their order."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from checks.grants import grant_after_migrate
from checks.models import LedgerEntry
from checks.selectors.anchors import KeyRing
from checks.selectors.ledger import verify_ledger
from checks.services.ledger import write_entry
from tests.databases import TestDatabases
from tests.factories import NOON

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

BEFORE, CHAINED = ("checks", "0005_flip_news"), ("checks", "0006_signoff")


@pytest.fixture
def empty(databases: TestDatabases, transactional_db: None) -> Iterator[MigrationExecutor]:
    """Migrates a database that nobody has migrated yet, as owner."""
    with databases.empty():
        yield MigrationExecutor(connections["owner"])


def migrate(executor: MigrationExecutor, *targets: tuple[str, str]) -> None:
    executor.loader.build_graph()
    accounts = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "accounts"]
    executor.migrate([*targets, *accounts])


def write_three_acts(executor: MigrationExecutor) -> None:
    """As they were stored then, two of them by a person."""
    old = executor.loader.project_state([BEFORE]).apps
    clusters, entries = old.get_model("checks", "Cluster").objects, old.get_model("checks", "LedgerEntry").objects
    people = old.get_model("accounts", "User").objects
    cluster = clusters.using("owner").create(slug="alpha", name="Alpha", profile="8xh200")
    ada = people.using("owner").create(username="ada", display_name="Ada L.")
    add = entries.using("owner").create
    add(at=NOON, what="cluster_created", target="alpha", cluster=cluster)
    add(
        at=NOON, what="settings_changed", target="alpha", cluster=cluster, who=ada, data={"before": None, "ü": [1, 0.5]}
    )
    add(at=NOON, what="person_added", target="bob", who=ada, reason="new")


def test_old_entries_are_chained_in_their_order_and_the_chain_goes_on(empty: MigrationExecutor) -> None:
    migrate(empty, BEFORE)
    write_three_acts(empty)
    migrate(empty, CHAINED)

    acts = LedgerEntry.objects.using("owner").order_by("seq").values_list("seq", "what", "name")
    assert list(acts) == [
        (1, "cluster_created", ""),
        (2, "settings_changed", "Ada L."),
        (3, "person_added", "Ada L."),
        (4, "ledger_chained", ""),
    ]


def test_what_the_migration_chained_verifies_and_takes_further_entries(empty: MigrationExecutor) -> None:
    migrate(empty, BEFORE)
    write_three_acts(empty)
    migrate(empty, *[node for node in empty.loader.graph.leaf_nodes() if node[0] == "checks"])
    grant(empty)
    write_entry(what="test", target="test", who=get_user_model().objects.get(username="ada"), now=timezone.now())
    found = verify_ledger(now=NOON, keys=KeyRing())

    assert (found.entries, found.breaks) == (5, ())


def grant(executor: MigrationExecutor) -> None:
    """What ``migrate`` does when it is done."""
    grant_after_migrate(apps.get_app_config("checks"), using="owner")


def test_the_guard_stands_again_after_the_migration(empty: MigrationExecutor) -> None:
    migrate(empty, BEFORE)
    write_three_acts(empty)
    migrate(empty, CHAINED)

    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'checks_ledgerentry'::regclass")
        guards = {name: state for name, state in cursor.fetchall() if name.startswith("append_only")}
    assert guards == {"append_only_row": "O", "append_only_truncate": "O"}


def test_an_empty_ledger_stays_empty(empty: MigrationExecutor) -> None:
    migrate(empty, BEFORE)
    migrate(empty, CHAINED)

    assert LedgerEntry.objects.using("owner").count() == 0
