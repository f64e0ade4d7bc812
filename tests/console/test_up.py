"""`manage.py up`, whole: real processes on folders and ports of their own."""

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import psycopg
import pytest
from django.conf import settings

from console.environment import SETTINGS, parse_env_file
from tests.processes import is_alive, wait_until

pytestmark = pytest.mark.timeout(180)

#: The first start makes a cluster and runs every migration, beside whatever else the machine does.
START_SECONDS = 50


class Up:
    """A running `manage.py up` with what it says."""

    def __init__(self, home: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.port = _free_port()
        self.said = home.parent / f"said-{self.port}"
        with self.said.open("w") as output:
            self.process = subprocess.Popen(
                [*manage("up", "--home", str(home), "--port", str(self.port)), *options],
                cwd=settings.BASE_DIR,
                env=environment or bare_environment(),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    @property
    def output(self) -> str:
        return self.said.read_text()

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it has said this so often."""

        def seen() -> bool:
            assert self.process.poll() is None or self.output.count(text) >= times, self.output
            return self.output.count(text) >= times

        wait_until(seen, f"{text!r} in the output", START_SECONDS)

    def pid(self, part: str) -> int:
        """The process of a part, as last said."""
        return int(re.findall(rf"^{part}: starting \(process (\d+)\)", self.output, re.M)[-1])

    def environment(self) -> dict[str, str]:
        """What another command on this machine needs to reach the installation."""
        return bare_environment() | {"CLEARANCE_HOME": str(self.home), "CLEARANCE_PORT": str(self.port)}

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


def bare_environment() -> dict[str, str]:
    """The environment of somebody who has set nothing, whatever this session has set."""
    ours = {
        "DJANGO_SETTINGS_MODULE",
        "DJANGO_ALLOW_ASYNC_UNSAFE",
        *(name for name in os.environ if name.startswith("TEST_")),
    }
    return {name: value for name, value in os.environ.items() if name not in ours} | {
        setting.name: "" for setting in SETTINGS
    }


def processes_of(home: Path) -> set[int]:
    """Every process that lives in a home or was told of it."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = f"CLEARANCE_HOME={home}\0".encode() in (entry / "environ").read_bytes()
            lives = (entry / "cwd").resolve().is_relative_to(home)
        except OSError:
            continue
        if (told or lives) and is_alive(int(entry.name)):
            found.add(int(entry.name))
    return found


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """An installation that runs, for the tests that leave it running."""
    with Up(tmp_path_factory.mktemp("up") / "home") as started:
        started.wait_for("Clearance is running at")
        yield started


def test_it_says_where_everything_is(up: Up) -> None:
    for expected in (f"http://127.0.0.1:{up.port}", str(up.home), str(up.home / "logs"), "backup", "Ctrl-C"):
        assert expected in up.output


def test_the_console_answers_with_its_policy_and_without_a_secret_in_its_files(up: Up) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{up.port}/accounts/login/", timeout=10) as answer:
        policy = answer.headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    secrets = json.loads((up.home / "secrets.json").read_text()).values()
    logs = "".join(file.read_text(errors="replace") for file in (up.home / "logs").glob("*.log"))
    assert not [secret for secret in secrets if secret in logs + up.output]


def test_the_sweep_passes_so_that_the_installation_says_it_is_ready(up: Up) -> None:
    def is_ready() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{up.port}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False

    wait_until(is_ready, "a ready installation", START_SECONDS)


def test_a_second_up_says_where_the_first_is(up: Up) -> None:
    second = subprocess.run(
        manage("up", "--home", str(up.home), "--port", str(_free_port())),
        cwd=settings.BASE_DIR,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (second.returncode, second.stdout) == (0, f"Already running at http://127.0.0.1:{up.port}\n")


def test_other_commands_find_the_installation_and_the_doctor_finds_nothing(up: Up) -> None:
    doctor = subprocess.run(
        manage("doctor"), cwd=settings.BASE_DIR, env=up.environment(), capture_output=True, text=True, check=False
    )

    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "PostgreSQL" in doctor.stdout
    assert f"worker clearance@{up.port}: answers" in doctor.stdout


def test_a_killed_web_and_a_killed_database_come_back_with_their_data(up: Up) -> None:
    owner = parse_env_file((up.home / "services.env").read_text())["DATABASE_OWNER_URL"]
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS answer")
    before = {name: up.output.count(f"{name}: ready") for name in ("web", "postgresql")}

    os.kill(up.pid("web"), signal.SIGKILL)
    os.kill(up.pid("postgresql"), signal.SIGKILL)

    for name, times in before.items():
        up.wait_for(f"{name}: ready", times + 1)
    with psycopg.connect(owner) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_killed_up_leaves_nothing_and_the_next_one_has_the_data(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Up(home, "--only", "beat") as first:
        first.wait_for("Running.")
        assert "migrating" in first.output
        first.process.kill()

    with Up(home, "--only", "beat") as second:
        second.wait_for("Running.")
        left = {first.pid(part) for part in ("postgresql", "valkey", "beat")} & processes_of(home)
        code = second.stop()

    assert not left
    assert "migrating" not in second.output
    stopped = [line.split(":")[0] for line in second.output.splitlines() if "stopped" in line]
    assert (code, stopped) == (0, ["beat", "postgresql", "valkey"])
    assert not processes_of(home)
    assert not list(Path(tempfile.gettempdir()).glob(f"clearance-{hashlib.sha256(bytes(home)).hexdigest()[:12]}"))


def test_given_services_are_used_and_none_are_started(tmp_path: Path, process_environment: dict[str, str]) -> None:
    environment = process_environment | {"CLEARANCE_HOME": ""}

    with Up(tmp_path / "home", "--only", "web", environment=environment) as given:
        given.wait_for("web: ready")
        code = given.stop()

    assert code == 0
    assert "postgresql" not in given.output
    assert not (tmp_path / "home" / "postgresql").exists()


def test_production_starts_nothing_of_its_own(tmp_path: Path) -> None:
    environment = bare_environment() | {"CLEARANCE_ENV": "production", "SECRET_KEY": "k" * 50, "ALLOWED_HOSTS": "x"}

    refused = subprocess.run(
        manage("up", "--home", str(tmp_path / "home")),
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert refused.returncode == 1
    assert "set DATABASE_URL and REDIS_URL" in refused.stderr
    assert not (tmp_path / "home").exists()


def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = subprocess.run(
            manage("up", "--home", str(tmp_path / "home"), "--port", str(port)),
            cwd=settings.BASE_DIR,
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    assert refused.returncode == 1
    assert f"Port {port} cannot be used" in refused.stderr
    assert not (tmp_path / "home" / "postgresql").exists()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
