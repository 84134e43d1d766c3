"""Incidents that began since the last look are found without reading all of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checks", "0016_incidents")]

    operations = [
        migrations.AddIndex(
            model_name="incidentevent",
            index=models.Index(fields=["cluster", "noted_at"], name="incidentevent_noted"),
        ),
    ]
