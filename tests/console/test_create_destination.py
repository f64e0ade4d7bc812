"""`manage.py create_destination`: registered at once, by revision, and only where effects may go."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from approvals.destinations import newest_revision
from approvals.models import DestinationRevision
from console import command_line

pytestmark = pytest.mark.django_db

URL = "--url=https://pay.example.com/v1"


@pytest.fixture(autouse=True)
def only_public(settings: Settings) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("create_destination", *arguments, stdout=out)
    return out.getvalue().strip()


def payments() -> DestinationRevision:
    row = newest_revision("payments")
    assert row is not None
    return row


def test_a_destination_is_registered_with_its_defaults_and_marked() -> None:
    assert run("payments", "--adapter=http", URL) == "payments revision 1"

    row = payments()
    assert (row.url, row.recognises_repeats, row.settle_after_seconds, row.max_in_flight) == (
        "https://pay.example.com/v1", False, 600, 4,
    )  # fmt: skip
    assert (row.actor, row.without_second_person) == (command_line.actor(), True)


def test_every_option_has_its_column() -> None:
    run(
        "payments", "--adapter=http", URL, "--lookup-url=https://pay.example.com/look", "--idempotency-key=on",
        "--cancel-url=https://pay.example.com/cancel", "--key-retention=24h", "--matches-payload=on",
        "--settle-after=5m", "--unavailable-means-throttled=on", "--max-in-flight=9", "--signing-secret-env=PAY_SECRET",
    )  # fmt: skip

    row = payments()
    assert (row.lookup_url, row.cancel_url) == ("https://pay.example.com/look", "https://pay.example.com/cancel")
    assert (row.recognises_repeats, row.compares_payloads, row.unavailable_means_throttled) == (True, True, True)
    assert (row.key_retention_seconds, row.settle_after_seconds, row.max_in_flight) == (86400, 300, 9)
    assert row.signing_secret_env == "PAY_SECRET"


def test_the_same_again_changes_nothing_and_other_values_are_a_new_revision() -> None:
    run("payments", "--adapter=http", URL, "--idempotency-key=on", "--key-retention=24h")

    again = run("payments", "--adapter=http", URL, "--idempotency-key=on", "--key-retention=24h")
    assert again == "payments revision 1, unchanged"

    assert run("payments", "--adapter=http", "--url=https://pay.example.com/v2") == "payments revision 2"
    assert payments().recognises_repeats


@pytest.mark.parametrize(
    "arguments",
    [
        ("payments", "--adapter=http", "--url=http://pay.example.com/"),
        ("payments", "--adapter=http", "--url=https://127.1/"),
        ("payments", "--adapter=pigeon", URL),
        ("payments", "--adapter=http"),
        ("Pay ments", "--adapter=http", URL),
        ("payments", "--adapter=http", URL, "--idempotency-key=maybe"),
        ("payments", "--adapter=http", URL, "--settle-after=soon"),
        ("payments", "--adapter=http", URL, "--max-in-flight=0"),
    ],
)
def test_what_is_not_acceptable_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*arguments)
    assert not DestinationRevision.objects.exists()


def test_trying_it_out_registers_nothing() -> None:
    printed = run("payments", "--adapter=http", URL, "--dry-run")

    assert printed == "Would register payments. Without a second person: effects may go to https://pay.example.com/v1."
    assert not DestinationRevision.objects.exists()
