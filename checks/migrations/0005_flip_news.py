"""What changed lately, by cluster: an index of the flips that are news, which a first pass of anything is not."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("checks", "0004_readiness_uniform")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX flip_news ON checks_flip (cluster_id, at) "
            "WHERE raw <> raw_before AND NOT (raw IN ('pass', 'na') AND settled_before = '')",
            "DROP INDEX flip_news",
        )
    ]
