"""Addresses that hide where they lead: refused at every door where one is registered, and again when connecting."""

import socket
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from approvals.destinations import Terms
from approvals.models import DestinationRevision
from outbox.dispatch import dispatch_due
from outbox.models import Attempt
from outbox.providers import ADAPTERS
from outbox.providers.base import Known, Result, Target
from outbox.states import Answer, Outcome
from outbox.targets import target_of
from runs.models import WaitingStep
from tests import cast, review
from tests.console.api.caller import Response, as_person, problem
from tests.console.web.visitor import visit
from tests.outbox.providers.test_http import SENDING
from tests.outbox.providers.test_smtp import SENDING as MAIL

pytestmark = pytest.mark.django_db

PUBLIC, SECOND = "93.184.216.34", "1.1.1.1"

#: What no installation accepts, also where private destinations are allowed.
TRICKS = {
    "short loopback": "http://127.1/",
    "loopback as one number": "http://2130706433",
    "loopback in hexadecimal": "http://0x7f000001/",
    "loopback in octal": "http://0177.0.0.1/",
    "circled digits": "http://①②⑦.⓪.⓪.①",
    "ideographic dots": "https://127。0。0。1/",
    "a user": "https://user@pay.example.com/",
    "a host as the user": "https://pay.example.com@127.0.0.1/",
    "a password": "https://user:word@pay.example.com/",
    "a backslash": "https://pay.example.com\\@127.0.0.1/",
    "a tab": "https://pay.exa\tmple.com/",
    "a line feed": "https://pay.exa\nmple.com/",
    "a trailing dot": "https://pay.example.com./",
    "an address with a trailing dot": "https://127.0.0.1./",
    "a look-alike": "https://рay.example.com/",
    "a name of another script": "https://bücher.example/",
    "a soft hyphen": "https://pay.exa\u00admple.com/",
    "percent signs": "https://p%61y.example.com/",
    "a fragment": "https://pay.example.com#@127.0.0.1/",
    "a zone": "https://[fe80::1%25eth0]/",
}
#: What is refused unless private destinations are allowed.
INSIDE = {
    "no encryption": "http://pay.example.com/",
    "loopback": "https://127.0.0.1/",
    "its name": "https://localhost/",
    "the metadata service": "https://169.254.169.254/latest/",
    "a private address": "https://10.0.0.1/",
    "a shared address": "https://100.64.0.1/",
    "loopback of version 6": "https://[::1]/",
    "mapped": "https://[::ffff:169.254.169.254]/",
    "mapped in hexadecimal": "https://[::ffff:a9fe:a9fe]/",
    "compatible": "https://[::127.0.0.1]/",
    "through NAT64": "https://[64:ff9b::a9fe:a9fe]/",
    "through local NAT64": "https://[64:ff9b:1::a9fe:a9fe]/",
    "through 6to4": "https://[2002:7f00:1::]/",
    "through Teredo": "https://[2001:0:7f00:1::]/",
    "unique local": "https://[fd00::1]/",
    "a name of the inside": "https://metadata.google.internal/",
}
CORPUS = pytest.mark.parametrize("url", [*TRICKS.values(), *INSIDE.values()], ids=[*TRICKS, *INSIDE])


