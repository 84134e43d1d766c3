"""Nodes that measure with one another: seats, trials, and what each end of a trial said."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checks", "0013_adapters"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="every_link",
            field=models.BooleanField(db_default=False, default=False, verbose_name="measure every link between nodes"),
        ),
        migrations.CreateModel(
            name="LinkSeat",
            fields=[
                (
                    "node",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="link_seat",
                        serialize=False,
                        to="checks.node",
                    ),
                ),
                ("address", models.CharField(max_length=253, verbose_name="address")),
                ("cards", models.PositiveSmallIntegerField(verbose_name="RDMA cards")),
                ("gpu_memory", models.BooleanField(verbose_name="perftest writes from GPU memory")),
                ("flow_s", models.PositiveSmallIntegerField(verbose_name="seconds that one flow lasts")),
                ("seated_at", models.DateTimeField(verbose_name="first asked")),
                ("asked_at", models.DateTimeField(verbose_name="last asked")),
                (
                    "claim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.nodeclaim"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LinkTrial",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cards", models.PositiveSmallIntegerField(verbose_name="cards a side")),
                ("gpu_memory", models.BooleanField(verbose_name="from GPU memory too")),
                ("flow_s", models.PositiveSmallIntegerField(verbose_name="seconds that one flow lasts")),
                ("port", models.PositiveIntegerField(verbose_name="first TCP port")),
                ("handed_at", models.DateTimeField(verbose_name="handed out")),
                ("until", models.DateTimeField(verbose_name="ends by its time")),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended")),
                ("facts", models.JSONField(blank=True, default=dict, verbose_name="facts of the link")),
                ("problem", models.CharField(blank=True, max_length=300, verbose_name="what was not measured")),
                (
                    "client",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.node"),
                ),
                (
                    "client_claim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.nodeclaim"
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="link_trials", to="checks.cluster"
                    ),
                ),
                (
                    "server",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.node"),
                ),
                (
                    "server_claim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.nodeclaim"
                    ),
                ),
            ],
            options={
                "ordering": ["-handed_at"],
            },
        ),
        migrations.CreateModel(
            name="LinkSide",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("open", models.BooleanField(default=True, verbose_name="open")),
                ("told", models.JSONField(null=True, verbose_name="what it said")),
                ("told_at", models.DateTimeField(null=True, verbose_name="said")),
                (
                    "node",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.node"),
                ),
                (
                    "trial",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sides", to="checks.linktrial"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="linktrial",
            index=models.Index(fields=["cluster", "ended_at"], name="linktrial_ended"),
        ),
        migrations.AddIndex(
            model_name="linktrial",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)), fields=["cluster"], name="linktrial_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="linktrial",
            constraint=models.CheckConstraint(
                condition=models.Q(("server", models.F("client")), _negated=True), name="linktrial_of_two_nodes"
            ),
        ),
        migrations.AddConstraint(
            model_name="linktrial",
            constraint=models.CheckConstraint(
                condition=models.Q(("until__gt", models.F("handed_at"))), name="linktrial_has_a_length"
            ),
        ),
        migrations.AddConstraint(
            model_name="linkside",
            constraint=models.UniqueConstraint(fields=("trial", "node"), name="linkside_once_a_trial"),
        ),
        migrations.AddConstraint(
            model_name="linkside",
            constraint=models.UniqueConstraint(
                condition=models.Q(("open", True)), fields=("node",), name="linkside_one_open_a_node"
            ),
        ),
    ]
