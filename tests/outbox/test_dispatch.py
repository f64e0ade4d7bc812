"""Dispatch: claim, send outside any transaction, record, against the real sandbox provider."""

import threading
from collections.abc import Iterator

import pytest

from approvals import destinations
from console import sandbox
from outbox.dispatch import dispatch_due
from outbox.models import Attempt, Effect
from outbox.reconcile import reconcile
from runs.models import LedgerEntry
from tests import cast
from tests.outbox.test_authorization import approve, refund_ready_for_review

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider() -> Iterator[sandbox.Provider]:
    server = sandbox.serve(0, None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    terms = destinations.Terms(
        adapter="sandbox",
        url=f"{base}/deliver",
        lookup_url=f"{base}/lookup",
        recognises_repeats=True,
        key_retention_seconds=86400,
    )
    destinations.register_destination("payments", terms, cast.SETUP)
    yield server.RequestHandlerClass.provider  # type: ignore[attr-defined]  # set by `serve`
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_accepted_effect_is_sent_once_with_the_approved_bytes(provider: sandbox.Provider) -> None:
    approve(cast.ben(), refund_ready_for_review(), 3)

    sent = dispatch_due("worker-1")
    again = dispatch_due("worker-1")

    effect = Effect.objects.get()
    assert (sent, again) == (1, 0)
    assert effect.state == "succeeded"
    assert cast.reading("R-7").state.status == "sent"
    assert [f"sha256:{item.body_sha256}" for item in provider.deliveries] == [effect.payload_sha256]
    assert Attempt.objects.get().provider_request_id == "sandbox-1"
    kinds = list(LedgerEntry.objects.order_by("seq").values_list("kind", "version"))
    assert kinds[-3:] == [("effect.claimed", 5), ("attempt.recorded", 5), ("effect.settled", 6)]


def test_a_lost_answer_is_found_by_looking_it_up(provider: sandbox.Provider) -> None:
    approve(cast.ben(), refund_ready_for_review(), 3)
    provider.control.mode = "apply-then-drop"

    dispatch_due("worker-1")
    waiting = Effect.objects.get()
    passed = reconcile()

    effect = Effect.objects.get()
    assert (waiting.state, waiting.next_step, waiting.may_have_left) == ("dispatching", "look-up", True)
    assert passed.asked == 1
    assert effect.state == "succeeded"
    assert len(provider.deliveries) == 1
