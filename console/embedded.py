"""The embedded PostgreSQL and Valkey: how each is set up, run and asked whether it is ready.

Starts nothing for good: it says what to run, and `console/supervisor.py` runs it. Owns these rules: the
database asks for passwords (scram) on a socket only, its pages carry checksums, and the broker refuses writes
rather than dropping messages.
"""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import redis
from psycopg import sql

from console.home import APP_ROLE, DATABASE, OWNER_ROLE, SUPERUSER, Home
from console.processes import Program, as_account


class EmbeddedFailure(Exception):
    """An embedded service cannot be set up; the text says what to do."""


# ---- PostgreSQL ----------------------------------------------------------------------------------------------


def prepare_postgres(home: Home, programs: Path) -> Program:
    """Make the cluster on the first start, and say how to run it. Raises `EmbeddedFailure`."""
    if not (home.postgres_data / "PG_VERSION").is_file():
        _initialise_cluster(home, programs)
    _refuse_other_version(home, programs)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": "../run" if home.sockets.parent == home.root else str(home.sockets),
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "timezone": "UTC",
        "log_timezone": "UTC",
    }
    if home.throwaway:
        options |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
    command = [str(programs / "postgres"), "-D", _data_argument(home)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    return Program("postgresql", command, home.postgres_data, home.account, stop_signal=signal.SIGINT)


def discard_stale_lock(home: Home) -> None:
    """Remove the lock file of a server that was killed.

    It names a process id, which after a restart of the machine or container may be another program's, and then
    PostgreSQL would not start. The caller knows that no process of this home is left.
    """
    (home.postgres_data / "postmaster.pid").unlink(missing_ok=True)


def postgres_is_ready(home: Home) -> bool:
    """Whether the database answers a query."""
    try:
        with psycopg.connect(home.database_url(SUPERUSER, "postgres"), connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def ensure_roles(home: Home, *, create_databases: bool = False) -> None:
    """Make the two roles and the database where missing; the owner may make databases for tests only."""
    with psycopg.connect(home.database_url(SUPERUSER, "postgres"), autocommit=True) as connection:
        for role in (OWNER_ROLE, APP_ROLE):
            verifier = connection.pgconn.encrypt_password(home.secrets[role].encode(), role.encode(), b"scram-sha-256")
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier.decode())),
            )
        if create_databases:
            connection.execute(sql.SQL("ALTER ROLE {} CREATEDB").format(sql.Identifier(OWNER_ROLE)))
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            names = {"database": sql.Identifier(DATABASE), "owner": sql.Identifier(OWNER_ROLE)}
            connection.execute(sql.SQL("CREATE DATABASE {database} OWNER {owner}").format(**names))


def _initialise_cluster(home: Home, programs: Path) -> None:
    """Run initdb beside the final place and rename, so that an interrupted one leaves no half cluster."""
    draft = home.root / "postgresql.draft"
    shutil.rmtree(draft, ignore_errors=True)
    home.make_folder(draft, 0o700, home.account)
    command = [str(programs / "initdb"), "-D", _data_argument(home, draft), "-U", SUPERUSER, "-E", "UTF8"]
    command += ["-A", "scram-sha-256", "--pwfile=../initdb.password", "--data-checksums", "--no-instructions"]
    command += ["--locale-provider=builtin", "--locale=C.UTF-8"] if _major(programs) >= 17 else ["--locale=C.UTF-8"]
    command += ["--no-sync"] if home.throwaway else []
    password = home.write_private("initdb.password", home.secrets[SUPERUSER], home.account)
    try:
        done = subprocess.run(
            command, cwd=draft, capture_output=True, text=True, check=False, **as_account(home.account)
        )
    finally:
        password.unlink()
    if done.returncode:
        raise EmbeddedFailure(f"initdb failed: {done.stderr.strip()}")
    draft.rename(home.postgres_data)


def _data_argument(home: Home, folder: Path | None = None) -> str:
    """How PostgreSQL is told its folder.

    The account root hands it to may not be able to walk to the folder (a 0700 home above it), but a process
    that starts in a folder needs no path to it.
    """
    if home.account and sys.platform == "linux":
        return "/proc/self/cwd"
    return str(folder or home.postgres_data)


def _major(programs: Path) -> int:
    shown = subprocess.run([str(programs / "postgres"), "--version"], capture_output=True, text=True, check=True)
    return int(shown.stdout.split()[2].split(".")[0])


def _refuse_other_version(home: Home, programs: Path) -> None:
    made_by = int((home.postgres_data / "PG_VERSION").read_text(encoding="ascii"))
    if made_by != (running := _major(programs)):
        raise EmbeddedFailure(
            f"{home.postgres_data} was made by PostgreSQL {made_by}, this is {running}. Restore a backup into a "
            f"new --home, or name the programs of PostgreSQL {made_by} in PG_BIN.",
        )


# ---- Valkey --------------------------------------------------------------------------------------------------


def prepare_valkey(home: Home, program: Path) -> Program:
    """Say how to run the broker. It keeps a log of its writes, and refuses new ones rather than dropping old."""
    config = {
        "port": "0",
        "unixsocket": "../run/valkey.sock" if home.sockets.parent == home.root else f"{home.sockets}/valkey.sock",
        "unixsocketperm": "700",
        "dir": ".",
        "appendonly": "no" if home.throwaway else "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "save": '""',
        "requirepass": home.secrets["valkey"],
    }
    # Through standard input, since a command line is for everybody to read.
    text = "".join(f"{name} {value}\n" for name, value in config.items())
    return Program("valkey", [str(program), "-"], home.valkey_data, home.account, stdin=text)


def valkey_is_ready(home: Home) -> bool:
    """Whether the broker answers PING (it does not while it loads its log)."""
    client = redis.Redis.from_url(home.redis_url(), socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
