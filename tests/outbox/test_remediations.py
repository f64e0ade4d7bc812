"""Remediations: open tasks after a send that should not stand, step by step, asking the provider once."""

from typing import Any

import pytest

from outbox.models import Effect, Remediation, RemediationStep
from outbox.remediations import RemediationStepKind as Step
from outbox.remediations import StepRequest, get_remediation, remediation_ref, take_step
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    CommandIdReused,
    Forbidden,
    InvalidTransition,
    NotFound,
)
from runs.models import LedgerEntry
from runs.values import Principal
from tests import cast, review
from tests.outbox.providers.servers import CUT, Web, answer
from tests.outbox.settling import succeed
from tests.review import REFUND, cashier

pytestmark = pytest.mark.django_db


def opened(**terms: Any) -> str:
    """The task that opens when the approval of something sent is revoked; gives its id."""
    if terms:
        review.destination("payments", **terms)
    effect = succeed(review.refund_approved())
    ref: str = review.revoke(cast.ben(), review.approval_of(effect)).answer["remediation"]
    return ref


def step(ref: str, kind: Step, who: Principal | None = None, **other: Any) -> bool:
    given: dict[str, Any] = {"id": review.number("m"), "step": kind, "evidence": "mail 17", "reason": "It has to be."}
    return take_step(who or cast.dora(), ref, StepRequest(**given | other))


def test_revoking_what_was_sent_opens_one_with_its_entry_and_the_run_stays_sent() -> None:
    ref = opened()

    row = Remediation.objects.get()
    assert (remediation_ref(row.pk), row.state, row.opened_by) == (ref, "open", "user:ben")
    assert "It was for another customer." in row.because
    assert LedgerEntry.objects.order_by("-seq")[0].kind == "remediation.opened"
    assert (cast.reading(REFUND).state.status, Effect.objects.get().state) == ("sent", "succeeded")


def test_steps_are_kept_in_order_until_the_last_one_closes_it() -> None:
    ref = opened()

    for kind in (Step.NOTIFIED, Step.CORRECTED, Step.COMPENSATED, Step.CLOSED):
        step(ref, kind)

    row = Remediation.objects.get()
    assert (row.state, row.done_at is not None) == ("done", True)
    assert list(RemediationStep.objects.order_by("id").values_list("step", flat=True)) == [
        "notified", "corrected", "compensated", "closed",
    ]  # fmt: skip
    assert LedgerEntry.objects.order_by("-seq")[0].kind == "remediation.done"
    with pytest.raises(AlreadyDecided):
        step(ref, Step.NOTIFIED)


@pytest.mark.parametrize(
    ("told", "words"),
    [(answer(200), "cancelled"), (answer(409), "too late"), (answer(500), "cannot tell"), (CUT, "cannot tell")],
)
def test_the_provider_is_asked_to_cancel_and_what_it_said_is_kept(told: bytes, words: str) -> None:
    web = Web(told)
    with web.on() as port:
        ref = opened(cancel_url=f"http://localhost:{port}/cancel")

        step(ref, Step.PROVIDER_CANCEL)

    assert web.requests[0][2] == b'{"key": "R-7:pay:v4"}'
    assert RemediationStep.objects.get().evidence.startswith(f"mail 17 (provider: {words}")


def test_the_same_step_again_asks_nobody_and_is_taken_once() -> None:
    web = Web(answer(200))
    with web.on() as port:
        ref = opened(cancel_url=f"http://localhost:{port}/cancel")

        taken = [step(ref, Step.PROVIDER_CANCEL, id="m-1") for _ in range(2)]

    assert taken == [False, True]
    assert (len(web.requests), RemediationStep.objects.count()) == (1, 1)
    with pytest.raises(CommandIdReused):
        step(ref, Step.NOTIFIED, id="m-1")


def test_a_provider_that_declares_no_cancel_is_not_asked() -> None:
    ref = opened()

    with pytest.raises(InvalidTransition, match="declares no way to cancel"):
        step(ref, Step.PROVIDER_CANCEL)

    assert not RemediationStep.objects.exists()


def test_only_admins_take_steps() -> None:
    ref = opened()

    for who, error in ((cast.ada(), Forbidden), (cast.ben(), Forbidden), (cast.eli(), Forbidden),
                       (cast.cy(), NotFound), (cashier(), AgentsCannotDecide)):  # fmt: skip
        with pytest.raises(error):
            step(ref, Step.NOTIFIED, who)


@pytest.mark.parametrize("ref", ["", "rm-", "rm-1", "d-" + "0" * 32, "rm-" + "0" * 32])
def test_what_is_no_remediation_is_not_found(ref: str) -> None:
    with pytest.raises(NotFound):
        get_remediation(cast.dora(), ref)