@pytest.fixture(autouse=True)
def only_public(settings: Settings) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every connection that was begun; none succeeds."""
    begun: list[tuple[str, int]] = []

    def create_connection(address: tuple[str, int], *_: Any, **__: Any) -> socket.socket:
        begun.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", create_connection)
    return begun


# ---- where one is registered -------------------------------------------------------------------------------


def refused(answer: Response, url: str, member: str) -> None:
    """A password is told by its shape wherever it stands, before anybody asks where the address leads."""
    refusal = problem(answer, 422, "secret-in-body" if url == TRICKS["a password"] else "invalid-params")
    assert [error["pointer"] for error in refusal["errors"]] == [f"/{member}"]


def over_the_api(url: str, member: str) -> None:
    body = {
        "id": "d-1",
        "reason": "They pay.",
        "name": "payments",
        "adapter": "http",
        "url": "https://pay.example.com/",
    }
    refused(as_person(cast.dora()).post("/destinations/", body | {member: url}), url, member)


def as_a_change_over_the_api(url: str, member: str) -> None:
    review.destination("payments", adapter="http")
    body = {"id": "d-1", "reason": "They moved.", member: url}
    refused(as_person(cast.dora()).patch("/destinations/payments/", body), url, member)


def in_the_console(url: str, member: str) -> None:
    dora, path = visit(cast.dora()), "/destinations/+new/"
    drawn = dora.get("/destinations/").form(path)
    typed = {"name": "payments", "url": "https://pay.example.com/", "reason": "They pay."}
    assert dora.post(path, drawn | typed | {member: url}).status == 422


def on_the_command_line(url: str, member: str) -> None:
    options = {"--url": "https://pay.example.com/", f"--{member.replace('_', '-')}": url}
    given = [f"{name}={value}" for name, value in options.items()]
    with pytest.raises(CommandError):
        call_command("create_destination", "payments", "--adapter=http", *given, stdout=StringIO())


DOORS = [over_the_api, as_a_change_over_the_api, in_the_console, on_the_command_line]


@CORPUS
@pytest.mark.parametrize("door", DOORS)
def test_it_is_refused_at_every_door(url: str, door: Callable[[str, str], None]) -> None:
    before = DestinationRevision.objects.count()
    for member in ("url", "lookup_url", "cancel_url"):
        door(url, member)

    assert DestinationRevision.objects.count() <= before + 1  # the one that was to be changed
    assert not DestinationRevision.objects.filter(url=url).exists()
    assert not WaitingStep.objects.exists()


@pytest.mark.parametrize("url", TRICKS.values(), ids=TRICKS)
def test_a_trick_is_refused_also_where_private_destinations_are_allowed(url: str, settings: Settings) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = True

    over_the_api(url, "url")


# ---- when connecting ---------------------------------------------------------------------------------------


def stored(url: str, **columns: Any) -> DestinationRevision:
    """A destination as it may stand in the database since the rules were others."""
    terms = Terms("http", url).as_columns() | columns
    return DestinationRevision.objects.create(name="payments", revision=1, actor="cli:tests", reason="", **terms)


@CORPUS
def test_nothing_is_sent_to_one_that_is_stored(url: str, connected: list[tuple[str, int]]) -> None:
    stored(url)
    effect = review.refund_approved()

    assert dispatch_due("worker-1") == 1

    attempt = Attempt.objects.get(effect=effect)
    assert (attempt.outcome, attempt.detail.partition(":")[0], connected) == ("never-left", "Refused", [])


@CORPUS
def test_nobody_is_asked_there_either(url: str, connected: list[tuple[str, int]]) -> None:
    target = target_of(stored("https://pay.example.com/", lookup_url=url, cancel_url=url))
    second = timedelta(seconds=1)

    answers = [ADAPTERS["http"].look_up(target, "k", second), ADAPTERS["http"].cancel(target, "k", second)]

    assert [known.answer for known in answers] == [Answer.CANNOT_TELL] * 2
    assert connected == []


@pytest.mark.parametrize("scheme", ["smtps", "smtp+tls"])
@pytest.mark.parametrize("host", ["127.1", "user@mail.example.com", "mail.example.com.", "[::ffff:127.0.0.1]", "mail"])
def test_no_mail_goes_there(scheme: str, host: str, connected: list[tuple[str, int]]) -> None:
    target = target_of(stored(f"{scheme}://{host}", adapter="smtp"))

    assert (ADAPTERS["smtp"].send(target, MAIL).outcome, connected) == (Outcome.NEVER_LEFT, [])


# ---- a resolver that changes its answer --------------------------------------------------------------------


class Resolver:
    """Answers each question about a name with the next of its answers, and then always with the last."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers, self.asked = list(answers), 0

    def __call__(self, host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        addresses = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


def exchanged(target: Target) -> list[Result | Known]:
    """All that the adapter may do with a provider."""
    http, second = ADAPTERS["http"], timedelta(seconds=1)
    return [http.send(target, SENDING), http.look_up(target, "k", second), http.cancel(target, "k", second)]


@pytest.fixture
def target() -> Target:
    url = "https://pay.example.com/v1"
    return target_of(stored(url, lookup_url=url, cancel_url=url))


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(
    target: Target, connected: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver((PUBLIC, SECOND), ("127.0.0.1",))
    monkeypatch.setattr(socket, "getaddrinfo", resolver)

    result = ADAPTERS["http"].send(target, SENDING)

    assert (result.outcome, resolver.asked) == (Outcome.NEVER_LEFT, 1)
    assert connected == [(PUBLIC, 443), (SECOND, 443)]


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
)
def test_a_name_that_leads_to_the_inside_by_now_is_not_connected_to(
    target: Target, address: str, connected: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Resolver((PUBLIC, address)))

    told = exchanged(target)

    assert connected == []
    assert all(address in each.detail for each in told)
