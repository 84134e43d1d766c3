from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checks", "0003_item_index"),
    ]

    operations = [
        migrations.AddField(
            model_name="nodereadiness",
            name="uniform",
            field=models.CharField(
                blank=True,
                db_default="",
                max_length=64,
                verbose_name="digest of what must be the same on all nodes; empty: not known",
            ),
        ),
    ]
