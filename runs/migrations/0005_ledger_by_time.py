from pathlib import Path

from django.db import migrations

from runs.sql import guard

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("runs", "0004_waiting_guards")]

    operations = [guard(SQL, "ledger_by_time_v1")]
