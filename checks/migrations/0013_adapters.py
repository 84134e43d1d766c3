"""Outputs of other tools, kept as they were sent."""

from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [
        ("checks", "0012_training_env"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ToolEvidence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("evidence_id", models.UUIDField(verbose_name="evidence id")),
                ("tool", models.CharField(max_length=32, verbose_name="tool")),
                ("digest", models.CharField(max_length=64, verbose_name="SHA-256 of what was sent")),
                ("size", models.PositiveIntegerField(verbose_name="bytes that were sent")),
                ("body", models.BinaryField(verbose_name="what was sent")),
                ("measured_at", models.DateTimeField(verbose_name="when the tool ran")),
                ("received_at", models.DateTimeField(verbose_name="received")),
                (
                    "token",
                    models.CharField(blank=True, max_length=8, verbose_name="public part of the token that sent it"),
                ),
                ("answer", models.JSONField(verbose_name="what was made of it")),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="uploaded by",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tool_evidence", to="checks.node"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [models.UniqueConstraint(fields=["evidence_id"], name="toolevidence_once")],
                "indexes": [models.Index(fields=["node", "-id"], name="toolevidence_latest")],
            },
        ),
        migrations.RunSQL((_SQL / "0013_append_only.sql").read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
