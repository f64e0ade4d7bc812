"""The checker is seen to fail: each invariant is broken behind the back of the guards, and found by its name.

The owner takes the guards away inside the test's own transaction, which is rolled back with everything.
"""

import json
from collections import Counter
from typing import Any

import pytest
from django.db import InternalError

from runs import store
from runs.chain import link
from runs.fields import Op, Verb, apply_op
from runs.models import LedgerEntry, Run
from runs.values import NewEntry
from runs.verify import INVARIANTS
from runs.verify.checks import frozen_view
from runs.verify.fold import redo
from tests import cast
from tests.sync import run_apart
from tests.unguarded import take_guards_away
from tests.verifying import broken, do

KEY = "R-2"


@pytest.fixture
def history(db: None) -> None:
    """R-1 is new; R-2 has an open case, a merge and a rejection; R-3 is cancelled. Nothing is wrong."""
    agent = cast.agent().principal
    cast.run_received("R-1")
    cast.run_with_open_case(KEY, agent)
    cast.command(agent, KEY, "add-tag", on=1, tag="vip", id_="c-merged")
    cast.command(agent, KEY, "add-tag", on=1, tag="vip", id_="c-rejected")
    cast.run_cancelled("R-3")


@pytest.fixture
def unguarded(history: None) -> None:
    take_guards_away()


def found(seen: Counter[str] | None = None) -> dict[str, list[str]]:
    """Where each broken invariant of runs is broken."""
    return broken(INVARIANTS, seen)


def retell(seq: int, **other: Any) -> None:
    """Rewrite members of the body of an entry of R-2, and every hash from there to the head, as a forger would."""
    run = Run.objects.get(key=KEY)
    previous = LedgerEntry.objects.get(run=run, seq=seq - 1).hash
    for row in LedgerEntry.objects.filter(run=run, seq__gte=seq).order_by("seq"):
        body = json.loads(bytes(row.body or b"")) | (other if row.seq == seq else {})
        entry = NewEntry(row.kind, row.actor, row.command_id, body, row.version, tuple(body.get("changes", ())))
        (new,) = link(KEY, row.seq - 1, previous, [(entry, body["salt"])], row.at)
        LedgerEntry.objects.filter(run=run, seq=row.seq).update(
            body=new.body, body_sha256=new.body_sha256, prev_hash=previous, hash=new.hash, touched=list(new.touched)
        )
        previous = new.hash
    Run.objects.filter(pk=run.pk).update(head_hash=previous)


# ---- nothing wrong -------------------------------------------------------------------------------------------


def test_a_history_that_the_actions_made_breaks_nothing(history: None) -> None:
    seen: Counter[str] = Counter()

    assert found(seen) == {}
    assert seen == {"runs": 3, "entries": 8}


def test_an_installation_without_anything_breaks_nothing(db: None) -> None:
    assert found() == {}


# ---- one thing wrong -----------------------------------------------------------------------------------------

OF_RUN = "run_id = (SELECT id FROM runs_run WHERE key = 'R-2')"
COPY_OF_ENTRY = """
INSERT INTO runs_ledgerentry (run_id, seq, version, kind, actor, command_id, at, touched, body, body_sha256, prev_hash,
                              hash, feed_xid)
SELECT {run_id}, {seq}, version, kind, actor, {command_id}, at, touched, body, body_sha256, prev_hash, hash, feed_xid
FROM runs_ledgerentry WHERE run_id = (SELECT id FROM runs_run WHERE key = 'R-2') AND seq = 2
"""

