"""Partitions of the tables that grow with time. The rules stand in SQL (migration 0002) and take no argument."""

from django.db import connection


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
