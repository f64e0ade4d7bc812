"""Connecting to a provider: own resolution, every address checked, a total time limit.

A name that resolves to a forbidden address is refused at connect time, whatever it resolved to when it was
registered. No proxies from the environment, no redirects, TLS verified against the name.
"""

import socket
import ssl
import time
from collections.abc import Iterable
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import httpcore
from django.conf import settings

from approvals.addresses import reason_against


class Refused(httpcore.ConnectError):
    """The name resolves to an address that effects may not go to. Nothing left."""


class Deadline:
    """The end of the time that a whole exchange may take."""

    def __init__(self, limit: timedelta) -> None:
        self._ends = time.monotonic() + limit.total_seconds()

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

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
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


def pool(limit: timedelta) -> httpcore.ConnectionPool:
    """A pool for one exchange: fresh connection, verified TLS, at most `limit` in all."""
    return httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(), retries=0, network_backend=_Backend(Deadline(limit))
    )
