"""How far ahead the partitioned tables can take rows."""

from datetime import datetime

from django.db import connection


def partitions_until() -> datetime | None:
    """Until when every partitioned table has a partition; None when one of them has none at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT partitions_until()")
        (until,) = cursor.fetchone()
    return until  # type: ignore[no-any-return]
