"""Lists of effects read the index in the order in which they show it, with a filter and without."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("outbox", "0003_due_in_order")]

    operations: ClassVar = [
        migrations.RemoveIndex("effect", "outbox_effect_in_state"),
        migrations.RemoveIndex("effect", "outbox_effect_to"),
        migrations.AddIndex(
            "effect", models.Index(fields=["-authorized_at", "-operation_id"], name="outbox_effect_newest")
        ),
        migrations.AddIndex(
            "effect", models.Index(fields=["state", "-authorized_at", "-operation_id"], name="outbox_effect_in_state")
        ),
        migrations.AddIndex(
            "effect", models.Index(fields=["destination", "-authorized_at", "-operation_id"], name="outbox_effect_to")
        ),
    ]
