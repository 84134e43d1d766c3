"""Runs, what is signed about them, and the ledger's chain; acts that were written down before are chained in order."""

from pathlib import Path

import django.db.models.deletion
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

from checks.domain.ledger import GENESIS, Entry

_SQL = Path(__file__).parent / "sql"


def chain_old_entries(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Number and chain what was written before there was a chain; the guard stands aside for this one act."""
    entries = apps.get_model("checks", "LedgerEntry").objects.using(editor.connection.alias)
    editor.execute("ALTER TABLE checks_ledgerentry DISABLE TRIGGER append_only_row")
    head = GENESIS
    seq, old = 0, entries.select_related("who", "cluster").order_by("id")
    for seq, row in enumerate(old.iterator(chunk_size=1000), start=1):
        row.seq, row.previous = seq, head
        row.name = (row.who.display_name or row.who.username) if row.who else ""
        head = row.digest = Entry(
            seq=seq, previous=head, at=row.at, who=str(row.who_id or ""), name=row.name, what=row.what,
            cluster=row.cluster.slug if row.cluster else "", target=row.target, reason=row.reason, data=row.data,
            cluster_number=str(row.cluster_id or ""),
        ).digest  # fmt: skip
        row.save(update_fields=["seq", "previous", "digest", "name"])
    if seq:
        act = {"what": "ledger_chained", "target": "ledger", "reason": "", "data": {"entries": seq}}
        said = Entry(seq=seq + 1, previous=head, at=timezone.now(), who="", name="", cluster="", **act)
        entries.create(seq=said.seq, previous=head, digest=said.digest, at=said.at, name="", **act)
    # What was written waits for its foreign keys to be checked, and the table cannot be altered meanwhile.
    editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    editor.execute("SET CONSTRAINTS ALL DEFERRED")
    editor.execute("ALTER TABLE checks_ledgerentry ENABLE TRIGGER append_only_row")


class Migration(migrations.Migration):
    dependencies = [
        ("checks", "0005_flip_news"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Attestation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("item", models.CharField(max_length=64, verbose_name="item")),
                ("subject", models.CharField(blank=True, max_length=128, verbose_name="subject")),
                ("facts", models.JSONField(verbose_name="facts")),
                ("statement", models.TextField(verbose_name="statement")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("valid_until", models.DateTimeField(verbose_name="valid until")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="AttestedFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=64, verbose_name="SHA-256")),
                ("name", models.CharField(max_length=150, verbose_name="name")),
                ("media_type", models.CharField(max_length=32, verbose_name="type")),
                ("size", models.PositiveIntegerField(verbose_name="bytes")),
            ],
        ),
        migrations.CreateModel(
            name="Delegation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("hardware", "hardware engineer"),
                            ("platform", "AI platform engineer"),
                            ("data", "data engineer"),
                            ("lead", "lead"),
                            ("admin", "administrator"),
                        ],
                        max_length=16,
                        verbose_name="role",
                    ),
                ),
                ("starts_at", models.DateTimeField(verbose_name="starts")),
                ("ends_at", models.DateTimeField(verbose_name="ends")),
                ("reason", models.TextField(verbose_name="reason")),
                ("given_at", models.DateTimeField(verbose_name="given")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="DelegationEnd",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("reason", models.TextField(verbose_name="reason")),
            ],
        ),
        migrations.CreateModel(
            name="LedgerAnchor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveBigIntegerField(verbose_name="number of the newest entry")),
                ("head", models.CharField(max_length=64, verbose_name="its digest")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("key_id", models.CharField(max_length=64, verbose_name="key")),
                ("signature", models.CharField(max_length=128, verbose_name="Ed25519 signature, hex")),
                ("place", models.CharField(max_length=300, verbose_name="where it was told")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="LedgerWatch",
            fields=[
                (
                    "name",
                    models.CharField(
                        max_length=300, primary_key=True, serialize=False, verbose_name="what was looked at"
                    ),
                ),
                ("at", models.DateTimeField(verbose_name="last tried")),
                ("good_at", models.DateTimeField(null=True, verbose_name="last went well")),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("ok", "all is well"),
                            ("broken", "the chain is broken"),
                            ("back", "the database was rolled back"),
                            ("unclear", "it cannot be told"),
                            ("failed", "it did not work"),
                        ],
                        max_length=8,
                        verbose_name="outcome",
                    ),
                ),
                ("detail", models.TextField(blank=True, verbose_name="detail")),
            ],
        ),
        migrations.CreateModel(
            name="Manifest",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False, verbose_name="digest")),
                ("header", models.JSONField(verbose_name="header")),
                ("shared", models.CharField(max_length=64, verbose_name="digest of the shared branch")),
                ("nodes", models.JSONField(verbose_name="node uuid -> digest of its layer")),
                ("stored_at", models.DateTimeField(verbose_name="stored")),
            ],
        ),
        migrations.CreateModel(
            name="ManifestBlob",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False, verbose_name="digest")),
                ("body", models.BinaryField(verbose_name="leaves")),
            ],
        ),
        migrations.CreateModel(
            name="Override",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("hardware", "hardware engineer"),
                            ("platform", "AI platform engineer"),
                            ("data", "data engineer"),
                            ("lead", "lead"),
                            ("admin", "administrator"),
                        ],
                        max_length=16,
                        verbose_name="role",
                    ),
                ),
                ("at", models.DateTimeField(verbose_name="at")),
                ("until", models.DateTimeField(verbose_name="until")),
                ("reason", models.TextField(verbose_name="reason")),
                ("ticket", models.CharField(max_length=150, verbose_name="ticket")),
                ("accepted", models.JSONField(verbose_name="blockers it accepts")),
                ("pool", models.JSONField(verbose_name="pool")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="OverrideEnd",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("reason", models.TextField(verbose_name="reason")),
            ],
        ),
        migrations.CreateModel(
            name="PinnedEvidence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("evidence", models.CharField(db_index=True, max_length=64, verbose_name="digest of the raw text")),
            ],
        ),
        migrations.CreateModel(
            name="PolicyApproval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(verbose_name="at")),
            ],
        ),
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("document", models.JSONField(verbose_name="policy")),
                ("proposed_at", models.DateTimeField(verbose_name="proposed")),
                ("reason", models.TextField(verbose_name="reason")),
            ],
            options={
                "ordering": ["-number"],
            },
        ),
        migrations.CreateModel(
            name="Revocation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("reason", models.TextField(verbose_name="reason")),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=63, verbose_name="slug")),
                ("name", models.CharField(max_length=150, verbose_name="name")),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("draft", "draft"),
                            ("checking", "checking"),
                            ("rehearsing", "rehearsing"),
                            ("signoff", "sign-off"),
                            ("cleared", "cleared"),
                            ("running", "running"),
                            ("finished", "finished"),
                            ("aborted", "aborted"),
                        ],
                        default="draft",
                        max_length=16,
                        verbose_name="stage",
                    ),
                ),
                ("nodes_needed", models.PositiveIntegerField(verbose_name="nodes that the job needs")),
                ("world_size", models.PositiveIntegerField(verbose_name="world size, processes")),
                ("layout", models.JSONField(blank=True, default=dict, verbose_name="parallel layout")),
                ("model_name", models.CharField(max_length=150, verbose_name="model")),
                (
                    "parameters",
                    models.PositiveBigIntegerField(blank=True, null=True, verbose_name="parameters of the model"),
                ),
                ("bytes_per_parameter", models.JSONField(blank=True, default=dict, verbose_name="bytes a parameter")),
                ("dataset", models.CharField(blank=True, max_length=128, verbose_name="dataset")),
                ("artefacts", models.JSONField(blank=True, default=list, verbose_name="configuration artefacts")),
                ("planned_start", models.DateTimeField(verbose_name="planned start")),
                ("planned_end", models.DateTimeField(verbose_name="planned end")),
                ("created_at", models.DateTimeField(verbose_name="created")),
            ],
            options={
                "ordering": ["-planned_start", "slug"],
            },
        ),
        migrations.CreateModel(
            name="RunNode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
        ),
        migrations.CreateModel(
            name="RunStart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("start", "start"),
                            ("restart", "restart"),
                            ("replacement", "replacement by a node of the pool"),
                        ],
                        max_length=16,
                        verbose_name="kind",
                    ),
                ),
                ("at", models.DateTimeField(verbose_name="at")),
                (
                    "token",
                    models.CharField(blank=True, max_length=8, verbose_name="public part of the token that told it"),
                ),
                ("hostnames", models.JSONField(verbose_name="nodes it runs on")),
                ("basis", models.JSONField(verbose_name="signatures that stood then")),
                ("restart_until", models.DateTimeField(verbose_name="may come back until")),
                ("reason", models.CharField(blank=True, max_length=300, verbose_name="reason")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Signature",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("round", models.PositiveIntegerField(verbose_name="round")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("hardware", "hardware engineer"),
                            ("platform", "AI platform engineer"),
                            ("data", "data engineer"),
                            ("lead", "lead"),
                            ("admin", "administrator"),
                        ],
                        max_length=16,
                        verbose_name="role",
                    ),
                ),
                ("signed_at", models.DateTimeField(verbose_name="signed")),
                ("expires_at", models.DateTimeField(null=True, verbose_name="expires")),
                ("restart_until", models.DateTimeField(verbose_name="the run may come back until")),
                ("printed_name", models.CharField(max_length=150, verbose_name="name at the time")),
                (
                    "meaning",
                    models.CharField(
                        choices=[
                            ("performed", "I performed these checks"),
                            ("reviewed", "I reviewed the evidence"),
                            ("responsible", "I accept responsibility"),
                        ],
                        max_length=16,
                        verbose_name="meaning",
                    ),
                ),
                ("comment", models.TextField(blank=True, verbose_name="comment")),
                ("policy_number", models.PositiveIntegerField(verbose_name="policy version; 0 is the default policy")),
                ("contributor", models.BooleanField(default=False, verbose_name="contributed to the package")),
                ("role_granted_at", models.DateTimeField(verbose_name="role held since")),
                ("auth_method", models.CharField(max_length=32, verbose_name="how the person proved to be there")),
                ("auth_at", models.DateTimeField(verbose_name="when")),
                ("address", models.GenericIPAddressField(null=True, verbose_name="address")),
                ("user_agent", models.CharField(blank=True, max_length=300, verbose_name="browser")),
                ("annex", models.JSONField(default=dict, verbose_name="annex")),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="SignoffPackage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("layer", models.CharField(max_length=16, verbose_name="layer")),
            ],
        ),
        migrations.CreateModel(
            name="Waiver",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("layer", models.CharField(max_length=16, verbose_name="layer")),
                ("item", models.CharField(max_length=64, verbose_name="item")),
                ("nodes", models.JSONField(default=list, verbose_name="nodes")),
                ("reason", models.TextField(verbose_name="reason")),
                ("until", models.DateTimeField(verbose_name="until")),
                (
                    "asked_role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("hardware", "hardware engineer"),
                            ("platform", "AI platform engineer"),
                            ("data", "data engineer"),
                            ("lead", "lead"),
                            ("admin", "administrator"),
                        ],
                        max_length=16,
                        verbose_name="role",
                    ),
                ),
                ("asked_at", models.DateTimeField(verbose_name="asked")),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="WaiverApproval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("hardware", "hardware engineer"),
                            ("platform", "AI platform engineer"),
                            ("data", "data engineer"),
                            ("lead", "lead"),
                            ("admin", "administrator"),
                        ],
                        max_length=16,
                        verbose_name="role",
                    ),
                ),
                ("at", models.DateTimeField(verbose_name="at")),
            ],
        ),
        migrations.CreateModel(
            name="WaiverEnd",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("reason", models.TextField(verbose_name="reason")),
            ],
        ),
        migrations.AlterModelOptions(
            name="ledgerentry",
            options={"ordering": ["-seq"]},
        ),
        migrations.RemoveField(
            model_name="cluster",
            name="policy",
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="digest",
            field=models.CharField(default="", max_length=64, verbose_name="digest"),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="name",
            field=models.CharField(blank=True, max_length=150, verbose_name="name at the time"),
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="previous",
            field=models.CharField(default="", max_length=64, verbose_name="digest of the entry before"),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="seq",
            field=models.PositiveBigIntegerField(default=0, verbose_name="number"),
            preserve_default=False,
        ),
        migrations.RunPython(chain_old_entries, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="ledgerentry",
            constraint=models.UniqueConstraint(fields=("seq",), name="ledgerentry_seq_unique"),
        ),
        migrations.AddField(
            model_name="attestation",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="attestation",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="attestations", to="checks.cluster"
            ),
        ),
        migrations.AddField(
            model_name="attestation",
            name="node",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="attestations",
                to="checks.node",
            ),
        ),
        migrations.AddField(
            model_name="attestedfile",
            name="attestation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="files", to="checks.attestation"
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="delegations", to="checks.cluster"
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="giver",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="delegations_given",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="receiver",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="delegations_received",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="delegationend",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="delegationend",
            name="delegation",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="end", to="checks.delegation"
            ),
        ),
        migrations.AddField(
            model_name="override",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="overrideend",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="overrideend",
            name="override",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="end", to="checks.override"
            ),
        ),
        migrations.AddField(
            model_name="policyapproval",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="policies", to="checks.cluster"
            ),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="proposed_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="policyapproval",
            name="policy",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="approval", to="checks.policyversion"
            ),
        ),
        migrations.AddField(
            model_name="revocation",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="checks.cluster"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="override",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="overrides", to="checks.run"
            ),
        ),
        migrations.AddField(
            model_name="delegation",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="delegations",
                to="checks.run",
            ),
        ),
        migrations.AddField(
            model_name="attestation",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="attestations",
                to="checks.run",
            ),
        ),
        migrations.AddField(
            model_name="runnode",
            name="node",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.node"),
        ),
        migrations.AddField(
            model_name="runnode",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="pool_nodes", to="checks.run"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="pool",
            field=models.ManyToManyField(related_name="runs", through="checks.RunNode", to="checks.node"),
        ),
        migrations.AddField(
            model_name="runstart",
            name="by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="runstart",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="starts", to="checks.run"
            ),
        ),
        migrations.AddField(
            model_name="signature",
            name="delegation",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.delegation"
            ),
        ),
        migrations.AddField(
            model_name="signature",
            name="manifest",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.manifest"
            ),
        ),
        migrations.AddField(
            model_name="signature",
            name="signer",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="signatures", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="revocation",
            name="signature",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="revocation", to="checks.signature"
            ),
        ),
        migrations.AddField(
            model_name="pinnedevidence",
            name="signature",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="pinned", to="checks.signature"
            ),
        ),
        migrations.AddField(
            model_name="signoffpackage",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="packages", to="checks.run"
            ),
        ),
        migrations.AddField(
            model_name="signature",
            name="package",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="signatures", to="checks.signoffpackage"
            ),
        ),
        migrations.AddField(
            model_name="waiver",
            name="asked_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="waiver",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="waivers", to="checks.run"
            ),
        ),
        migrations.AddField(
            model_name="waiverapproval",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="waiverapproval",
            name="waiver",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="approval", to="checks.waiver"
            ),
        ),
        migrations.AddField(
            model_name="waiverend",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="waiverend",
            name="waiver",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="end", to="checks.waiver"
            ),
        ),
        migrations.AddConstraint(
            model_name="attestedfile",
            constraint=models.UniqueConstraint(fields=("attestation", "digest"), name="attestedfile_once"),
        ),
        migrations.AddConstraint(
            model_name="policyversion",
            constraint=models.UniqueConstraint(fields=("cluster", "number"), name="policyversion_number_unique"),
        ),
        migrations.AddConstraint(
            model_name="override",
            constraint=models.CheckConstraint(
                condition=models.Q(("until__gt", models.F("at"))), name="override_ends_after_its_start"
            ),
        ),
        migrations.AddConstraint(
            model_name="override",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["lead", "admin"])), name="override_by_lead_or_admin"
            ),
        ),
        migrations.AddConstraint(
            model_name="delegation",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="delegation_ends_after_its_start"
            ),
        ),
        migrations.AddConstraint(
            model_name="delegation",
            constraint=models.CheckConstraint(
                condition=models.Q(("giver", models.F("receiver")), _negated=True), name="delegation_to_another_person"
            ),
        ),
        migrations.AddConstraint(
            model_name="runnode",
            constraint=models.UniqueConstraint(fields=("run", "node"), name="runnode_once"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(fields=("slug",), name="run_slug_unique"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "stage__in",
                        ["draft", "checking", "rehearsing", "signoff", "cleared", "running", "finished", "aborted"],
                    )
                ),
                name="run_stage_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(condition=models.Q(("nodes_needed__gte", 1)), name="run_needs_a_node"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(condition=models.Q(("world_size__gte", 1)), name="run_has_a_process"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("planned_end__gt", models.F("planned_start"))), name="run_ends_after_its_start"
            ),
        ),
        migrations.AddConstraint(
            model_name="runstart",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["start", "restart", "replacement"])), name="runstart_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="signoffpackage",
            constraint=models.UniqueConstraint(fields=("run", "layer"), name="signoffpackage_once"),
        ),
        migrations.AddConstraint(
            model_name="signature",
            constraint=models.UniqueConstraint(
                fields=("package", "manifest", "round", "role"), name="signature_one_a_role"
            ),
        ),
        migrations.AddConstraint(
            model_name="signature",
            constraint=models.UniqueConstraint(
                fields=("package", "manifest", "round", "signer"), name="signature_one_a_person"
            ),
        ),
        migrations.AddConstraint(
            model_name="signature",
            constraint=models.CheckConstraint(
                condition=models.Q(("meaning__in", ["performed", "reviewed", "responsible"])),
                name="signature_meaning_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="signature",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["viewer", "hardware", "platform", "data", "lead", "admin"])),
                name="signature_role_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="waiver",
            constraint=models.CheckConstraint(
                condition=models.Q(("until__gt", models.F("asked_at"))), name="waiver_ends_after_it_was_asked"
            ),
        ),
        migrations.AddIndex(
            model_name="nodeitemstate",
            index=models.Index(
                condition=models.Q(
                    ("severity", "blocker"),
                    ("shadow", False),
                    models.Q(("settled", ""), models.Q(("pending", ""), _negated=True), _connector="OR"),
                    models.Q(("cadence", "start"), _negated=True),
                ),
                fields=["node"],
                name="nodeitemstate_unsettled",
            ),
        ),
        migrations.RunSQL((_SQL / "0006_append_only.sql").read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
