"""Daily windows of a cluster, and nodes taken for what disturbs a job."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checks", "0007_notices")]

    operations = [
        migrations.CreateModel(
            name="MaintenanceWindow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("maintenance", "maintenance"), ("off_peak", "off-peak")],
                        max_length=16,
                        verbose_name="kind",
                    ),
                ),
                ("opens", models.TimeField(verbose_name="opens")),
                ("closes", models.TimeField(verbose_name="closes")),
                ("set_at", models.DateTimeField(verbose_name="set")),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="windows", to="checks.cluster"
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "opens"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("cluster", "kind", "opens", "closes"),
                        name="maintenancewindow_set_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("opens", models.F("closes")), _negated=True),
                        name="maintenancewindow_has_a_length",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["maintenance", "off_peak"])),
                        name="maintenancewindow_kind_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NodeClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("items", models.JSONField(verbose_name="items")),
                ("claimed_at", models.DateTimeField(verbose_name="claimed")),
                ("until", models.DateTimeField(verbose_name="until")),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended")),
                (
                    "ended_by",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("released", "given back"),
                            ("reported", "measured and reported"),
                            ("time", "its time was over"),
                        ],
                        max_length=16,
                        verbose_name="how it ended",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="claims", to="checks.node"
                    ),
                ),
            ],
            options={
                "ordering": ["-claimed_at"],
                "indexes": [models.Index(fields=["node", "-claimed_at"], name="nodeclaim_of_node")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("node",),
                        name="nodeclaim_one_open_a_node",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("until__gt", models.F("claimed_at"))), name="nodeclaim_has_a_length"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ended_by__in", ["", "released", "reported", "time"])),
                        name="nodeclaim_end_known",
                    ),
                ],
            },
        ),
    ]
