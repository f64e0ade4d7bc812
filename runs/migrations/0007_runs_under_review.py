from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_review_notifications")]

    operations = [
        migrations.AddIndex(
            "run",
            models.Index(fields=["workflow"], condition=Q(active_snapshot__isnull=False), name="runs_run_under_review"),
        ),
    ]
