"""Web processes ask the worker for certificates: the key is where requests do not come in."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checks", "0017_incident_notices")]

    operations = [
        migrations.CreateModel(
            name="CertificateOrder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked_at", models.DateTimeField(verbose_name="asked")),
                ("text", models.TextField(blank=True, verbose_name="certificate")),
                ("problem", models.CharField(blank=True, max_length=300, verbose_name="why there is none")),
                (
                    "run",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="checks.run"),
                ),
            ],
            options={"indexes": [models.Index(fields=["asked_at"], name="certificateorder_asked")]},
        ),
    ]