#: (invariant, where it is found, what breaks it)
BREAKS = [
    ("ledger-gapless", "R-2 entry 4", f"DELETE FROM runs_ledgerentry WHERE {OF_RUN} AND seq = 3"),
    ("ledger-gapless", "R-2 entry 6", COPY_OF_ENTRY.format(run_id="run_id", seq=6, command_id="command_id")),
    ("ledger-gapless", "run number 0", COPY_OF_ENTRY.format(run_id=0, seq=1, command_id="command_id")),
    ("ledger-chained", "R-2 entry 2", f"UPDATE runs_ledgerentry SET actor = 'agent:x' WHERE {OF_RUN} AND seq = 2"),
    ("ledger-chained", "R-2 entry 2", f"UPDATE runs_ledgerentry SET at = now() WHERE {OF_RUN} AND seq = 2"),
    ("ledger-chained", "R-2 entry 5", f"UPDATE runs_ledgerentry SET hash = 'a' WHERE {OF_RUN} AND seq = 5"),
    ("ledger-body", "R-2 entry 2", f"UPDATE runs_ledgerentry SET body = '{{}}' WHERE {OF_RUN} AND seq = 2"),
    ("ledger-version", "R-2 entry 3", f"UPDATE runs_ledgerentry SET version = 3 WHERE {OF_RUN} AND seq = 3"),
    ("ledger-touched", "R-2 entry 2", f"UPDATE runs_ledgerentry SET touched = '{{tags}}' WHERE {OF_RUN} AND seq = 2"),
    (
        "request",
        "R-2 entry 2",
        f"UPDATE runs_command SET request_sha256 = '' WHERE {OF_RUN} AND principal = 'user:ada'",
    ),
    ("head", "R-2", "UPDATE runs_run SET version = version + 1 WHERE key = 'R-2'"),
    ("head", "R-2", "UPDATE runs_run SET head_hash = 'a' WHERE key = 'R-2'"),
    ("head", "R-1", "DELETE FROM runs_ledgerentry WHERE run_id = (SELECT id FROM runs_run WHERE key = 'R-1')"),
    ("fold", "R-2", "UPDATE runs_run SET fields = replace(fields, 'billing', 'damage') WHERE key = 'R-2'"),
    ("fold", "R-2", "UPDATE runs_run SET fields = replace(fields, ':', ': ') WHERE key = 'R-2'"),
    ("fold", "R-2", "UPDATE runs_run SET status = 'received' WHERE key = 'R-2'"),
    ("fold", "R-2", "UPDATE runs_run SET input_version = 2 WHERE key = 'R-2'"),
    (
        "fold",
        "R-2",
        "UPDATE runs_run SET active_snapshot = 'R-2:review:v2:c1', consent_contract = 'exact', consent_facts = '{}'"
        " WHERE key = 'R-2'",
    ),
    ("command-told", "R-2", f"UPDATE runs_command SET seq = 1 WHERE {OF_RUN} AND command_id = 'c-merged'"),
    ("command-told", "R-2", f"UPDATE runs_command SET seq = 99 WHERE {OF_RUN} AND command_id = 'c-merged'"),
    ("entry-recorded", "R-2", f"DELETE FROM runs_command WHERE {OF_RUN} AND command_id = 'c-merged'"),
    ("entry-recorded", "R-2", f"UPDATE runs_command SET seq = 3 WHERE {OF_RUN} AND command_id = 'c-merged'"),
    ("id-commits-once", "R-2", COPY_OF_ENTRY.format(run_id="run_id", seq=6, command_id="command_id")),
    ("answer-told", "R-2", f"UPDATE runs_command SET state = 'rejected' WHERE {OF_RUN} AND command_id = 'c-merged'"),
    ("conflict-told", "R-2", "UPDATE runs_conflict SET command_id = 'c-other' WHERE disposition = 'merge'"),
    ("case-held", "R-2", "UPDATE runs_run SET held = NULL WHERE key = 'R-2'"),
    ("case-held", "R-2", "UPDATE runs_escalation SET state = 'settled', settled_at = now(), resolution = '{}'"),
    ("case-waited-for", "R-2", "UPDATE runs_command SET state = 'rejected' WHERE state = 'escalated'"),
    ("case-waited-for", "R-2", "UPDATE runs_command SET state = 'escalated' WHERE command_id = 'c-rejected'"),
    ("erasure-told", "R-2", f"UPDATE runs_ledgerentry SET body = NULL WHERE {OF_RUN} AND seq = 2"),
    ("feed-order", "R-2", f"UPDATE runs_ledgerentry SET feed_xid = '9000000000' WHERE {OF_RUN} AND seq = 2"),
    ("feed-order", "R-2", "UPDATE runs_run SET feed_xid = '9000000000' WHERE key = 'R-2'"),
    ("revision-stored", "refund", "UPDATE runs_workflowrevision SET text = text || ' '"),
    ("revision-stored", "refund", "UPDATE runs_workflowrevision SET revision = 2"),
    ("revision-stored", "R-1", "UPDATE runs_run SET revision = 2 WHERE key = 'R-1'"),
    ("policy-versions", "refund", "UPDATE runs_policyversion SET version = 2"),
    ("policy-versions", "refund", "UPDATE runs_policyversion SET authority_version = 3"),
    ("policy-versions", "refund", "DELETE FROM runs_policyversion"),
    ("authority-epochs", "epoch 2", "DELETE FROM runs_authoritychange WHERE epoch = 2"),
    ("authority-epochs", "epoch 3", "UPDATE runs_authoritychange SET epoch = 3 WHERE epoch = 2"),
]


