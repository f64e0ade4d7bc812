"""The suite's own guards."""

import socket

import psycopg
import pytest


def test_a_connection_to_another_machine_is_refused() -> None:
    with socket.socket() as unconnected, pytest.raises(RuntimeError, match="tests stay on this machine"):
        unconnected.connect(("192.0.2.1", 80))


def test_the_plain_connection_is_the_applications_on_the_test_database(app_connection: psycopg.Connection) -> None:
    found = app_connection.execute("SELECT current_user, current_database() LIKE 'test_clearance%'").fetchone()

    assert found == ("clearance_app", True)
