"""What came to the provider hashes to what was approved: the check at the end of every test that sends can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from outbox.dispatch import dispatch_due
from outbox.leases import claim
from outbox.models import Effect
from outbox.providers import ADAPTERS
from tests import review
from tests.sandbox import Sandbox, require_approved, running_sandbox

pytestmark = pytest.mark.django_db


def send(effect: Effect, **other: Any) -> None:
    """Send an effect with something else in the place of what was approved, as a careless worker would."""
    (held,) = claim("worker-1", only=effect.pk)
    ADAPTERS[held.adapter].send(held.target, replace(held.sending, **other))


def one_byte_changed(payload: bytes) -> bytes:
    return bytes([payload[0] ^ 1]) + payload[1:]


def one_space_more(payload: bytes) -> bytes:
    return payload + b" "


def nothing(payload: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("alter", [one_byte_changed, one_space_more, nothing])
def test_a_test_that_sends_one_other_byte_fails_at_its_end(alter: Callable[[bytes], bytes], keyed: bool) -> None:
    with pytest.raises(AssertionError, match="delivery 1 under .* was never approved"), running_sandbox() as provider:
        provider.register(dedupe=keyed, lookup=keyed)
        effect = review.refund_approved()
        send(effect, payload=alter(bytes(effect.snapshot.payload or b"")))


def test_a_test_that_sends_approved_bytes_under_the_key_of_another_effect_fails_at_its_end() -> None:
    with pytest.raises(AssertionError, match="under 'R-8:pay:v4' was never approved"), running_sandbox() as provider:
        provider.register()
        other = review.refund_approved("R-8")
        send(review.refund_approved("R-7"), idempotency_key=other.idempotency_key)


@pytest.mark.parametrize("keyed", [True, False])
def test_what_is_sent_as_it_was_approved_passes(provider: Sandbox, keyed: bool) -> None:
    provider.register(dedupe=keyed, lookup=keyed)
    for key in ("R-7", "R-8"):
        review.refund_approved(key)

    while dispatch_due("worker-1"):
        pass

    assert len(provider.ours) == 2
    require_approved(provider.ours)


def test_what_others_sent_is_not_held_against_us(provider: Sandbox) -> None:
    provider.register()
    effect = review.refund_approved()

    provider.applies_for_others(effect.idempotency_key, b"{}")

    assert (len(provider.deliveries), provider.ours) == (1, [])
