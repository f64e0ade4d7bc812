"""A request that belongs to no run keeps the references that were given with it."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("runs", "0007_runs_under_review")]

    operations: ClassVar = [
        migrations.AddField(
            "request",
            "evidence",
            ArrayField(models.TextField(), default=list, help_text="References that were given with it"),
        ),
    ]
