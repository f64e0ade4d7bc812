"""The data folder of one installation: its parts, its secrets, and the addresses of what runs in it.

Owns these rules: data is 0700 and secrets are 0600, and no mode of a folder above the home is ever changed.
"""

import hashlib
import json
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from console.binaries import Account
from console.environment import SERVICES_FILE

DATABASE = "clearance"
OWNER_ROLE = "clearance_owner"
APP_ROLE = "clearance_app"
SUPERUSER = "postgres"

#: A socket's path may have 107 bytes on Linux and 103 on macOS.
LONGEST_SOCKET_PATH = 100


class HomeUnusable(Exception):
    """The data folder cannot be used; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Home:
    """The data folder of one installation and what lies in it."""

    root: Path
    account: Account | None
    #: Trade durability for speed; for throwaway services only.
    throwaway: bool = False
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, root: Path, *, account: Account | None, throwaway: bool = False) -> "Home":
        """Make the folders and secrets that are missing. Raises `HomeUnusable`."""
        home = cls(root, account, throwaway)
        # The services' account has to pass through, and only through.
        home.make_folder(root, 0o711 if account else 0o700, None)
        home.make_folder(home.logs, 0o700, None)
        home.make_folder(home.valkey_data, 0o700, account)
        home.make_folder(home.sockets, 0o700, account)
        home.secrets.update(home._lasting_secrets())
        return home

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def postgres_data(self) -> Path:
        return self.root / "postgresql"

    @property
    def valkey_data(self) -> Path:
        return self.root / "valkey"

    @property
    def sockets(self) -> Path:
        """The folder of the sockets: `run` in the home, or a short one when that path is too long for a socket."""
        inside = self.root / "run"
        if len(os.fsencode(inside / ".s.PGSQL.5432.lock")) <= LONGEST_SOCKET_PATH:
            return inside
        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        runtime = os.environ.get("XDG_RUNTIME_DIR") if self.account is None else None
        return Path(runtime or tempfile.gettempdir()) / f"clearance-{mark}"

    def leave(self) -> None:
        """Remove what a stopped installation needs no more: a socket folder outside the home, if it is empty."""
        if self.sockets.parent != self.root:
            with suppress(OSError):
                self.sockets.rmdir()

    def database_url(self, role: str, database: str = DATABASE) -> str:
        """The address of a database for one of our roles."""
        password = quote(self.secrets[role], safe="")
        return f"postgres://{role}:{password}@/{database}?host={quote(str(self.sockets))}"

    def redis_url(self) -> str:
        """The address of the broker."""
        return f"unix://:{self.secrets['valkey']}@{quote(str(self.sockets))}/valkey.sock?db=0"

    def record_services(self, urls: dict[str, str]) -> None:
        """Note for other commands on this machine where the services are."""
        text = "# Written by `manage.py up`; read by the other commands.\n"
        text += "".join(f"{name}={value}\n" for name, value in urls.items())
        self.write_private(SERVICES_FILE, text)

    def write_private(self, name: str, text: str, owner: Account | None = None) -> Path:
        """Replace a file of the home whole; nobody but its owner can read it at any moment."""
        draft = self.root / f"{name}.draft"
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            if owner:
                os.chown(file.fileno(), owner.uid, owner.gid)
        return draft.rename(self.root / name)

    def make_folder(self, path: Path, mode: int, owner: Account | None) -> None:
        """Make a folder of ours, or take over the one that is there. Raises `HomeUnusable`."""
        try:
            path.mkdir(mode=0o700, parents=path == self.root)
        except FileExistsError:
            found = path.lstat()
            expected = owner.uid if owner else os.geteuid()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (expected, os.geteuid()):
                raise HomeUnusable(f"{path} is not a folder of this account. Choose another --home.") from None
        except OSError as error:
            raise HomeUnusable(f"{path} cannot be made ({error.strerror}). Choose another --home.") from None
        if owner:
            os.chown(path, owner.uid, owner.gid)
        path.chmod(mode)

    def _lasting_secrets(self) -> dict[str, str]:
        """Passwords and the signing key of this home: made once, kept 0600."""
        try:
            kept: dict[str, str] = json.loads((self.root / "secrets.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            kept = {}
        names = (SUPERUSER, OWNER_ROLE, APP_ROLE, "valkey", "secret_key")
        made = {name: secrets.token_urlsafe(48) for name in names if name not in kept}
        if made:
            kept |= made
            self.write_private("secrets.json", json.dumps(kept, indent=1) + "\n")
        return kept
