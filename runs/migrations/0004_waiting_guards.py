from pathlib import Path

from django.db import migrations

from runs.sql import guard

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_waiting_steps")]

    operations = [guard(SQL, "waiting_guards_v1")]
