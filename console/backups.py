"""Backup and restore of the database with PostgreSQL's own programs.

A restore is one transaction of the owner: what the file holds, halt on, and a new ledger epoch. So no worker
ever sees the old world as if it were the present one.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import connections

from console import binaries, privileges
from console.management.commands.migrate import connected_as_owner
from outbox import quarantine
from runs.administration import By
from runs.models import Installation

_AFTER = """
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE public.runs_run DISABLE TRIGGER USER;
ALTER TABLE public.runs_ledgerentry DISABLE TRIGGER USER;
UPDATE public.runs_run SET feed_xid = '0';
UPDATE public.runs_ledgerentry SET feed_xid = '0';
ALTER TABLE public.runs_run ENABLE TRIGGER USER;
ALTER TABLE public.runs_ledgerentry ENABLE TRIGGER USER;
UPDATE public.runs_installation SET
    is_halted = true, halted_by = '{actor}', halted_at = clock_timestamp(), halt_reason = 'A backup was restored.',
    ledger_epoch = greatest(ledger_epoch, {ledger}) + 1, authority_epoch = greatest(authority_epoch, {authority}) + 1;
INSERT INTO public.runs_authoritychange (epoch, kind, subject, actor, reason, body, without_second_person)
SELECT authority_epoch, 'halt.on', 'installation', '{actor}', 'A backup was restored.', '{{}}', true
FROM public.runs_installation;
"""


class BackupFailed(Exception):
    """The program of PostgreSQL failed; its own words are the message."""


def back_up(target: str) -> None:
    """Write the whole database to a file that only its owner reads, or to standard output for `-`.

    Raises `BackupFailed`, `FileExistsError`.
    """
    command = [_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges"]
    if target == "-":
        _run(command, out=sys.stdout.buffer)
        return
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        try:
            _run(command, out=file)
        except BackupFailed:
            Path(target).unlink()
            raise


def restore(source: Path, by: By) -> int:
    """Put a backup back, halted, under a new ledger epoch, with every effect not at an end in quarantine.

    Returns how many effects were quarantined. Raises `BackupFailed`; then nothing has changed.
    """
    command = [_program("pg_restore"), "--clean", "--if-exists", "--no-owner", "--no-privileges", "--file=-"]
    script = subprocess.run([*command, str(source)], capture_output=True, check=False)
    if script.returncode:
        raise BackupFailed(script.stderr.decode(errors="replace").strip())
    ledger, authority = _highest_epochs()
    after = _AFTER.format(actor=by.actor.replace("'", "''"), ledger=ledger, authority=authority)
    psql = [_program("psql"), "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--file=-"]
    connections.close_all()
    _run(psql, given=script.stdout + after.encode())
    with connected_as_owner("default"):
        privileges.apply()
    count = quarantine.quarantine_all(by)
    quarantine.note_database()  # last: until all of it is done, the next claim finds that the database was put back
    return count


def _highest_epochs() -> tuple[int, int]:
    """The highest ledger epoch and authority epoch that anybody can have seen, here or outside the database."""
    file: Path = settings.CLEARANCE_HOME / quarantine.EPOCH_FILE
    noted = int(file.read_text(encoding="ascii")) if file.exists() else 1
    now = Installation.objects.filter(id=1).first()
    return (noted, 1) if now is None else (max(noted, now.ledger_epoch), now.authority_epoch)


def _program(name: str) -> str:
    return str(binaries.postgres_programs() / name)


def _run(command: list[str], *, given: bytes | None = None, out: IO[bytes] | None = None) -> None:
    """Run a program of PostgreSQL as the owner of the database."""
    done = subprocess.run(
        command,
        input=given,
        stdout=out or subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | _connection(),
        check=False,
    )
    if done.returncode:
        raise BackupFailed(done.stderr.decode(errors="replace").strip())


def _connection() -> dict[str, str]:
    """Where PostgreSQL's programs find the database. The password travels in the environment, never in arguments."""
    owner = settings.OWNER_DATABASE
    given = {
        "PGHOST": owner["HOST"] or owner["OPTIONS"].get("host", ""),
        "PGPORT": str(owner["PORT"]),
        "PGUSER": owner["USER"],
        "PGPASSWORD": owner["PASSWORD"],
        "PGDATABASE": connections["default"].settings_dict["NAME"],
    }
    return {name: value for name, value in given.items() if value}
