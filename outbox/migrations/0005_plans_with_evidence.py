"""A plan of repairs keeps the references that it rests on, and hands them to every repair it orders."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("outbox", "0004_lists_in_order")]

    operations: ClassVar = [
        migrations.AddField("repairplan", "evidence", ArrayField(models.TextField(), default=list)),
    ]
