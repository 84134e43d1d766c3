"""Partitioned tables, the functions that make and drop their partitions, and the guards of append-only tables."""

from pathlib import Path

from django.db import migrations

_SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("checks", "0001_initial")]

    operations = [
        migrations.RunSQL(
            (_SQL / "0002_partitions.sql").read_text(encoding="utf-8"),
            (_SQL / "0002_partitions_undo.sql").read_text(encoding="utf-8"),
        )
    ]
