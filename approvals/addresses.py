"""Which addresses effects may go to: the form of a URL at registration, and every resolved address at connect time.

Pure. One flag of `ipaddress` is not enough: carrier-grade NAT, NAT64, 6to4 and multicast count as global there, and
`127.1` or circled digits are names that resolve to loopback. So a URL is written in one plain way, its host is a plain
name or a plain literal, and every address it resolves to is checked with what is embedded in it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

LONGEST_URL = 2000

#: Schemes under which nobody on the way can read along.
ENCRYPTED = frozenset({"https", "smtps", "smtp+tls"})
DEFAULT_PORTS = {"https": 443, "http": 80, "smtps": 465, "smtp+tls": 587, "smtp": 25}

#: On anything else, such as a user, a fragment, a backslash, a tab or another script, parsers differ.
_PLAIN = re.compile(r"[A-Za-z0-9._~:/?\[\]!$&'()*+,;=%-]+")
_SPLIT = re.compile(
    r"(?P<scheme>[a-z+]+)://(?:\[(?P<literal>[0-9a-f:.]+)\]|(?P<host>[^/?:\[\]]+))(?::(?P<port>[1-9][0-9]{0,4}))?(?:[/?].*)?"
)
_LABEL = r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)*{_LABEL}")
#: The last label of what a resolver may take for an IPv4 address, such as 127.1, 2130706433 or 0x7f.1.
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
#: Names that never lead to the public internet. A name without a dot does not either.
_INSIDE = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa", "onion")

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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads: scheme, host without brackets, port."""

    scheme: str
    host: str
    port: int


class Unacceptable(ValueError):
    """The address is not one that effects may go to; the text says why."""


# ---- the form of a URL -----------------------------------------------------------------------------------


def read_endpoint(url: str, schemes: Collection[str], *, allow_private: bool) -> Place:
    """The place that a URL names, judged by its form alone. Raises `Unacceptable`, saying what is wrong.

    With `allow_private`, unencrypted schemes and private addresses are accepted; what hides where it leads never is.
    """
    if len(url) > LONGEST_URL or not _PLAIN.fullmatch(url):
        raise Unacceptable("Write a plain URL: no user, no #, no blank or backslash, names of other scripts as xn--…")
    allowed = [scheme for scheme in schemes if allow_private or scheme in ENCRYPTED]
    if url.partition("://")[0] not in allowed:
        raise Unacceptable(f"It has to begin with {' or '.join(f'{scheme}://' for scheme in allowed)}.")
    parts = _SPLIT.fullmatch(url)
    if parts is None or int(parts["port"] or 1) > 65535:
        raise Unacceptable("Write the host in lower case and the port as a number, such as https://example.com:8443/.")
    host = parts["literal"] or parts["host"]
    _check_host(host, is_bracketed=parts["literal"] is not None, allow_private=allow_private)
    return Place(parts["scheme"], host, int(parts["port"] or DEFAULT_PORTS[parts["scheme"]]))


def _check_host(host: str, *, is_bracketed: bool, allow_private: bool) -> None:
    if not is_bracketed and not _NUMBER.fullmatch(host.rpartition(".")[2]):
        _check_name(host, allow_private=allow_private)
        return
    literal = literal_address(host)
    if literal is None or isinstance(literal, IPv6Address) != is_bracketed:
        raise Unacceptable("The host looks like an address and is none in its usual form.")
    if (because := reason_against(literal)) and not allow_private:
        raise Unacceptable(f"{host} is {because}.")


def _check_name(host: str, *, allow_private: bool) -> None:
    if not _NAME.fullmatch(host):
        raise Unacceptable("The host is no plain name: lower-case letters, digits and hyphens, no dot at its end.")
    is_inside = "." not in host or any(f".{host}".endswith(f".{name}") for name in _INSIDE)
    if is_inside and not allow_private:
        raise Unacceptable(f"{host} is a name of the inside.")


# ---- addresses that a host resolves to -------------------------------------------------------------------


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
