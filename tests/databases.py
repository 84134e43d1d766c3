"""The PostgreSQL of a test session: one throwaway server, migrated once as ``owner``, used as ``app``.

Ordinary tests share one copy and are rolled back. Tests that commit (``transactional_db``, ``live_server``) get a fresh
copy each, because the serving role may neither truncate nor delete what is append-only.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections
from psycopg import sql

from portal.quickstart.postgres import Durability, PostgresServer

TEMPLATE = "countersign_template"
SHARED = "countersign_shared"
ROLES = {"default": "app", "owner": "owner"}
#: The day on which most tests play, whatever day it is; their rows need partitions, too.
DAY_OF_TESTS = "2026-11-30 12:00:00+00"


class TestDatabases:
    """Makes databases and points Django's connections at them."""

    __test__ = False  # not a test, though its name begins like one

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.current = TEMPLATE
        self._copies = 0

    def prepare(self) -> None:
        """Migrate the template as owner, exactly as a deployment does, and go over to a copy of it."""
        self.server.ensure_database(TEMPLATE)
        self._point_at(TEMPLATE)
        call_command("migrate", database="owner", verbosity=0, interactive=False)
        _make_partitions_as_of(DAY_OF_TESTS)
        self._copy_to(SHARED)
        self._point_at(SHARED)

    def use_fresh_copy(self) -> None:
        """Go over to a database that nobody has touched."""
        self._copies += 1
        name = f"countersign_copy_{self._copies}"
        self._copy_to(name)
        self._point_at(name)

    def drop_copy(self) -> None:
        """Drop the current copy and go back to the shared one."""
        used = self.current
        self._point_at(SHARED)
        with self.server.superuser_connection() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(used)))

    @contextmanager
    def empty(self) -> Iterator[None]:
        """Go over to a database that nobody has migrated, and back."""
        before = self.current
        self._copies += 1
        name = f"countersign_empty_{self._copies}"
        self.server.ensure_database(name)
        self._point_at(name)
        try:
            yield
        finally:
            self._point_at(before)
            with self.server.superuser_connection() as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def url(self, role: str) -> str:
        """The address of the current database for ``app`` or ``owner``."""
        return self.server.url(role=role, database=self.current)

    def _copy_to(self, name: str) -> None:
        for alias in ROLES:
            connections[alias].close()
        with self.server.superuser_connection() as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER owner").format(
                    sql.Identifier(name), sql.Identifier(TEMPLATE)
                )
            )
            # Grants on the database itself are not copied with it.
            connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
            connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO app").format(sql.Identifier(name)))

    def _point_at(self, name: str) -> None:
        """Change the settings in place: threads that connect later (a live server's) share these dictionaries."""
        self.current = name
        for alias, role in ROLES.items():
            connections[alias].close()
            settings: dict[str, Any] = connections[alias].settings_dict
            settings.update(
                NAME=name, USER=role, HOST=str(self.server.sockets), PORT="", PASSWORD="", CONN_MAX_AGE=0, OPTIONS={}
            )


def _make_partitions_as_of(moment: str) -> None:
    """Let the portal's own function make those of another day than today."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('ensure_partitions'::regproc)")
        (ours,) = cursor.fetchone()
        theirs = ours.replace("public.ensure_partitions", "public.ensure_partitions_of_tests")
        cursor.execute(theirs.replace("now()", f"'{moment}'::timestamptz"))
        cursor.execute("SELECT ensure_partitions_of_tests()")
        cursor.execute("DROP FUNCTION ensure_partitions_of_tests()")


@contextmanager
def throwaway_databases() -> Iterator[TestDatabases]:
    """A server for one session; its data is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="countersign-tests-") as place:
        server = PostgresServer(
            Path(place) / "postgres", durability=Durability.THROWAWAY, log=Path(place) / "postgres.log"
        )
        server.start()
        try:
            yield TestDatabases(server)
        finally:
            connections.close_all()
            server.stop()
