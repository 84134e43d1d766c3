"""Whatever is declared append-only, in the models, cannot be changed: neither by the role that serves, nor by accident.

Derived from the models: one that says ``append_only = True`` is tested from the moment it exists.
"""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.apps import apps
from django.db.models import ForeignKey, Model
from psycopg import sql

from tests.databases import TestDatabases

MODELS = sorted(
    (model for model in apps.get_models() if getattr(model, "append_only", False)), key=lambda m: m.__name__
)
PARENTS = sorted(
    {
        field.remote_field.model._meta.db_table
        for model in MODELS
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey)
    }
)
Connect = Callable[[str], psycopg.Connection]

# {table}, {column}: any that is no key; {key}: the primary key's columns.
ON_A_TABLE = [
    "UPDATE {table} SET {column} = {column}",
    "UPDATE ONLY {table} SET {column} = {column} WHERE false",
    "DELETE FROM {table}",
    "TRUNCATE {table}",
    "TRUNCATE {table} CASCADE",
    "INSERT INTO {table} SELECT * FROM {table} ON CONFLICT ({key}) DO UPDATE SET {column} = EXCLUDED.{column}",
    "MERGE INTO {table} AS old USING {table} AS new ON true WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM {table} RETURNING 1) SELECT * FROM gone",
    "SELECT * FROM {table} FOR UPDATE",
    "LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE",
    "DROP TABLE {table} CASCADE",
    "ALTER TABLE {table} DISABLE TRIGGER ALL",
    "ALTER TABLE {table} DISABLE TRIGGER append_only_row",
    "ALTER TABLE {table} RENAME TO another",
    "ALTER TABLE {table} DROP COLUMN {column}",
    "ALTER TABLE {table} ALTER COLUMN {column} TYPE text USING 'x'",
    "ALTER TABLE {table} OWNER TO app",
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "DROP TRIGGER append_only_row ON {table}",
    "DROP TRIGGER append_only_truncate ON {table}",
    "ALTER TRIGGER append_only_row ON {table} RENAME TO another",
    "CREATE TRIGGER mine BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION checks_refuse_change()",
    "CREATE RULE mine AS ON INSERT TO {table} DO INSTEAD NOTHING",
    "CREATE POLICY mine ON {table} USING (false)",
    "CREATE TABLE mine () INHERITS ({table})",
    "CREATE VIEW mine AS SELECT * FROM {table}",
    "COPY {table} FROM '/dev/null'",
    "COPY {table} FROM PROGRAM 'true'",
    "COPY {table} TO PROGRAM 'cat'",
    "DO $$ BEGIN UPDATE {table} SET {column} = {column}; END $$",
]
ON_THE_DATABASE = [
    "SET session_replication_role = replica",
    "SET LOCAL session_replication_role = replica",
    "ALTER ROLE app SET session_replication_role = replica",
    "SET ROLE owner",
    "SET SESSION AUTHORIZATION owner",
    "GRANT owner TO app",
    "ALTER ROLE app SUPERUSER",
    "CREATE OR REPLACE FUNCTION checks_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    "DROP FUNCTION checks_refuse_change() CASCADE",
    "ALTER FUNCTION checks_refuse_change() RENAME TO another",
    "CREATE SCHEMA mine",
    "CREATE TABLE mine ()",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "UPDATE pg_trigger SET tgenabled = 'D'",
    "DELETE FROM pg_trigger",
    "SELECT setval('checks_ledgerentry_id_seq', 1)",
    "SELECT pg_read_file('postgresql.conf')",
]
SETTINGS = [
    "pgtrigger.ignore = 'checks_ledgerentry:append_only_row'",
    "pghistory.context_id = 'x'",
    "row_security = off",
    "search_path = pg_temp, pg_catalog, public",
    "check_function_bodies = off",
    "default_transaction_read_only = off",
    "constraint_exclusion = on",
]
AS_OWNER = [
    "UPDATE {table} SET {column} = {column}",
    "DELETE FROM {table}",
    "TRUNCATE {table} CASCADE",
]


@pytest.fixture
def app(django_db_setup: None, databases: TestDatabases) -> Iterator[psycopg.Connection]:
    """The role that serves, on the database that tests share: what it tries here changes nothing."""
    with psycopg.connect(databases.url("app"), autocommit=True) as connection:
        yield connection


