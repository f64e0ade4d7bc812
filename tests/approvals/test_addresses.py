"""Where effects may go: a corpus of addresses that parsers and resolvers read differently, and every special range."""

from ipaddress import ip_address

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.addresses import Place, Unacceptable, read_endpoint, reason_against

HTTP = ("https", "http")

ACCEPTED = {
    "https://payments.example.com/v1/refunds": Place("https", "payments.example.com", 443),
    "https://payments.example.com:8443/": Place("https", "payments.example.com", 8443),
    "https://payments.example.com": Place("https", "payments.example.com", 443),
    "https://payments.example.com?a=b": Place("https", "payments.example.com", 443),
    "https://xn--bcher-kva.example/": Place("https", "xn--bcher-kva.example", 443),
    "https://8.8.8.8/": Place("https", "8.8.8.8", 443),
    "https://[2606:4700::1111]/": Place("https", "2606:4700::1111", 443),
    "https://a.b_c.example/": Place("https", "a.b_c.example", 443),
}

REFUSED = [
    # loopback and other special addresses, in every spelling that a resolver understands
    "https://127.0.0.1/", "https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f000001/",
    "https://0x7f.1/", "https://0177.0.0.1/", "https://127.0.0.1./", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/",
    "https://0/", "https://0.0.0.0/", "https://10.0.0.1/", "https://100.64.0.1/", "https://169.254.169.254/",
    "https://172.16.0.1/", "https://192.168.0.1/", "https://198.18.0.1/", "https://224.0.0.1/", "https://255.255.255.255/",
    "https://[::1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:169.254.169.254]/",
    "https://[::127.0.0.1]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::]/",
    "https://[2001::1]/", "https://[2001:db8::1]/", "https://[fc00::1]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/",
    "https://[fec0::1]/", "https://[ff02::1]/", "https://[5f00::1]/", "https://[4000::1]/", "https://[::1",
    "https://::1/", "https://[127.0.0.1]/", "https://[]/", "https://1.2.3.4.5/", "https://256.1.1.1/",
    # names of the inside
    "https://localhost/", "https://api.localhost/", "https://payments/", "https://payments.internal/",
    "https://metadata.google.internal/", "https://printer.local/", "https://nas.home.arpa/",
    # what hides the host
    "https://user@payments.example.com/", "https://user:pass@payments.example.com/", "https://example.com@127.0.0.1/",
    "https://example.com\\@127.0.0.1/", "https://example.com\\.evil.example/", "https://exa\tmple.com/",
    "https://exam\nple.com/", " https://example.com/", "https://example.com /", "https://example.com%2f@evil.example/",
    "https://ex%61mple.com/", "https://example.com#@evil.example/", "https:///example.com/", "https:example.com/",
    "https://", "https://.example.com/", "https://example..com/", "https://-a.example.com/", "https://example.com./",
    "https://EXAMPLE.com/", "https://аpple.com/", "https://bücher.example/", "https://exa\u00admple.com/",
    "https://example\u2024com/", "https://example\u3002com/", "https://" + "a" * 64 + ".example.com/",
    "https://" + "a." * 130 + "example/", "https://example.com/" + "a" * 2000,
    # ports
    "https://example.com:/", "https://example.com:0/", "https://example.com:65536/", "https://example.com:080/",
    "https://example.com:80:80/", "https://example.com:+80/", "https://example.com:８０/",
    # schemes
    "http://payments.example.com/", "ftp://example.com/", "file:///etc/passwd", "//example.com/", "example.com",
    "HTTPS://example.com/", "javascript:alert(1)", "",
]  # fmt: skip


@pytest.mark.parametrize(("url", "endpoint"), ACCEPTED.items())
def test_a_public_host_in_its_usual_form_is_accepted_and_read_as_http_clients_read_it(
    url: str, endpoint: Place
) -> None:
    assert read_endpoint(url, HTTP, allow_private=False) == endpoint

    read = httpx.URL(url)
    assert (read.raw_host.decode(), read.port or 443) == (endpoint.host, endpoint.port)


@pytest.mark.parametrize("url", REFUSED)
def test_everything_else_is_refused(url: str) -> None:
    with pytest.raises(Unacceptable):
        read_endpoint(url, HTTP, allow_private=False)


@given(st.text(max_size=40))
def test_whatever_is_accepted_has_one_reading(text: str) -> None:
    url = f"https://{text}"
    try:
        endpoint = read_endpoint(url, HTTP, allow_private=False)
    except Unacceptable:
        return

    read = httpx.URL(url)
    assert (read.raw_host.decode(), read.port or 443, read.userinfo) == (endpoint.host, endpoint.port, b"")


PRIVATE = {
    "http://127.0.0.1:8901/deliver": Place("http", "127.0.0.1", 8901),
    "http://localhost:8901/deliver": Place("http", "localhost", 8901),
    "http://provider/deliver": Place("http", "provider", 80),
    "https://[::1]/": Place("https", "::1", 443),
    "https://10.0.0.1/": Place("https", "10.0.0.1", 443),
}


@pytest.mark.parametrize(("url", "endpoint"), PRIVATE.items())
def test_the_inside_is_acceptable_only_where_the_installation_says_so(url: str, endpoint: Place) -> None:
    assert read_endpoint(url, HTTP, allow_private=True) == endpoint
    with pytest.raises(Unacceptable):
        read_endpoint(url, HTTP, allow_private=False)


@pytest.mark.parametrize("url", ["http://127.1/", "http://2130706433/", "http://u@127.0.0.1/", "http://①②⑦.⓪.⓪.①/"])
def test_tricks_are_no_more_acceptable_on_the_inside(url: str) -> None:
    with pytest.raises(Unacceptable):
        read_endpoint(url, HTTP, allow_private=True)


def test_mail_goes_encrypted_unless_the_inside_is_allowed() -> None:
    schemes = ("smtps", "smtp+tls", "smtp")

    assert read_endpoint("smtps://mail.example.com", schemes, allow_private=False).port == 465
    assert read_endpoint("smtp+tls://mail.example.com/", schemes, allow_private=False).port == 587
    with pytest.raises(Unacceptable, match="smtps:// or smtp"):
        read_endpoint("smtp://mail.example.com", schemes, allow_private=False)
    assert read_endpoint("smtp://mail:1025", schemes, allow_private=True).port == 1025


# ---- addresses that a host resolved to ---------------------------------------------------------------------

SPECIAL = [
    "0.1.2.3", "10.255.0.1", "100.64.0.1", "100.127.255.255", "127.255.255.255", "169.254.169.254", "172.31.0.1",
    "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.255.255", "198.19.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.251", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::808:808",
    "100::1", "2001:0:808:808::1", "2001:20::1", "2001:db8::1", "2002:808:808::1", "3fff::1", "5f00::1", "fd00::1",
    "fe80::1", "fec0::1", "ff0e::1", "1::1", "8000::1",
]  # fmt: skip


@pytest.mark.parametrize("address", SPECIAL)
def test_no_special_address_is_connected_to(address: str) -> None:
    assert reason_against(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "9.255.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111"])
def test_public_addresses_are(address: str) -> None:
    assert reason_against(ip_address(address)) is None
