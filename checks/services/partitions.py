"""Partitions of the tables that grow with time. The rules stand in SQL (migration 0002) and take no argument."""

from typing import Any

from django.db import connection, connections


def ensure() -> int:
    """Make the missing partitions of the coming 14 days; returns how many were made. Harmless at any time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ensure_partitions()")
        (made,) = cursor.fetchone()
    return int(made)


def drop() -> list[str]:
    """Drop the partitions whose time is over, and receipts older than 8 days; returns the dropped tables' names."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT drop_partitions()")
        return [name for (name,) in cursor.fetchall()]


def ensure_after_migrate(sender: object, using: str, **kwargs: Any) -> None:
    """Make them at each start of a deployment too, whose first step is ``migrate``; nothing on the way to zero."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT to_regprocedure('ensure_partitions()') IS NOT NULL")
        (exists,) = cursor.fetchone()
        if exists:
            cursor.execute("SELECT ensure_partitions()")
