"""What audits find about a run, kept as it was sent."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

_SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("checks", "0008_windows")]

    operations = [
        migrations.CreateModel(
            name="RunEvidence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("evidence_id", models.UUIDField(verbose_name="evidence id")),
                ("tool", models.CharField(max_length=64, verbose_name="tool")),
                ("hostname", models.CharField(max_length=253, verbose_name="measured on")),
                ("agent_version", models.CharField(max_length=32, verbose_name="agent version")),
                ("finished_at", models.DateTimeField(verbose_name="finished, by the clock of that machine")),
                ("observed_at", models.DateTimeField(verbose_name="finished, by the portal's clock")),
                ("received_at", models.DateTimeField(verbose_name="received")),
                ("token", models.CharField(max_length=8, verbose_name="public part of the token that sent it")),
                ("dataset", models.CharField(blank=True, max_length=128, verbose_name="dataset")),
                ("covered", models.JSONField(verbose_name="items it looked at")),
                ("facts", models.JSONField(verbose_name="facts")),
                ("problems", models.JSONField(verbose_name="problems")),
                ("artefacts", models.JSONField(default=list, verbose_name="files it read")),
                ("texts", models.JSONField(default=dict, verbose_name="texts behind it")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="evidence", to="checks.run"
                    ),
                ),
            ],
            options={
                "ordering": ["-observed_at", "-id"],
                "constraints": [models.UniqueConstraint(fields=["evidence_id"], name="runevidence_once")],
                "indexes": [models.Index(fields=["run", "tool", "-observed_at"], name="runevidence_latest")],
            },
        ),
        migrations.RunSQL((_SQL / "0009_append_only.sql").read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
