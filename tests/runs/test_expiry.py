"""Ending runs by their time limit."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runs import authority
from runs.administration import store_policy
from runs.expiry import expire_due_runs
from runs.models import Installation, LedgerEntry
from tests import cast

pytestmark = pytest.mark.django_db


def let_runs_expire_after(seconds: int, slug: str = "refund") -> None:
    """A policy under which a run of this age is over."""
    before = authority.policy_of(slug)
    store_policy(slug, replace(before, run_expires_after=seconds, version=before.version + 1), cast.SETUP)
    Installation.objects.update(authority_epoch=authority.current_epoch() + 1)


def test_a_run_whose_time_is_over_is_ended_by_the_clock() -> None:
    cast.run_working("R-42")
    let_runs_expire_after(0)

    ended = expire_due_runs()

    run = cast.reading("R-42")
    assert ended == 1
    assert (run.state.status, run.version) == ("expired", 3)
    last = LedgerEntry.objects.order_by("seq").last()
    assert last is not None and (last.kind, last.actor) == ("run.expired", "system:clock")


def test_a_run_that_still_has_time_or_has_ended_is_left_alone() -> None:
    cast.run_working("R-42")
    cast.run_cancelled("R-43")
    let_runs_expire_after(int(timedelta(days=1).total_seconds()))

    assert expire_due_runs() == 0

    assert cast.reading("R-42").state.status == "working"