def filled_in(template: str, model: type[Model]) -> str:
    """*template* about the table of *model*."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    key = [model._meta.pk.column] if model._meta.db_table != "checks_flip" else ["id", "at"]
    return template.format(table=model._meta.db_table, column=fields[-1].column, key=", ".join(key))


def refused(connection: psycopg.Connection, statement: str) -> bool:
    """Whether PostgreSQL refuses *statement* for want of a right."""
    try:
        with connection.transaction():
            connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


def partitions(connection: psycopg.Connection) -> list[str]:
    """The partitions of append-only tables."""
    asked = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent::regclass::text = ANY (%s)"
    return [name for (name,) in connection.execute(asked, [[model._meta.db_table for model in MODELS]])]


def test_what_people_signed_gave_and_did_is_append_only() -> None:
    names = {model.__name__ for model in MODELS}

    assert names >= {"Flip", "LedgerEntry", "LedgerAnchor", "Signature", "Revocation", "Waiver", "Manifest", "RunStart"}


@pytest.mark.parametrize("template", ON_A_TABLE)
def test_the_serving_role_is_refused_on_every_append_only_table(app: psycopg.Connection, template: str) -> None:
    done = [model.__name__ for model in MODELS if not refused(app, filled_in(template, model))]

    assert done == []


@pytest.mark.parametrize("statement", ON_THE_DATABASE)
def test_the_serving_role_cannot_put_the_guards_aside(app: psycopg.Connection, statement: str) -> None:
    assert refused(app, statement)


def test_the_serving_role_becomes_no_other_role(app: psycopg.Connection) -> None:
    """Whatever roles the server has: those that write everywhere, and the owner."""
    others = [name for (name,) in app.execute("SELECT rolname FROM pg_roles WHERE rolname <> 'app'").fetchall()]
    member = "SELECT rolname FROM pg_roles WHERE rolname <> 'app' AND pg_has_role('app', oid, 'MEMBER')"
    ways = ("SET ROLE {}", "SET LOCAL ROLE {}", "SET SESSION AUTHORIZATION {}")
    done = [way.format(name) for name in others for way in ways if not refused(app, way.format(name))]

    assert {"owner", "postgres", "pg_write_all_data"} <= {*others}
    assert done == app.execute(member).fetchall() == []


def test_the_serving_role_cannot_change_the_servers_own_settings(app: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("ALTER SYSTEM SET session_replication_role = replica")


@pytest.mark.filterwarnings("ignore")
def test_the_serving_role_gives_itself_nothing(app: psycopg.Connection) -> None:
    """PostgreSQL answers a grant by somebody who may not grant with a warning, and grants nothing."""
    app.execute("BEGIN")
    for model in MODELS:
        app.execute(f"GRANT ALL ON {model._meta.db_table} TO app WITH GRANT OPTION".encode())
        asked = "SELECT has_table_privilege(%s, 'UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES')"
        assert app.execute(asked, [model._meta.db_table]).fetchone() == (False,)
    app.execute("ROLLBACK")


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_setting_of_a_session_opens_an_append_only_table(app: psycopg.Connection, setting: str) -> None:
    for model in MODELS:
        table = f"public.{model._meta.db_table}"
        for statement in (f"DELETE FROM {table}", f"TRUNCATE {table}"):  # noqa: S608
            assert refused(app, f"SET LOCAL {setting}; {statement}"), (model.__name__, statement)


@pytest.mark.parametrize(
    "template",
    [
        "UPDATE {} SET detail = 'x'",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "DROP TABLE {}",
        "ALTER TABLE checks_flip DETACH PARTITION {}",
        "ALTER TABLE {} DISABLE TRIGGER ALL",
    ],
)
def test_a_partition_by_its_own_name_is_no_way_round(app: psycopg.Connection, template: str) -> None:
    found = partitions(app)
    assert found
    assert [name for name in found if not refused(app, template.format(name))] == []


@pytest.mark.parametrize("parent", PARENTS)
def test_truncating_what_history_names_is_refused(app: psycopg.Connection, parent: str) -> None:
    assert refused(app, f"TRUNCATE {parent} CASCADE")


def test_the_serving_role_adds_to_an_append_only_table(connect_as: Connect) -> None:
    """So that all of the above is not simply a role that may do nothing at all."""
    connection = connect_as("app")
    connection.execute("INSERT INTO checks_manifestblob (digest, body) VALUES ('x', '')")
    found = connection.execute("SELECT digest FROM checks_manifestblob").fetchall()

    assert found == [("x",)]


@pytest.fixture
def filled(transactional_db: None, databases: TestDatabases) -> TestDatabases:
    """A database of this test's own with a row in every append-only table, whatever the row says."""
    url = databases.server.url(role="postgres", database=databases.current)
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")  # no foreign keys
        for model in MODELS:
            _put_a_row(connection, model._meta.db_table)
    return databases


def _put_a_row(connection: psycopg.Connection, table: str) -> None:
    checks = "SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid = %s::regclass"
    for (name,) in connection.execute(checks, [table]).fetchall():
        drop = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.Identifier(table), sql.Identifier(name))
        connection.execute(drop)
    values = {
        "timestamp with time zone": "now()", "date": "now()", "jsonb": "'{}'", "uuid": "gen_random_uuid()",
        "bytea": "''", "boolean": "true", "inet": "'127.0.0.1'",
    }  # fmt: skip
    asked = (
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' "
        "AND table_name = %s AND column_default IS NULL AND is_identity = 'NO'"
    )
    columns = connection.execute(asked, [table]).fetchall()
    names = sql.SQL(", ").join(sql.Identifier(name) for name, _ in columns)
    row = sql.SQL(", ").join(sql.SQL(values.get(kind, "'1'")) for _, kind in columns)
    connection.execute(sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), names, row))


@pytest.mark.parametrize("template", AS_OWNER)
def test_even_the_owner_of_the_tables_is_stopped_by_a_trigger(filled: TestDatabases, template: str) -> None:
    with psycopg.connect(filled.url("owner"), autocommit=True) as owner:
        for model in MODELS:
            with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
                owner.execute(filled_in(template, model).encode())


def test_the_owner_cannot_truncate_history_through_what_it_names(filled: TestDatabases) -> None:
    with psycopg.connect(filled.url("owner"), autocommit=True) as owner:
        for parent in PARENTS:
            with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
                owner.execute(f"TRUNCATE {parent} CASCADE".encode())


def test_the_owner_cannot_change_a_partition_by_its_own_name(filled: TestDatabases) -> None:
    with psycopg.connect(filled.url("owner"), autocommit=True) as owner:
        held = owner.execute("SELECT DISTINCT tableoid::regclass::text FROM checks_flip").fetchall()
        assert held
        for (name,) in held:
            for statement in (f"UPDATE {name} SET detail = 'x'", f"DELETE FROM {name}", f"TRUNCATE {name}"):  # noqa: S608
                with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
                    owner.execute(statement.encode())
