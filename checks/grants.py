"""What the serving role may do, granted after each ``migrate``.

The owner migrates; the serving role (``default``) reads and writes, owns nothing, and on a model with
``append_only = True`` may only read and add. Partitions get no grant of their own: their parent's holds.
"""

from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.db import connections
from django.db.backends.utils import CursorWrapper

READ_AND_WRITE = "SELECT, INSERT, UPDATE, DELETE"
READ_AND_ADD = "SELECT, INSERT"
READ = "SELECT"


def append_only_tables() -> frozenset[str]:
    """Tables of the models that declare ``append_only = True``."""
    return frozenset(model._meta.db_table for model in apps.get_models() if getattr(model, "append_only", False))


def privileges_for(table: str) -> str:
    """The privileges that the serving role has on *table*."""
    if table == "django_migrations":
        return READ
    return READ_AND_ADD if table in append_only_tables() else READ_AND_WRITE


def grant_after_migrate(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Give the serving role its grants, when another role has just migrated."""
    serving_role = settings.DATABASES["default"]["USER"]
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT current_user")
        (migrating_role,) = cursor.fetchone()
        if serving_role and serving_role != migrating_role:
            grant_all(cursor, serving_role)


def grant_all(cursor: CursorWrapper, role: str) -> None:
    """Set the role's privileges on every table and sequence of the schema, taking back any others."""
    quote = cursor.db.ops.quote_name
    to_role = quote(role)
    cursor.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {to_role}")
    cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    tables = {table for (table,) in cursor.fetchall()} - _partitions(cursor)
    for table in sorted(tables):
        cursor.execute(f"GRANT {privileges_for(table)} ON {quote(table)} TO {to_role}")
    cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {to_role}")


def _partitions(cursor: CursorWrapper) -> set[str]:
    cursor.execute("SELECT relname FROM pg_class WHERE relispartition AND relnamespace = 'public'::regnamespace")
    return {name for (name,) in cursor.fetchall()}
