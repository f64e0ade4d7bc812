"""What is checked after every drill is seen to fail: for ledgers that differ, and for work left halfway."""

import pytest

from console.drills.agreement import Theirs
from console.drills.checking import wrong
from outbox.models import Effect
from tests import review
from tests.outbox.settling import ACCEPTED, attempt, claimed

pytestmark = pytest.mark.django_db


def sent() -> Effect:
    return attempt(review.refund_approved("R-1"), ACCEPTED)


def request_for(effect: Effect) -> Theirs:
    return Theirs(effect.idempotency_key, effect.payload_sha256, applied=True)


def test_what_was_sent_once_and_recorded_is_not_wrong() -> None:
    effect = sent()

    assert not list(wrong([effect.pk], [request_for(effect)]))


def test_what_never_reached_the_provider_is_wrong() -> None:
    effect = sent()

    assert list(wrong([effect.pk], [])) == [f"{effect.pk} is called succeeded and never happened"]


def test_what_was_sent_more_often_than_was_tried_is_wrong() -> None:
    effect = sent()

    found = list(wrong([effect.pk], [request_for(effect)] * 2))

    assert found == [f"{effect.pk} was sent 2 times in 1 attempts", f"{effect.pk} happened 2 times"]


def test_what_is_left_halfway_is_wrong() -> None:
    effect = review.refund_approved("R-1")
    claimed(effect)

    assert list(wrong([effect.pk], [])) == [f"{effect.pk} is left halfway"]
