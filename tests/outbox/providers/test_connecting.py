"""Connecting: every address of a name is checked when it is connected to, and no exchange outlasts its time."""

import socket
from datetime import timedelta
from typing import Any

import httpcore
import pytest
from pytest_django import Settings

from outbox.providers.connecting import Deadline, Refused, resolve

PUBLIC = "93.184.216.34"


@pytest.fixture(autouse=True)
def only_public(settings: Settings) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Every name resolves to these."""

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "①②⑦.⓪.⓪.①",
        "::1",
        "::ffff:127.0.0.1",
    ],
)
def test_whatever_the_resolver_takes_for_this_machine_is_refused(host: str) -> None:
    with pytest.raises(httpcore.ConnectError):
        resolve(host, 443)


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
     "fec0::1", "ff02::1", "::ffff:169.254.169.254", "fe80::1%eth0"],
)  # fmt: skip
def test_one_address_of_the_inside_refuses_the_whole_name(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, PUBLIC, address)

    with pytest.raises(Refused):
        resolve("provider.example.com", 443)


def test_a_name_that_changed_its_answer_since_it_was_registered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, PUBLIC)
    before = resolve("provider.example.com", 443)
    resolving_to(monkeypatch, "127.0.0.1")

    with pytest.raises(Refused, match=r"127\.0\.0\.1"):
        resolve("provider.example.com", 443)

    assert before == [PUBLIC]


def test_each_public_address_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, PUBLIC, "1.1.1.1", PUBLIC)

    assert resolve("provider.example.com", 443) == [PUBLIC, "1.1.1.1"]


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".example", ".", "x..y"])
def test_what_does_not_resolve_is_a_failure_to_connect(host: str) -> None:
    with pytest.raises(httpcore.ConnectError):
        resolve(host, 443)


def test_a_step_gets_no_more_than_is_left_of_the_whole_time() -> None:
    deadline = Deadline(timedelta(seconds=60))

    assert deadline.left(5, TimeoutError) == 5
    assert 59 < deadline.left(None, TimeoutError) <= 60
    assert 59 < deadline.left(600, TimeoutError) <= 60


def test_nothing_is_left_once_the_time_is_over() -> None:
    with pytest.raises(TimeoutError):
        Deadline(timedelta(0)).left(5, TimeoutError)
