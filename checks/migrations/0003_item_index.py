from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checks", "0002_partitions"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="nodeitemstate",
            index=models.Index(fields=["item", "node"], name="nodeitemstate_item"),
        ),
    ]
