"""Every setting an operator can give, and where it is read from.

Imports the standard library only, so that it can be read before Django is set up. Owns one rule: a
`CLEARANCE_*` variable nobody declared here is an error, because a misspelt setting is a setting not made.
"""

import difflib
import os
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

PREFIX = "CLEARANCE_"

#: What `manage.py up` records in the home folder for the other commands: the services it started.
SERVICES_FILE = "services.env"


class UnknownSetting(Exception):
    """A variable with our prefix that is not a setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its variable, what holds when it is absent (or empty), and what it means."""

    name: str
    default: str
    meaning: str


SETTINGS = (
    Setting(
        "CLEARANCE_ENV",
        "development",
        "`development` or `production`. Production refuses embedded services, demo data and weak settings, and "
        "needs HTTPS.",
    ),
    Setting(
        "SECRET_KEY",
        "made by `up`",
        "Signs sessions and forms; at least 50 characters. Required in production.",
    ),
    Setting(
        "ALLOWED_HOSTS",
        "localhost",
        "Host names the console answers to, separated by commas. Required in production.",
    ),
    Setting(
        "CSRF_TRUSTED_ORIGINS",
        "none",
        "Origins (with `https://`) that may post forms, separated by commas; needed when a proxy changes the host.",
    ),
    Setting(
        "DATABASE_URL",
        "embedded",
        "The database, as the application's role: `postgres://clearance_app:…@host/clearance`. Set: used, nothing "
        "is started. PostgreSQL 15 or newer.",
    ),
    Setting(
        "DATABASE_OWNER_URL",
        "as DATABASE_URL",
        "The same database as its owner, for migrations only. Absent: one role does both, and the database cannot "
        "refuse the application what it must never do.",
    ),
    Setting(
        "REDIS_URL",
        "embedded",
        "The broker: `redis://`, `rediss://` or `unix:///path?db=0`. Set: used, nothing is started.",
    ),
    Setting(
        "CLEARANCE_HOME",
        "user data folder",
        "Where the embedded services keep data, secrets and sockets, and where the ledger epoch is noted.",
    ),
    Setting(
        "CLEARANCE_PORT",
        "8000",
        "Port of the console started by `up`.",
    ),
    Setting(
        "CLEARANCE_BIND",
        "127.0.0.1",
        "Address the console started by `up` listens on. Another one belongs behind a proxy that ends TLS.",
    ),
    Setting(
        "CLEARANCE_ALLOW_PRIVATE_DESTINATIONS",
        "off",
        "Lets effects go to private, loopback and other special addresses. On in the demo, for its sandbox provider.",
    ),
    Setting(
        "CLEARANCE_SWEEP_SECONDS",
        "5",
        "Seconds between two sweeps of the outbox. The sweep finds every due effect, also one whose message was lost.",
    ),
    Setting(
        "CLEARANCE_LIVE",
        "poll",
        "How screens stay current: `poll` or `sse`.",
    ),
    Setting(
        "CLEARANCE_ARTIFACT_STORAGE",
        "a folder of CLEARANCE_HOME",
        "Where artifacts above 1 MiB are kept: the dotted path of a Django storage class, such as "
        "`storages.backends.s3.S3Storage` of django-storages, which reads its own settings.",
    ),
    Setting(
        "CLEARANCE_TLS_PROXY",
        "off",
        "Trust `X-Forwarded-Proto` of the proxy in front, which must set it itself on every request. On whenever "
        "TLS ends at a proxy.",
    ),
    Setting(
        "CLEARANCE_METRICS_TOKEN",
        "none",
        "Bearer token for `/metrics`. In production without it `/metrics` is closed.",
    ),
    Setting(
        "CLEARANCE_URL",
        "http://127.0.0.1 and the port",
        "Where people reach the console, such as `https://clearance.example.com`: for the links in notifications.",
    ),
    Setting(
        "CLEARANCE_SLACK_WEBHOOK",
        "none",
        "Address of an incoming webhook of Slack; new cases and reviews are told there, without any value of a record.",
    ),
    Setting(
        "EMAIL_URL",
        "console",
        "Outgoing mail: `smtp+tls://user:password@host:587`. Absent: mail is written to the log.",
    ),
    Setting(
        "DEFAULT_FROM_EMAIL",
        "clearance@localhost",
        "Sender of mail.",
    ),
    Setting(
        "PG_BIN",
        "bundled",
        "Folder of PostgreSQL programs to use for the embedded database and for backups instead of the bundled ones.",
    ),
)


