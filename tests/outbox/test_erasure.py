"""Erasure: what goes, what stays, when nothing may go, and how everything that shows content says that it is gone."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import DatabaseError
from pytest_django import Settings

from approvals import blobs
from approvals.models import Artifact, Content, Snapshot
from console.management.commands.verify import CHECKS
from outbox import erasure, tasks
from outbox.errors import EffectInFlight
from outbox.models import Attempt, Effect
from runs import actions, cases, store
from runs import erasure as runs_erasure
from runs.administration import By
from runs.errors import ClearanceError, EscalationOpen, InvalidTransition, NotFound
from runs.models import Command, Conflict, LedgerEntry
from runs.outcomes import Outcome
from runs.transactions import constraint_of
from runs.values import CommandRequest
from runs.verify.checks import frozen_view
from runs.verify_chain import verify_chain
from tests import cast, review
from tests.outbox import settling
from tests.review import REFUND, REPORT
from tests.sync import Actor, stopped_after, wait_until_blocked

pytestmark = pytest.mark.django_db

BY = By("cli:mara", "the customer asked for it")


def violations() -> tuple[list[str], Counter[str]]:
    """What does not hold of everything that is stored, and what was looked at."""
    seen: Counter[str] = Counter()
    return [str(found) for check in CHECKS for found in check.find(seen)], seen


def report_sent(key: str = REPORT) -> Effect:
    """A report that went out, from two artifacts."""
    return settling.succeed(review.report_approved(key))


def refund_sent(amount: str = "25.00") -> Effect:
    """A refund that went out."""
    return settling.succeed(review.refund_approved(amount=amount))


def told(key: str) -> dict[str, Any]:
    """The body of the newest entry of a ledger, which has to tell an erasure."""
    entry = LedgerEntry.objects.filter(run__key=key).order_by("-seq")[0]
    assert entry.kind == "content.erased" and entry.body is not None
    body: dict[str, Any] = json.loads(bytes(entry.body))
    return body


# ---- what goes, and what stays -------------------------------------------------------------------------------


def test_everything_of_a_run_goes_and_one_entry_tells_by_whom_why_and_how_much() -> None:
    effect = settling.attempt(review.report_approved(), replace(settling.ACCEPTED, response=b"thank you"))
    before = cast.reading(REPORT)
    entries = LedgerEntry.objects.count()

    done = erasure.erase_run(REPORT, BY)

    assert done.counts == {
        "payloads": 1, "artifacts": 2, "responses": 1, "ledger bodies": entries, "answers": 5,
    }  # fmt: skip
    assert Snapshot.objects.get().payload is None
    assert Attempt.objects.get().response is None
    assert set(Content.objects.values_list("body", flat=True)) == {None}
    assert not LedgerEntry.objects.exclude(kind="content.erased").filter(body__isnull=False).exists()
    body = told(REPORT)
    assert (body["erased"], body["reason"]) == (dict(done.counts), BY.reason)
    assert LedgerEntry.objects.order_by("-seq")[0].actor == BY.actor
    run = cast.reading(REPORT)
    assert (run.version, run.state, run.head_seq) == (before.version, before.state, before.head_seq + 1)
    assert Effect.objects.get().payload_sha256 == effect.payload_sha256


def test_the_chain_holds_and_verify_counts_what_was_erased() -> None:
    report_sent()
    entries = LedgerEntry.objects.count()

    erasure.erase_run(REPORT, BY)

    report = verify_chain(cast.reading(REPORT))
    assert (report.fault, report.erased) == (None, entries)
    broken, seen = violations()
    assert (broken, seen["erased bodies"]) == ([], entries)


def test_erasing_again_changes_nothing_and_tells_nothing() -> None:
    report_sent()
    erasure.erase_run(REPORT, BY)
    head = cast.reading(REPORT).head_seq

    again = erasure.erase_run(REPORT, BY)

    assert (again.counts, cast.reading(REPORT).head_seq) == ({}, head)


def test_a_plan_says_what_would_go_and_changes_nothing() -> None:
    report_sent()
    head = cast.reading(REPORT).head_seq

    planned = erasure.plan_run(REPORT)

    assert cast.reading(REPORT).head_seq == head
    assert planned == erasure.erase_run(REPORT, BY)


def test_a_conflict_keeps_what_became_of_it_and_loses_what_it_was_about() -> None:
    cast.run_working()
    cast.command(cast.agent().principal, "R-42", "assign", on=1, assigned_owner="noor", id_="c-ok")
    cast.command(cast.ada(), "R-42", "set-category", on=1, category="damage", id_="c-stale")
    cast.command(cast.ada(), "R-42", "cancel")
    kept = Conflict.objects.get(command_id="c-stale")

    erasure.erase_run("R-42", BY)

    row = Conflict.objects.get(pk=kept.pk)
    shown = cases.tell_both_sides(row)
    assert (shown["base"], shown["proposal"], shown["erased"], shown["changed_fields"]) == (None, None, True, [])
    assert shown["disposition"] == kept.disposition
    assert "damage" not in row.problem


# ---- when nothing may go -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bring", "key", "refusal"),
    [
        (cast.run_received, "R-42", InvalidTransition),
        (cast.run_working, "R-42", InvalidTransition),
        (review.refund_ready_for_review, REFUND, InvalidTransition),
        (review.refund_approved, REFUND, InvalidTransition),
    ],
)
def test_nothing_of_a_run_that_is_at_work_is_erased(bring: Any, key: str, refusal: type[ClearanceError]) -> None:
    bring()
    head = cast.reading(key).head_seq

    with pytest.raises(refusal):
        erasure.erase_run(key, BY)

    assert cast.reading(key).head_seq == head


def test_a_run_that_nobody_made_is_not_found() -> None:
    with pytest.raises(NotFound):
        erasure.erase_run("R-404", BY)


def recall_frozen() -> str:
    """A refund that went out, and its recall under review; gives the snapshot."""
    effect = refund_sent()
    review.destination("payments-recall", url="https://provider.example.com/recall")
    snapshot: str = review.freeze(review.cashier(), REFUND, "recall", of=effect.pk).answer["snapshot"]
    return snapshot


def test_nothing_is_erased_while_a_compensation_is_under_review() -> None:
    snapshot = recall_frozen()

    with pytest.raises(InvalidTransition, match=snapshot):
        erasure.erase_run(REFUND, BY)


def test_nothing_is_erased_while_a_compensation_is_open_and_the_database_refuses_it_too() -> None:
    review.approve(cast.ben(), recall_frozen())
    cast.policy(retention={"payload": 0})
    assert review.effect_of().compensates and cast.reading(REFUND).state.status == "sent"

    with pytest.raises(EffectInFlight):
        erasure.erase_run(REFUND, BY)
    due = erasure.erase_due()
    with pytest.raises(DatabaseError) as refusal:
        Snapshot.objects.update(payload=None)

    assert due == []
    assert constraint_of(refusal.value) == "outbox_payload_in_use"


def test_nothing_is_erased_while_a_case_of_the_run_is_open() -> None:
    review.refund_working()
    cast.command(cast.ada(), REFUND, "assign", assigned_owner="mara")
    cast.command(cast.agent("late").principal, REFUND, "assign", on=2, assigned_owner="noor")
    review.approve(cast.ben(), review.freeze(review.cashier(), REFUND, "pay").answer["snapshot"])
    settling.succeed(review.effect_of())

    with pytest.raises(EscalationOpen):
        erasure.erase_run(REFUND, BY)


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        (lambda: Snapshot.objects.update(payload=None), "approvals_payload_in_use"),
        (
            lambda: Command.objects.filter(state="committed").update(answer='{"erased":true}'),
            "runs_command_state_legal",
        ),
    ],
)
def test_the_database_itself_erases_nothing_of_a_run_at_work(statement: Any, rule: str) -> None:
    review.refund_ready_for_review()

    with pytest.raises(DatabaseError) as refusal:
        statement()

    assert constraint_of(refusal.value) == rule


@pytest.mark.parametrize(
    "answer", ['{"erased":true,"version":99}', '{"version":3}', '{"erased":true', '{"erased":false}']
)
def test_an_answer_can_lose_values_and_gain_nothing(answer: str) -> None:
    refund_sent()

    with pytest.raises(DatabaseError) as refusal:
        Command.objects.filter(state="committed").update(answer=answer)

    assert constraint_of(refusal.value) == "runs_command_state_legal"


# ---- terms ---------------------------------------------------------------------------------------------------


def test_only_kinds_past_their_term_go_and_the_others_wait() -> None:
    report_sent()
    cast.policy("report", retention={"payload": 0, "artifact": 3600, "ledger": 3600})

    done = erasure.erase_due()

    assert [(each.run, dict(each.counts)) for each in done] == [(REPORT, {"payloads": 1})]
    assert told(REPORT)["kinds"] == ["payload"]
    assert Content.objects.filter(body__isnull=False).count() == 2
    assert erasure.erase_due() == []


def test_a_kind_without_a_term_is_kept() -> None:
    report_sent()
    cast.policy("report", retention={})

    assert (erasure.plan_due(), erasure.erase_due()) == ([], [])


def test_the_daily_task_erases_what_is_due_and_leaves_runs_at_work_alone() -> None:
    refund_sent()
    review.report_ready_for_review()
    for slug in ("refund", "report"):
        cast.policy(slug, retention={"payload": 0})

    tasks.erase_due_content()

    kept = dict(Snapshot.objects.values_list("run__key", "payload"))
    assert kept[REFUND] is None and kept[REPORT] is not None
    assert LedgerEntry.objects.get(kind="content.erased").actor == "system:retention"


# ---- content that several runs name --------------------------------------------------------------------------


def test_content_stays_while_another_run_names_it_and_goes_with_the_last_one() -> None:
    report_sent("R-1")
    report_sent("R-2")

    erasure.erase_run("R-1", BY)
    kept = Content.objects.filter(body__isnull=False).count()
    erasure.erase_run("R-2", BY)

    assert (kept, Content.objects.filter(body__isnull=False).count()) == (2, 0)
    assert violations()[0] == []


def test_erased_content_that_is_submitted_again_is_there_again() -> None:
    report_sent("R-1")
    erasure.erase_run("R-1", BY)

    report_sent("R-2")

    assert blobs.read(review.tagged(review.RESEARCH)) == review.RESEARCH


def test_the_same_artifact_submitted_again_after_its_run_went_on_is_kept_and_told() -> None:
    report_sent()
    erasure.erase_run(REPORT, BY)
    cast.command(cast.ada(), REPORT, "reopen")
    artifacts = Artifact.objects.count()

    again = review.artifact(review.coordinator(), REPORT, "research", 6, review.RESEARCH)

    assert again == "R-42:research:6:a" and Artifact.objects.count() == artifacts
    assert blobs.read(review.tagged(review.RESEARCH)) == review.RESEARCH
    assert LedgerEntry.objects.order_by("-seq")[0].kind == "artifact.submitted"


def test_a_file_in_storage_is_removed_and_put_back_when_it_is_submitted_again(
    settings: Settings, tmp_path: Path
) -> None:
    settings.STORAGES = settings.STORAGES | {
        "artifacts": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path},
        }
    }
    large = b"x" * (blobs.IN_DATABASE + 1)
    name = blobs.file_name("sha256:" + hashlib.sha256(large).hexdigest())
    for key in ("R-1", "R-2"):
        cast.run_received(key, "report", question="Q3 churn?", audience="team")
    review.artifact(review.coordinator(), "R-1", "research", 1, large)
    cast.command(cast.ada(), "R-1", "cancel")

    erasure.erase_run("R-1", BY)
    was_there = storages["artifacts"].exists(name)
    review.artifact(review.coordinator(), "R-2", "research", 1, large)

    assert not was_there
    assert blobs.read(review.tagged(large)) == large


# ---- how it is told ------------------------------------------------------------------------------------------


def test_a_repeat_of_a_command_says_what_became_of_it_and_that_its_values_are_gone() -> None:
    cast.run_received()
    request = CommandRequest("c-1", "set-category", {"category": "billing"}, "it is billing")
    first = actions.apply_command(cast.ada(), "R-42", 1, request)
    cast.command(cast.ada(), "R-42", "cancel")
    erasure.erase_run("R-42", BY)

    again = actions.apply_command(cast.ada(), "R-42", 1, request)

    assert again.is_replay and again.state == first.state == "committed"
    assert again.answer == {**first.answer, "changed": {}, "erased": True}


def test_a_repeat_of_a_refusal_is_the_same_refusal_without_its_values() -> None:
    cast.run_working()
    request = CommandRequest("c-stale", "set-category", {"category": "damage"}, "it is damaged")
    first = actions.apply_command(cast.ada(), "R-42", 1, request)
    cast.command(cast.ada(), "R-42", "cancel")
    erasure.erase_run("R-42", BY)

    again = actions.apply_command(cast.ada(), "R-42", 1, request)

    assert (again.is_replay, again.state) == (True, first.state) == (True, "retry")
    assert again.answer == {**first.answer, "changed_fields": [], "erased": True}


def test_a_payload_that_was_erased_cannot_be_compensated() -> None:
    effect = refund_sent()
    erasure.erase_run(REFUND, BY)

    with pytest.raises(ClearanceError, match="no succeeded operation"):
        review.freeze(review.cashier(), REFUND, "recall", of=effect.pk)


# ---- against others, and in the role of the application --------------------------------------------------------


def reopen() -> Outcome:
    return cast.command(cast.ada(), REFUND, "reopen")


@pytest.mark.django_db(transaction=True)
def test_a_reopening_under_way_is_waited_for_and_then_nothing_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    refund_sent()
    first, second = Actor("reopening", reopen), Actor("erasure", lambda: erasure.erase_run(REFUND, BY))

    with stopped_after(monkeypatch, (store, "step"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    assert first.result().state == "committed"
    assert isinstance(second.error(), InvalidTransition)
    assert Snapshot.objects.get().payload is not None


@pytest.mark.django_db(transaction=True)
def test_a_reopening_waits_for_an_erasure_under_way_and_goes_on_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    refund_sent()
    first, second = Actor("erasure", lambda: erasure.erase_run(REFUND, BY)), Actor("reopening", reopen)

    with stopped_after(monkeypatch, (store, "step"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    assert first.result().counts["payloads"] == 1
    assert second.result().state == "committed"
    assert verify_chain(cast.reading(REFUND)).is_sound


def test_content_that_another_run_comes_to_name_meanwhile_is_there_again(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("R-1", "R-2"):
        cast.run_received(key, "report", question="Q3 churn?", audience="team")
    who = review.coordinator()
    review.artifact(who, "R-1", "research", 1, review.RESEARCH)
    cast.command(cast.ada(), "R-1", "cancel")
    first = Actor("erasure", lambda: erasure.erase_run("R-1", BY))
    second = Actor("submission", lambda: review.artifact(who, "R-2", "research", 1, review.RESEARCH))

    with stopped_after(monkeypatch, (runs_erasure, "execute"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    first.result(), second.result()
    assert blobs.read(review.tagged(review.RESEARCH)) == review.RESEARCH


def test_all_of_it_works_in_the_role_of_the_application(as_application: None) -> None:
    report_sent()
    cast.policy("report", retention={"payload": 0})

    due = erasure.erase_due()
    rest = erasure.erase_run(REPORT, BY)

    assert due[0].counts == {"payloads": 1}
    assert rest.counts.keys() == {"artifacts", "ledger bodies", "answers"}
    with frozen_view():
        assert violations()[0] == []
