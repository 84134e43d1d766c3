"""Room on each page of the latest verdicts for a second version of every row, and acts of one kind found at once.

A report updates most rows of a node in one transaction, and they lie side by side: at a fillfactor of 70 one update in
eleven found its page full and had to touch every index (``python -m benchmarks ingest``).
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checks", "0010_costs")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE checks_nodeitemstate SET (fillfactor = 45)",
            "ALTER TABLE checks_nodeitemstate SET (fillfactor = 70)",
        ),
        migrations.AddIndex(
            model_name="ledgerentry",
            index=models.Index(fields=["cluster", "what"], name="ledgerentry_cluster_what"),
        ),
    ]
