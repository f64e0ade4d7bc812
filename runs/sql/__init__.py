"""Database guards as plain SQL files. A shipped file is never edited: a change is a `_v2` and a migration."""

from pathlib import Path

from django.db.migrations import RunSQL


def guard(folder: str | Path, name: str) -> RunSQL:
    """The migration operation that installs `<name>.sql` of a folder and takes it back with `<name>_drop.sql`."""
    home = Path(folder)
    return RunSQL((home / f"{name}.sql").read_text(), (home / f"{name}_drop.sql").read_text())
