"""The test session's own database behaves as a deployment's does."""

from collections.abc import Callable

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection, connections


@pytest.mark.django_db
def test_ordinary_tests_run_as_the_serving_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == ("app",)


@pytest.mark.django_db
def test_the_serving_role_is_no_superuser_and_owns_no_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False,)
        cursor.execute("SELECT count(*) FROM pg_tables WHERE tableowner = current_user")
        assert cursor.fetchone() == (0,)


@pytest.mark.django_db
def test_the_serving_role_may_not_change_the_schema() -> None:
    with pytest.raises(Exception, match="permission denied"), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE mine ()")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("visit", ["first", "second"])
def test_a_committing_test_finds_nothing_that_another_left(visit: str) -> None:
    assert not get_user_model().objects.exists()
    get_user_model().objects.create_user(username=visit)


def test_two_connections_see_what_the_other_committed(connect_as: Callable[[str], psycopg.Connection]) -> None:
    get_user_model().objects.create_user(username="hana")
    row = connect_as("app").execute("SELECT username FROM accounts_user").fetchone()
    assert row == ("hana",)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_the_owner_reaches_the_same_database() -> None:
    get_user_model().objects.create_user(username="ari")
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT current_user, count(*) FROM accounts_user")
        assert cursor.fetchone() == ("owner", 1)
