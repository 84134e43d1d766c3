"""A new cluster is asked about its nodes' training environment unless somebody says that there is none on them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checks", "0011_room_and_acts")]

    operations = [
        migrations.AlterField(
            model_name="cluster",
            name="training_env",
            field=models.CharField(default="host", max_length=16, verbose_name="training environment"),
        ),
    ]