def refuse_unknown(names: Iterable[str]) -> None:
    """Raise `UnknownSetting` for the first variable with our prefix that is not declared, naming the nearest."""
    known = {setting.name for setting in SETTINGS}
    for name in sorted(names):
        if not name.startswith(PREFIX) or name in known:
            continue
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0)[0]
        raise UnknownSetting(f"{name} is not a setting of Clearance; the nearest is {nearest}.")


def default_home() -> Path:
    """The data folder when none is named: the system's for root, else the user's own."""
    if os.geteuid() == 0:
        return Path("/var/lib/clearance")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "clearance"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "clearance"


def home(environ: Mapping[str, str]) -> Path:
    """The data folder these variables name."""
    named = environ.get("CLEARANCE_HOME")
    return Path(named).expanduser().resolve() if named else default_home()


def parse_env_file(text: str) -> dict[str, str]:
    """Read `NAME=value` lines. Blank lines and `#` lines are skipped; one pair of quotes is taken off."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or name.startswith("#"):
            continue
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[name.strip()] = value
    return found


def load(environ: MutableMapping[str, str], dotenv: Path) -> frozenset[str]:
    """Complete `environ` from the `.env` file, then from what `up` recorded; what is set stays.

    Returns the names that came from the record. A setting that is set to nothing keeps the `.env` file from
    setting it, and is as if absent otherwise. The record is of no concern in production, and a database that
    is named by the environment is never mixed with the owner of another one. Raises `UnknownSetting`.
    """
    if dotenv.is_file():
        _complete(environ, parse_env_file(dotenv.read_text(encoding="utf-8")))
    refuse_unknown(environ)
    for setting in SETTINGS:
        if environ.get(setting.name) == "":
            del environ[setting.name]
    if environ.get("CLEARANCE_ENV") == "production":
        return frozenset()
    recorded = _recorded_services(home(environ))
    if "DATABASE_URL" in environ:
        recorded.pop("DATABASE_OWNER_URL", None)
    new = frozenset(recorded) - environ.keys()
    _complete(environ, recorded)
    return new


def _recorded_services(home: Path) -> dict[str, str]:
    try:
        return parse_env_file((home / SERVICES_FILE).read_text(encoding="utf-8"))
    except OSError:
        return {}


def _complete(environ: MutableMapping[str, str], more: Mapping[str, str]) -> None:
    for name, value in more.items():
        environ.setdefault(name, value)


def as_markdown() -> str:
    """The settings as the table of the operations manual."""
    rows = [f"| `{each.name}` | {each.default} | {each.meaning} |" for each in SETTINGS]
    return "\n".join(["| Variable | Default | Meaning |", "| --- | --- | --- |", *rows]) + "\n"


def as_example() -> str:
    """The settings as an `.env` file in which nothing is set yet."""
    entries = [f"# {each.meaning}\n# Default: {each.default}\n#{each.name}=\n" for each in SETTINGS]
    return "# Copy to .env and set what differs.\n\n" + "\n".join(entries)


def write_pages(project: Path) -> None:
    """Bring the page of settings and the example file up to date; a test compares them."""
    page = project / "docs" / "operations.md"
    text = page.read_text(encoding="utf-8").partition("| Variable |")[0]
    page.write_text(text + as_markdown(), encoding="utf-8")
    (project / ".env.example").write_text(as_example(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(__file__).resolve().parent.parent)
