"""What every test may use: the session's services, and connections to its database in both roles."""

import os
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import psycopg
import pytest
from django.db import connection

from console import sending
from outbox import bell
from runs import authority, catalog
from tests import services
from tests.sandbox import Sandbox, running_sandbox
from tests.services import Services

_SERVICES = pytest.StashKey[Services]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the services, unless this is a parallel worker of a session that has them."""
    if not hasattr(session.config, "workerinput"):
        running = Services()
        running.start()
        session.config.stash[_SERVICES] = running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that is given the address of the test database needs that database."""
    for item in items:
        given = {"owner_dsn", "app_dsn"} & set(getattr(item, "fixturenames", ()))
        if given and not item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the services; this is called after an interrupt as well."""
    if running := config.stash.get(_SERVICES, None):
        running.stop()


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """After a rollback an epoch or a revision can be given twice, which no other database does."""
    authority.forget()
    catalog.forget()
    sending.forget()
    bell.forget()


@pytest.fixture(scope="session", autouse=True)
def only_this_machine() -> Iterator[None]:
    """Refuse every connection a test would make to another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] != "localhost" and not ip_address(address[0]).is_loopback:
            raise RuntimeError(f"A test connects to {address[0]}; tests stay on this machine.")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """The cluster is thrown away whole: dropping its databases first would only wait for whoever still looks at one."""
    return True


@pytest.fixture(scope="session")
def owner_dsn(django_db_setup: None) -> str:
    """The address of the test database, as its owner."""
    return _dsn("DATABASE_OWNER_URL")


@pytest.fixture(scope="session")
def app_dsn(django_db_setup: None) -> str:
    """The address of the test database, as the application."""
    return _dsn("DATABASE_URL")


@pytest.fixture
def app_connection(app_dsn: str) -> Iterator[psycopg.Connection]:
    """A plain connection as the application's role; sees committed rows only."""
    with psycopg.connect(app_dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def as_application(transactional_db: None, app_dsn: str) -> Iterator[None]:
    """Every connection of Django's during the test is the application's, as in a real process."""
    owner = {part: connection.settings_dict[part] for part in ("USER", "PASSWORD")}
    application = psycopg.conninfo.conninfo_to_dict(app_dsn)
    connection.close()
    connection.settings_dict.update(USER=application["user"], PASSWORD=application["password"])
    yield
    connection.close()
    connection.settings_dict.update(owner)


@pytest.fixture
def provider(db: None) -> Iterator[Sandbox]:
    """The sandbox provider, to be registered as a destination; at the end only approved bytes came to it."""
    with running_sandbox() as running:
        yield running


@pytest.fixture(scope="session")
def process_environment(owner_dsn: str, app_dsn: str) -> dict[str, str]:
    """The environment for a real process of ours on the test database, in the application's role."""
    addresses = {"DATABASE_URL": app_dsn, "DATABASE_OWNER_URL": owner_dsn}
    return os.environ | services.environment() | addresses | {"DJANGO_SETTINGS_MODULE": "console.settings"}


def _dsn(setting: str) -> str:
    base, query = os.environ[setting].split("?")
    return f"{base.rpartition('/')[0]}/{connection.settings_dict['NAME']}?{query}"
