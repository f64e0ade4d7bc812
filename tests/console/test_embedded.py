"""The embedded services, as real processes on throwaway folders."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from console import binaries, embedded
from console.home import APP_ROLE, DATABASE, OWNER_ROLE, SUPERUSER, Home, HomeUnusable
from console.processes import Program, kill_rest, spawn
from tests.processes import wait_until


def open_home(root: Path, *, throwaway: bool = True) -> Home:
    """A home for the account of this session."""
    return Home.open(root, account=binaries.service_account(create=False), throwaway=throwaway)


@contextmanager
def running(home: Home, program: Program) -> Iterator[int]:
    """A service that answers, by its process id; stopped in order at the end, if it still runs."""
    is_ready = embedded.postgres_is_ready if program.name == "postgresql" else embedded.valkey_is_ready
    with (home.logs / f"{program.name}.log").open("ab") as log:
        process = spawn(program, log)
    try:
        wait_until(lambda: is_ready(home), f"{program.name} ready")
        yield process.pid
    finally:
        process.send_signal(program.stop_signal)
        process.wait(30)
        kill_rest(process)


def postgres(home: Home) -> Program:
    return embedded.prepare_postgres(home, binaries.postgres_programs())


def valkey(home: Home) -> Program:
    return embedded.prepare_valkey(home, binaries.valkey_program())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets, and closed to other accounts."""
    with tempfile.TemporaryDirectory(prefix="clearance-") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Home]:
    """A home whose cluster is made and stopped."""
    with tempfile.TemporaryDirectory(prefix="clearance-") as made:
        home = open_home(Path(made) / "home", throwaway=False)
        with running(home, postgres(home)):
            embedded.ensure_roles(home)
        yield home


# ---- the home ------------------------------------------------------------------------------------------------


def test_data_and_secrets_are_private_and_the_folder_above_keeps_its_mode(folder: Path) -> None:
    above = folder / "above"
    above.mkdir(mode=0o700)

    home = open_home(above / "home")

    assert mode(above) == 0o700
    assert mode(home.root) == (0o711 if home.account else 0o700)
    assert {mode(folder) for folder in (home.logs, home.sockets, home.valkey_data)} == {0o700}
    assert mode(home.root / "secrets.json") == 0o600


def test_secrets_are_made_once_and_differ_between_homes(folder: Path) -> None:
    first = open_home(folder / "first")

    assert open_home(folder / "first").secrets == first.secrets
    assert not set(open_home(folder / "second").secrets.values()) & set(first.secrets.values())


def test_a_home_that_is_a_file_is_refused_with_what_to_do(folder: Path) -> None:
    (folder / "home").touch()

    with pytest.raises(HomeUnusable, match="Choose another --home"):
        open_home(folder / "home")


def test_a_deep_home_keeps_its_sockets_in_a_short_folder(folder: Path) -> None:
    home = open_home(folder / ("deep" * 25))

    with running(home, valkey(home)):
        assert len(os.fsencode(home.sockets)) < 80
        assert mode(home.sockets) == 0o700

    home.leave()

    assert not home.sockets.exists()


# ---- PostgreSQL ----------------------------------------------------------------------------------------------


def test_the_database_asks_for_passwords_and_checks_its_pages(cluster: Home) -> None:
    with running(cluster, postgres(cluster)):
        with psycopg.connect(cluster.database_url(SUPERUSER, "postgres")) as connection:
            methods = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
            checksums = connection.execute("SHOW data_checksums").fetchone()
            address = connection.execute("SHOW listen_addresses").fetchone()
        wrong = cluster.database_url(APP_ROLE).replace(cluster.secrets[APP_ROLE], "guessed")

        assert (methods, checksums, address) == ([("scram-sha-256",)], ("on",), ("",))
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)


