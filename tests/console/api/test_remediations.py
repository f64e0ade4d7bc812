"""`/remediations/`: what is left to do after a send that should not stand, and each step taken once."""

import pytest

from outbox.models import Remediation, RemediationStep
from outbox.remediations import remediation_ref
from tests import cast, review
from tests.console.api.caller import Caller, as_person, problem, told
from tests.outbox import settling

pytestmark = pytest.mark.django_db

NOTIFIED = {"id": "s-1", "step": "notified", "evidence": "mail of 10:12", "reason": "They were told."}
CLOSED = NOTIFIED | {"id": "s-2", "step": "closed"}


@pytest.fixture
def dora() -> Caller:
    """An admin; a refund was paid and its approval revoked afterwards."""
    effect = settling.succeed(review.refund_approved())
    review.revoke(review.bea(), review.approval_of(effect))
    return as_person(cast.dora())


def steps() -> str:
    return f"/remediations/{remediation_ref(Remediation.objects.get().pk)}/steps/"


def test_the_same_step_again_is_answered_as_a_repeat_and_taken_once(dora: Caller) -> None:
    first, second = dora.post(steps(), NOTIFIED), dora.post(steps(), NOTIFIED)

    assert told(second, 200) == told(first, 201)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert RemediationStep.objects.count() == 1


def test_the_id_of_a_step_stands_for_one_step(dora: Caller) -> None:
    told(dora.post(steps(), NOTIFIED), 201)

    problem(dora.post(steps(), CLOSED | {"id": "s-1"}), 422, "command-id-reused")


def test_a_remediation_that_is_done_takes_no_step_but_answers_its_repeats(dora: Caller) -> None:
    assert told(dora.post(steps(), CLOSED), 201)["state"] == "done"

    refused = problem(dora.post(steps(), NOTIFIED), 409, "already-decided")

    assert (refused["expected"], refused["actual"]) == ("open", "done")
    assert told(dora.post(steps(), CLOSED), 200)["state"] == "done"
