from pathlib import Path

from django.db import migrations

from runs.sql import guard

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("outbox", "0005_plans_with_evidence")]

    operations = [guard(SQL, "effect_guard_v2")]
