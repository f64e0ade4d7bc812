"""Which addresses effects may go to: the form of a URL at registration, and every resolved address at connect time.

Pure. One flag of `ipaddress` is not enough: carrier-grade NAT, NAT64, 6to4 and multicast count as global
there, and `127.1` or circled digits are names that resolve to loopback. So a host is a plain name or a
plain literal, and every address it resolves to is checked with what is embedded in it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address

_SPECIAL_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
#: Only this part of IPv6 is given out to the public; the rest is special whatever it is called.
_PUBLIC_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
#: Where an IPv4 address is embedded in an IPv6 one, and how many bits stand to its right.
_EMBEDDED = ((IPv6Network("::ffff:0:0/96"), 0), (IPv6Network("64:ff9b::/96"), 0), (IPv6Network("2002::/16"), 80))

#: Schemes under which nobody on the way can read along.
ENCRYPTED = frozenset({"https", "smtps", "smtp+tls"})
DEFAULT_PORTS = {"https": 443, "http": 80, "smtps": 465, "smtp+tls": 587, "smtp": 25}

_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LOCAL_NAMES = re.compile(r"localhost|(?:[a-z0-9-]+\.)*(?:localhost|local|internal|home\.arpa|onion)")
_ALLOWED_CHARACTERS = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads: scheme, host in lower case, port."""

    scheme: str
    host: str
    port: int


class Unacceptable(ValueError):
    """The address is not one that effects may go to."""


def read_endpoint(url: str, schemes: Collection[str], *, allow_private: bool) -> Place:
    """The place that a URL names, judged by its form alone. Raises `Unacceptable`, saying what is wrong.

    With `allow_private`, unencrypted schemes and private addresses are accepted; what hides where it leads never is.
    """
    if not _ALLOWED_CHARACTERS.fullmatch(url) or "\\" in url:
        raise Unacceptable("a URL holds only printable ASCII, and no backslash")
    parts = urlsplit(url)
    allowed = [scheme for scheme in schemes if allow_private or scheme in ENCRYPTED]
    if parts.scheme not in allowed:
        raise Unacceptable(f"the address begins with {' or '.join(allowed)}")
    if "@" in parts.netloc:
        raise Unacceptable("a URL carries no user information")
    try:
        port = parts.port
    except ValueError as error:
        raise Unacceptable("the port is not a number") from error
    host = (parts.hostname or "").lower()
    _check_host(host, allow_private=allow_private)
    return Place(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])


def _check_host(host: str, *, allow_private: bool) -> None:
    literal = literal_address(host)
    if literal is not None:
        if (because := reason_against(literal)) and not allow_private:
            raise Unacceptable(f"{host} is {because}")
        return
    if allow_private and _LOCAL_NAMES.fullmatch(host):
        return
    if not _NAME.fullmatch(host):
        raise Unacceptable("the host is no plain DNS name: no trailing dot, no digits that resolve, no other script")
    if _LOCAL_NAMES.fullmatch(host):
        raise Unacceptable(f"{host} is a local name")


def literal_address(host: str) -> Address | None:
    """The address that a host spells out, where it is a plain literal."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def reason_against(address: Address) -> str | None:
    """Why an address is not on the public internet, in words; None when it is."""
    if isinstance(address, IPv4Address):
        network = next((net for net in _SPECIAL_V4 if address in net), None)
        return None if network is None else f"in the special range {network}"
    for network6, shift in _EMBEDDED:
        if address in network6:
            inner = IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
            return f"an IPv6 form of {inner}"
    if address not in _PUBLIC_V6:
        return f"outside the public range {_PUBLIC_V6}"
    special = next((net for net in _SPECIAL_V6 if address in net), None)
    return None if special is None else f"in the special range {special}"
