"""Two sweeps note whom to tell at the same moment: one row each."""

import pytest

from approvals import notices
from approvals.notices import note_new_reviews
from runs.models import Notification
from runs.preferences import Choice, choose
from tests import cast, review
from tests.races.pairs import race

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_sweeps_at_once_tell_nobody_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(cast.ben(), Choice("ben@example.com", by_email=True))
    snapshot = review.refund_ready_for_review()

    def sweep() -> None:
        note_new_reviews(with_slack=True)

    first, second = race(monkeypatch, sweep, sweep, seam=(notices, "note"))

    first.result()
    second.result()
    assert sorted(Notification.objects.values_list("snapshot", "channel")) == [(snapshot, "email"), (snapshot, "slack")]