@pytest.mark.parametrize(
    ("name", "where", "statement"), [pytest.param(*each, id=f"{each[0]}-{n}") for n, each in enumerate(BREAKS)]
)
def test_what_was_changed_behind_the_guards_is_found(unguarded: None, name: str, where: str, statement: str) -> None:
    do(statement)

    assert where in found()[name]


def test_a_rewritten_ledger_with_fitting_hashes_still_does_not_make_the_run(unguarded: None) -> None:
    retell(2, changes={"category": {"from": None, "to": "delay"}, "status": {"from": "received", "to": "working"}})

    assert found() == {"fold": [KEY]}


def test_a_step_that_no_run_may_take_is_found(unguarded: None) -> None:
    changes = {"category": {"from": None, "to": "billing"}, "status": {"from": "received", "to": "sent"}}
    retell(2, changes=changes)
    do("UPDATE runs_run SET status = 'sent' WHERE key = 'R-2'")

    assert found() == {"status-step": [f"{KEY} entry 2"]}


def test_a_commit_on_another_version_than_it_was_computed_from_is_found(unguarded: None) -> None:
    retell(2, base_version=0)

    assert found() == {"lost-update": [f"{KEY} entry 2"]}


def test_a_change_that_starts_from_what_was_not_there_is_found(unguarded: None) -> None:
    changes = {"category": {"from": "delay", "to": "billing"}, "status": {"from": "received", "to": "working"}}
    retell(2, changes=changes)

    assert found() == {"lost-update": [f"{KEY} entry 2"]}


def test_a_body_that_makes_no_sense_is_found_and_the_rest_is_still_read(unguarded: None) -> None:
    retell(2, changes={"category": 1, "status": 1})

    assert found()["fold"] == [f"{KEY} entry 2"]


# ---- erased --------------------------------------------------------------------------------------------------


def erase(key: str, up_to: int) -> None:
    """Erase the bodies of a run that has ended, and tell so."""
    found = store.read(key)
    assert found.run is not None
    told = NewEntry("content.erased", "system:erasure", None, {"up_to": up_to}, found.run.version)
    assert store.step(found.run, found.run, [told], None, found.now)
    LedgerEntry.objects.filter(run__key=key, seq__lte=up_to).update(body=None)


def test_erased_bodies_are_counted_and_break_nothing(history: None) -> None:
    erase("R-3", up_to=2)
    seen: Counter[str] = Counter()

    assert found(seen) == {}
    assert seen["erased bodies"] == 2


def test_what_later_entries_tell_is_still_compared_after_an_erasure(history: None) -> None:
    cast.command(cast.ada(), "R-1", "set-category", category="billing")
    cast.command(cast.ada(), "R-1", "assign", assigned_owner="mara")
    cast.command(cast.ada(), "R-1", "cancel")
    erase("R-1", up_to=2)
    sound = found()
    take_guards_away()
    do("UPDATE runs_run SET fields = replace(fields, 'mara', 'noor') WHERE key = 'R-1'")

    assert (sound, found()) == ({}, {"fold": ["R-1"]})


# ---- folding -------------------------------------------------------------------------------------------------

ITEM, OTHER = {"id": "m1", "text": "hello"}, {"id": "m2", "text": "again"}


@pytest.mark.parametrize(
    ("before", "op"),
    [
        (None, Op("category", Verb.SET, "damage")),
        ("billing", Op("category", Verb.SET, None)),
        (3, Op("contact_attempts", Verb.INCREMENT, 2)),
        (["vip"], Op("tags", Verb.ADD, "urgent")),
        (["vip", "urgent"], Op("tags", Verb.REMOVE, "vip")),
        ([ITEM], Op("messages", Verb.APPEND, OTHER)),
    ],
)
def test_folding_a_change_forward_gives_what_it_made(before: Any, op: Op) -> None:
    after, change = apply_op(before, op)

    assert change is not None
    assert redo(before, change) == after


# ---- one view of everything ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_what_commits_during_the_check_is_not_seen() -> None:
    cast.run_received("R-1")

    with frozen_view():
        before = Run.objects.count()
        run_apart(lambda: cast.run_working("R-2"))
        seen: Counter[str] = Counter()
        broken = found(seen)

    assert (before, seen["runs"], broken) == (1, 1, {})
    assert Run.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_the_check_cannot_write() -> None:
    with pytest.raises(InternalError, match="read-only"), frozen_view():
        do("UPDATE runs_installation SET is_halted = true")


def test_every_invariant_is_broken_somewhere_above() -> None:
    by_hand = {"status-step", "lost-update"}

    assert {name for name, _, _ in BREAKS} | by_hand == {name for check in INVARIANTS for name in check.rules}
