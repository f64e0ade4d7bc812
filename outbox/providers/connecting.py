"""Connecting to a provider: own resolution, every address checked, a total time limit.

A URL is judged again as when it was registered, and a name that resolves to a forbidden address is refused, whatever
it resolved to then. No proxies from the environment, no redirects, TLS verified against the name.
"""

import math
import socket
import ssl
import time
from collections.abc import Iterable
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import httpcore
from django.conf import settings

from approvals.addresses import Place, Unacceptable, reason_against
from approvals.destinations import read_place


class Refused(httpcore.ConnectError):
    """The URL or an address that its name resolves to is none that effects may go to. Nothing left."""


class TooLate(httpcore.ConnectError):
    """The time to begin was over, such as when this process was held up meanwhile. Nothing left."""


class Deadline:
    """The end of the time that a whole exchange may take, and of the time in which it may begin to send."""

    def __init__(self, limit: timedelta, start_before: float = math.inf) -> None:
        self._ends = time.monotonic() + limit.total_seconds()
        self._start_before = start_before

    def require_start(self, error: type[Exception]) -> None:
        """Raise `error` once the time to begin is over: whoever holds the lease next may be sending."""
        if time.monotonic() > self._start_before:
            raise error("the time to begin was over")

    def left(self, asked: float | None, error: type[Exception]) -> float:
        """The seconds an operation may take; raises `error` when there are none."""
        remaining = self._ends - time.monotonic()
        if remaining <= 0:
            raise error("the time for this attempt is over")
        return remaining if asked is None else min(asked, remaining)


class _Stream(httpcore.NetworkStream):
    """A network stream under a deadline, so that a provider that trickles cannot hold us."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline
        self._has_written = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._has_written:
            self._deadline.require_start(TooLate)
            self._has_written = True
        self._inner.write(buffer, self._deadline.left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    """Resolves by itself and connects only to an address that was checked."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in resolve(host, port):
            left = self._deadline.left(timeout, httpcore.ConnectTimeout)
            try:
                inner = super().connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(inner, self._deadline)
        raise failure or httpcore.ConnectError(f"{host} has no address")


def place_of(adapter: str, url: str) -> Place:
    """Where a URL leads, judged as when it was registered. Raises `Refused`."""
    try:
        return read_place(adapter, url)
    except Unacceptable as because:
        raise Refused(str(because)) from because


def resolve(host: str, port: int) -> list[str]:
    """Every address of a host, all of them checked. Raises `Refused` when any may not be connected to."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host} does not resolve") from error
    addresses = list(dict.fromkeys(str(item[4][0]).split("%")[0] for item in found))
    if not settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS:
        for address in addresses:
            if because := reason_against(ip_address(address)):
                raise Refused(f"{host} resolves to {address}, {because}")
    return addresses


def pool(deadline: Deadline) -> httpcore.ConnectionPool:
    """A pool for one exchange: fresh connection, verified TLS, all of it within `deadline`."""
    return httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(), retries=0, network_backend=_Backend(deadline)
    )