def test_neither_role_is_more_than_it_has_to_be(cluster: Home) -> None:
    with running(cluster, postgres(cluster)), psycopg.connect(cluster.database_url(APP_ROLE)) as connection:
        powers = connection.execute(
            "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolbypassrls FROM pg_roles"
            " WHERE rolname IN (%s, %s) ORDER BY rolname",
            [APP_ROLE, OWNER_ROLE],
        ).fetchall()
        owner = connection.execute(
            "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s", [DATABASE]
        ).fetchone()

        assert powers == [(APP_ROLE, False, False, False, False), (OWNER_ROLE, False, False, False, False)]
        assert owner == (OWNER_ROLE,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE mine (id int)")


def test_rows_survive_a_killed_database(cluster: Home) -> None:
    with running(cluster, postgres(cluster)) as pid:
        with psycopg.connect(cluster.database_url(OWNER_ROLE)) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        os.kill(pid, 9)
    assert (cluster.postgres_data / "postmaster.pid").exists()

    with running(cluster, postgres(cluster)), psycopg.connect(cluster.database_url(OWNER_ROLE)) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_lock_file_that_names_another_living_program_is_no_obstacle(cluster: Home) -> None:
    (cluster.postgres_data / "postmaster.pid").write_text(f"{os.getpid()}\n{cluster.postgres_data}\n")

    embedded.discard_stale_lock(cluster)

    with running(cluster, postgres(cluster)):
        assert embedded.postgres_is_ready(cluster)


def test_an_interrupted_first_start_leaves_nothing_in_the_way(folder: Path) -> None:
    home = open_home(folder / "home")
    half_made = home.root / "postgresql.draft"
    (half_made / "base").mkdir(parents=True)

    with running(home, postgres(home)):
        embedded.ensure_roles(home)

    assert not half_made.exists()
    assert mode(home.postgres_data) == 0o700


def test_data_of_another_version_is_refused_with_what_to_do(cluster: Home) -> None:
    version = cluster.postgres_data / "PG_VERSION"
    found = version.read_text()
    version.write_text("12\n")

    try:
        with pytest.raises(embedded.EmbeddedFailure, match="made by PostgreSQL 12"):
            postgres(cluster)
    finally:
        version.write_text(found)


# ---- Valkey --------------------------------------------------------------------------------------------------


def test_messages_survive_a_killed_broker(folder: Path) -> None:
    home = open_home(folder / "home", throwaway=False)
    with running(home, valkey(home)) as pid:
        client = redis.Redis.from_url(home.redis_url())
        client.incr("counter")
        client.waitaof(1, 0, 5000)
        client.close()
        os.kill(pid, 9)

    with running(home, valkey(home)):
        client = redis.Redis.from_url(home.redis_url())
        assert client.get("counter") == b"1"
        client.close()


def test_the_broker_asks_for_a_password_and_drops_nothing(folder: Path) -> None:
    home = open_home(folder / "home")

    with running(home, valkey(home)):
        known = redis.Redis.from_url(home.redis_url())
        stranger = redis.Redis.from_url(f"unix://{home.sockets}/valkey.sock")

        assert known.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()
        known.close()
        stranger.close()


def test_no_password_is_on_a_command_line(folder: Path) -> None:
    home = open_home(folder / "home")

    arguments = " ".join(valkey(home).command)

    assert not [name for name, secret in home.secrets.items() if secret in arguments]


# ---- programs ------------------------------------------------------------------------------------------------


def test_a_named_folder_without_programs_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(folder))

    with pytest.raises(binaries.ProgramsMissing, match="no program postgres in it"):
        binaries.postgres_programs()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the services to another account")
def test_root_runs_a_copy_that_root_owns_and_the_other_account_can_read() -> None:
    programs = binaries.postgres_programs()

    assert programs.is_relative_to(binaries.SHARED_PROGRAMS)
    assert {path.stat().st_uid for path in programs.iterdir()} == {0}
    assert all(mode(path) & 0o022 == 0 and mode(path) & 0o004 for path in programs.rglob("*"))
