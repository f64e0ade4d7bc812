from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

from runs.sql import guard

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0005_ledger_by_time"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="notification",
            name="runs_notification_once",
        ),
        migrations.AddField(
            model_name="notification",
            name="run",
            field=models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.run"
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="snapshot",
            field=models.CharField(blank=True, help_text="The one of `run` to be reviewed", max_length=200, null=True),
        ),
        migrations.AlterField(
            model_name="notification",
            name="escalation",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="notifications",
                to="runs.escalation",
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.UniqueConstraint(
                fields=("escalation", "snapshot", "channel", "person"),
                name="runs_notification_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("escalation__isnull", False), ("run", None), ("snapshot", None)),
                    models.Q(("escalation", None), ("run__isnull", False), ("snapshot__isnull", False)),
                    _connector="OR",
                ),
                name="runs_notification_one_subject",
            ),
        ),
        guard(SQL, "notification_guard_v2"),
    ]
