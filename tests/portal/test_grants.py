"""What the serving role may do with which table."""

import psycopg
import pytest
from django.apps import apps
from django.db import connection

from checks.grants import append_only_tables


def privileges(table: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p FROM unnest(ARRAY['SELECT','INSERT','UPDATE','DELETE','TRUNCATE']) p "
            "WHERE has_table_privilege('app', %s, p)",
            [table],
        )
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.django_db
def test_an_ordinary_table_is_read_and_written_and_never_truncated() -> None:
    assert privileges("accounts_user") == {"SELECT", "INSERT", "UPDATE", "DELETE"}


@pytest.mark.django_db
def test_an_append_only_table_is_read_and_added_to() -> None:
    tables = append_only_tables()
    assert "checks_ledgerentry" in tables
    for table in tables:
        assert privileges(table) == {"SELECT", "INSERT"}, table


@pytest.mark.django_db
def test_the_record_of_migrations_is_only_read() -> None:
    assert privileges("django_migrations") == {"SELECT"}


@pytest.mark.django_db
def test_no_partition_offers_a_way_round_its_parents_grants() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")
        partitions = [name for (name,) in cursor.fetchall()]
    assert partitions
    assert [name for name in partitions if privileges(name)] == []


@pytest.mark.django_db
def test_every_model_can_be_read_by_the_serving_role() -> None:
    tables = {model._meta.db_table for model in apps.get_models() if model._meta.managed}
    assert [table for table in sorted(tables) if "SELECT" not in privileges(table)] == []


@pytest.mark.django_db
def test_the_serving_role_cannot_truncate() -> None:
    with pytest.raises(Exception) as refused, connection.cursor() as cursor:
        cursor.execute("TRUNCATE accounts_user CASCADE")
    assert isinstance(refused.value.__cause__, psycopg.errors.InsufficientPrivilege)
