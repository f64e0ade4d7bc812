"""What is due is read in its order from the index, however much is waiting."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("outbox", "0002_guards")]

    operations: ClassVar = [
        migrations.RemoveIndex("effect", "outbox_effect_due"),
        migrations.AddIndex(
            "effect",
            models.Index(
                fields=["next_at", "operation_id"],
                condition=models.Q(("lease_owner", None), ("next_at__isnull", False)),
                name="outbox_effect_due",
            ),
        ),
    ]
