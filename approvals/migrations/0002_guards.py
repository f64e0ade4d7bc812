from pathlib import Path

from django.db import migrations

from runs.sql import guard

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_initial"), ("runs", "0002_guards")]

    operations = [guard(SQL, "review_guards_v1")]
