from pathlib import Path

from django.db import migrations

from runs.sql import guard

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        guard(SQL, "run_guard_v1"),
        guard(SQL, "ledger_guard_v1"),
        guard(SQL, "record_guards_v1"),
        guard(SQL, "authority_guards_v1"),
    ]
