"""The commands that do a worker's work once: what they do, what they say, and that a dry run does nothing."""

import subprocess
import sys
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command

from outbox.models import Attempt, Effect
from tests import review
from tests.outbox.providers.servers import Web, answer
from tests.outbox.settling import UNKNOWN, attempt, change, claimed
from tests.outbox.test_leases import now
from tests.sandbox import Sandbox

pytestmark = pytest.mark.django_db


def said(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_draining_sends_everything_that_is_due(provider: Sandbox) -> None:
    provider.register()
    for key in ("R-1", "R-2", "R-3"):
        review.refund_approved(key)
    change(review.effect_of("R-3"), next_at=now() + timedelta(hours=1))

    named = said("drain_outbox", "--dry-run")
    before = Attempt.objects.count()
    told, again = said("drain_outbox"), said("drain_outbox")

    assert (named, before) == ("R-1:pay:v4\nR-2:pay:v4\n2 due; nothing was sent.\n", 0)
    assert (told, again, len(provider.deliveries)) == ("2 attempted.\n", "0 attempted.\n", 2)
    assert list(Effect.objects.order_by("pk").values_list("state", flat=True)) == ["succeeded", "succeeded", "pending"]


def test_reconciling_closes_leases_and_asks() -> None:
    with Web(answer(200, b'{"found": true, "provider_request_id": "p-1"}')).on() as port:
        review.destination("payments", lookup_url=f"http://localhost:{port}/lookup")
        attempt(review.refund_approved("R-1"), UNKNOWN)
        effect = review.refund_approved("R-2")
        claimed(effect)
        effect.refresh_from_db()
        change(effect, lease_expires_at=now() - timedelta(seconds=1))

        named = said("reconcile", "--dry-run")
        before = set(Effect.objects.values_list("state", flat=True))
        told, again = said("reconcile"), said("reconcile")

    assert named == "close the lease of R-2:pay:v4\nask about R-1:pay:v4\nNothing was done.\n"
    assert before == {"dispatching"}
    assert (told, again) == (
        "1 leases closed, 2 outcomes asked about.\n", "0 leases closed, 0 outcomes asked about.\n",
    )  # fmt: skip
    assert set(Effect.objects.values_list("state", flat=True)) == {"succeeded"}


@pytest.mark.parametrize("command", ["drain_outbox", "reconcile", "verify"])
def test_without_its_database_a_command_says_so_in_one_line(command: str, process_environment: dict[str, str]) -> None:
    environment = process_environment | {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", command],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("CommandError: ") and "the database cannot be reached" in line.lower()
