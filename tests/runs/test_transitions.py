"""What commands do to a state and where they may: full tables for both reference workflows, moves, sizes, consent."""

from dataclasses import replace
from typing import Any

import pytest

from runs.definitions import Command, Workflow
from runs.digest import canonical
from runs.errors import FieldsTooLarge, InvalidParams, InvalidTransition
from runs.loading import load_workflow
from runs.states import ENDS, LEGAL_STEPS, STORIES, RunStatus, exits
from runs.transitions import (
    MAX_FIELDS_BYTES,
    apply,
    check_params,
    consent_after,
    is_legal_step,
    legal_commands,
    legality,
    move,
    require_legal,
    void_review,
)
from runs.values import RunState, Step, UnderReview
from tests.cast import DEFINITIONS
from tests.runs.dispositions import REFUND_FIELDS, REPORT_FIELDS, message, note, read_table

JSON = Any


def definition(slug: str, more: str = "", revision: int = 1) -> Workflow:
    """A shipped workflow, with some text more."""
    text = (DEFINITIONS / f"{slug}.toml").read_text()
    return replace(load_workflow(f"{text}\n{more}\n").workflow, revision=revision)


REFUND, REPORT = definition("refund"), definition("report")


def refund(status: RunStatus = RunStatus.WORKING, **fields: JSON) -> RunState:
    return RunState(status, REFUND_FIELDS | fields)


def command(name: str, workflow: Workflow = REFUND) -> Command:
    found = workflow.judged(name)
    assert found is not None
    return found


# ---- where each command is legal -------------------------------------------------------------------------

#: An open case. A column for each status, in its order: received, working, ready_for_review, approved,
#: dispatching, sent, failed, needs_reconciliation, revoked, cancelled, expired.
OPEN_REFUND = """
                   rec  work  ready  appr  disp  sent  fail  needs  rev  canc  exp
add-message        yes  yes   yes    yes   yes   yes   yes   yes    yes  -     -
add-note           yes  yes   yes    yes   yes   yes   yes   yes    yes  -     -
add-tag            yes  yes   yes    -     -     yes   yes   -      yes  -     -
remove-tag         yes  yes   yes    -     -     yes   yes   -      yes  -     -
record-contact     yes  yes   yes    -     -     yes   yes   -      yes  -     -
set-category       yes  yes   -      -     -     -     -     -      -    -     -
set-refund-amount  yes  yes   yes    -     -     -     -     -      -    -     -
set-recipient      yes  yes   yes    -     -     -     -     -      -    -     -
assign             yes  yes   -      -     -     -     -     -      -    -     -
close-case         yes  yes   yes    -     -     yes   yes   -      yes  -     -
reopen-case        -    -     -      -     -     -     -     -      -    -     -
cancel             yes  yes   yes    -     -     -     -     -      -    -     -
expire             yes  yes   yes    -     -     -     -     -      -    -     -
reopen             -    -     -      -     -     yes   yes   -      yes  -     -
move-to-revision   yes  yes   -      -     -     -     -     -      -    -     -
freeze:pay         -    yes   yes    -     -     -     -     -      -    -     -
freeze:recall      -    -     -      -     -     yes   -     -      -    -     -
"""

#: What a closed case changes of it.
CLOSED_REFUND = """
                   rec  work  ready  appr  disp  sent  fail  needs  rev  canc  exp
add-message        yes  yes   yes    yes   yes   yes   yes   yes    yes  -     -
set-category       -    -     -      -     -     -     -     -      -    -     -
set-refund-amount  -    -     -      -     -     -     -     -      -    -     -
set-recipient      -    -     -      -     -     -     -     -      -    -     -
assign             yes  yes   -      -     -     -     -     -      -    -     -
close-case         -    -     -      -     -     -     -     -      -    -     -
reopen-case        yes  yes   -      -     -     -     -     -      -    -     -
cancel             yes  yes   yes    -     -     -     -     -      -    -     -
freeze:pay         -    -     -      -     -     -     -     -      -    -     -
"""

ANY_REPORT = """
                   rec  work  ready  appr  disp  sent  fail  needs  rev  canc  exp
start              yes  -     -      -     -     -     -     -      -    -     -
set-question       yes  yes   yes    -     -     -     -     -      -    -     -
set-audience       yes  yes   yes    -     -     -     -     -      -    -     -
add-note           yes  yes   -      -     -     -     -     -      -    -     -
add-tag            yes  yes   -      -     -     -     -     -      -    -     -
cancel             yes  yes   yes    -     -     -     -     -      -    -     -
expire             yes  yes   yes    -     -     -     -     -      -    -     -
reopen             -    -     -      -     -     yes   yes   -      yes  -     -
move-to-revision   yes  yes   -      -     -     -     -     -      -    -     -
freeze:send        -    yes   yes    -     -     -     -     -      -    -     -
"""

LEGALITY = [
    (REFUND, REFUND_FIELDS, OPEN_REFUND),
    (REFUND, REFUND_FIELDS | {"case_state": "closed"}, CLOSED_REFUND),
    (REPORT, REPORT_FIELDS, ANY_REPORT),
]


@pytest.mark.parametrize(("workflow", "fields", "table"), LEGALITY, ids=["open refund", "closed refund", "report"])
def test_every_command_is_legal_exactly_where_the_tables_say(
    workflow: Workflow, fields: dict[str, JSON], table: str
) -> None:
    for status, (_, column) in zip(RunStatus, read_table(table).items(), strict=True):
        state = RunState(status, fields)
        found = {name: legality(workflow, state, command(name, workflow)) is None for name in column}
        assert found == {name: cell == "yes" for name, cell in column.items()}, status


@pytest.mark.parametrize(("workflow", "table"), [(REFUND, OPEN_REFUND), (REPORT, ANY_REPORT)])
def test_the_tables_hold_every_command(workflow: Workflow, table: str) -> None:
    rows = set(next(iter(read_table(table).values())))

    assert rows == {*workflow.commands, *workflow.builtins, *workflow.freezes}


@pytest.mark.parametrize(("workflow", "fields", "table"), LEGALITY[:1] + LEGALITY[2:], ids=["refund", "report"])
@pytest.mark.parametrize("status", RunStatus)
def test_an_illegal_command_is_refused_with_the_legal_ones(
    workflow: Workflow, fields: dict[str, JSON], table: str, status: RunStatus
) -> None:
    column = list(read_table(table).values())[list(RunStatus).index(status)]
    expected = {name for name, cell in column.items() if cell == "yes"} - {"expire"} - workflow.freezes.keys()
    state = RunState(status, fields)
    illegal = next(name for name, cell in column.items() if cell == "-")

    with pytest.raises(InvalidTransition) as refusal:
        require_legal(workflow, state, command(illegal, workflow))

    assert set(refusal.value.members["next"]) == expected == set(legal_commands(workflow, state))
    assert refusal.value.members["status"] == status.value
    assert refusal.value.members["actual"] not in refusal.value.members["expected"]


@pytest.mark.parametrize(
    ("name", "state", "sentence"),
    [
        (
            "assign",
            refund(RunStatus.SENT),
            "“Assign the case” is possible while the run is new, in handling; it is refund paid.",
        ),
        (
            "set-category",
            refund(case_state="closed"),
            "“Set the category” is possible only while case_state is open; it is closed.",
        ),
    ],
)
def test_what_is_illegal_is_told_in_a_sentence(name: str, state: RunState, sentence: str) -> None:
    assert legality(REFUND, state, command(name)) == sentence


# ---- what each command does ------------------------------------------------------------------------------

APPLIED: list[tuple[Workflow, str, dict[str, JSON], dict[str, JSON]]] = [
    (REFUND, "add-message", {"message": message("m2")}, {"messages": {"appended": [message("m2")]}}),
    (REFUND, "add-note", {"note": note("n1")}, {"notes": {"appended": [note("n1")]}}),
    (REFUND, "add-tag", {"tag": "photo"}, {"tags": {"added": ["photo"]}}),
    (REFUND, "remove-tag", {"tag": "vip"}, {"tags": {"removed": ["vip"]}}),
    (REFUND, "record-contact", {}, {"contact_attempts": {"from": 1, "to": 2}}),
    (REFUND, "set-category", {"category": "damage"}, {"category": {"from": "billing", "to": "damage"}}),
    (
        REFUND,
        "set-refund-amount",
        {"amount": "45.00", "currency": "USD"},
        {"refund_amount": {"from": "30.00", "to": "45.00"}, "currency": {"from": "EUR", "to": "USD"}},
    ),
    (
        REFUND,
        "set-refund-amount",
        {"amount": "45.00", "currency": "EUR"},
        {"refund_amount": {"from": "30.00", "to": "45.00"}},
    ),
    (REFUND, "set-recipient", {"recipient": "Rui Lima"}, {"recipient": {"from": "Ana Lima", "to": "Rui Lima"}}),
    (REFUND, "assign", {"assigned_owner": "lena"}, {"assigned_owner": {"from": "jonas", "to": "lena"}}),
    (REFUND, "close-case", {}, {"case_state": {"from": "open", "to": "closed"}}),
    (REFUND, "reopen-case", {}, {}),
    (REFUND, "set-category", {"category": "billing"}, {}),
    (REFUND, "add-tag", {"tag": "vip"}, {}),
    (REFUND, "remove-tag", {"tag": "photo"}, {}),
    (REFUND, "add-message", {"message": message("m1", "The lid arrived broken.")}, {}),
    (REFUND, "cancel", {}, {"status": {"from": "working", "to": "cancelled"}}),
    (REFUND, "expire", {}, {"status": {"from": "working", "to": "expired"}}),
    (REFUND, "reopen", {}, {}),
    (REPORT, "set-question", {"question": "Why?"}, {"question": {"from": REPORT_FIELDS["question"], "to": "Why?"}}),
    (REPORT, "set-audience", {"audience": "All"}, {"audience": {"from": "The board", "to": "All"}}),
    (REPORT, "start", {}, {}),
]


@pytest.mark.parametrize(("workflow", "name", "params", "changes"), APPLIED)
def test_a_command_changes_this_and_nothing_else(
    workflow: Workflow, name: str, params: dict[str, JSON], changes: dict[str, JSON]
) -> None:
    fields = REFUND_FIELDS if workflow is REFUND else REPORT_FIELDS
    before = RunState(RunStatus.WORKING, fields)

    step = apply(workflow, before, command(name, workflow), params)

    assert step.changes == changes
    assert step.is_empty == (not changes)
    assert {name for name in fields if step.state.fields[name] != fields[name]} == changes.keys() - {"status"}


def test_every_command_of_both_workflows_is_applied_above() -> None:
    applied = {(workflow.slug, name) for workflow, name, _, _ in APPLIED}

    assert {("refund", name) for name in REFUND.commands} <= applied
    assert {("report", name) for name in REPORT.commands} - {("report", "add-note"), ("report", "add-tag")} <= applied


def test_the_first_change_starts_the_work_where_no_command_declares_it() -> None:
    step = apply(REFUND, refund(RunStatus.RECEIVED), command("add-tag"), {"tag": "photo"})

    assert step.state.status is RunStatus.WORKING
    assert step.changes["status"] == {"from": "received", "to": "working"}


def test_what_changes_nothing_does_not_start_the_work() -> None:
    step = apply(REFUND, refund(RunStatus.RECEIVED), command("add-tag"), {"tag": "vip"})

    assert (step.is_empty, step.state.status) == (True, RunStatus.RECEIVED)


def test_only_the_declared_command_starts_the_work_where_there_is_one() -> None:
    received = RunState(RunStatus.RECEIVED, REPORT_FIELDS)

    tagged = apply(REPORT, received, command("add-tag", REPORT), {"tag": "photo"})
    started = apply(REPORT, received, command("start", REPORT), {})

    assert tagged.state.status is RunStatus.RECEIVED
    assert started.changes == {"status": {"from": "received", "to": "working"}}


def test_parameters_are_held_to_the_schema_and_each_fault_is_placed() -> None:
    with pytest.raises(InvalidParams) as refusal:
        check_params(command("set-refund-amount"), {"amount": "0.00", "currency": "XXX"})

    assert {fault.pointer for fault in refusal.value.errors} == {"/params/amount", "/params/currency"}


# ---- size ------------------------------------------------------------------------------------------------


def test_all_fields_together_hold_256_kib_and_not_a_byte_more() -> None:
    room = MAX_FIELDS_BYTES - _size(refund(recipient=""))

    apply(REFUND, refund(recipient=""), command("set-recipient"), {"recipient": "x" * room})
    with pytest.raises(FieldsTooLarge) as refusal:
        apply(REFUND, refund(recipient=""), command("set-recipient"), {"recipient": "x" * (room + 1)})

    assert refusal.value.errors[0].pointer == "/fields/recipient"
    assert str(MAX_FIELDS_BYTES + 1) in refusal.value.detail


def _size(state: RunState) -> int:
    return len(canonical(dict(state.fields)))


# ---- revisions -------------------------------------------------------------------------------------------

PHOTO = '[fields.photo]\nkind = "exclusive"\ninitial = "none"\nschema = { type = "string" }'


def test_a_new_revision_brings_its_new_fields_with_their_first_values() -> None:
    step = move(refund(), REFUND, definition("refund", PHOTO, revision=2))

    assert step.revision == 2
    assert step.state.fields == {**REFUND_FIELDS, "photo": "none"}
    assert step.changes == {"photo": {"from": None, "to": "none"}, "revision": {"from": 1, "to": 2}}


def test_a_field_that_holds_nothing_may_vanish_and_one_that_does_may_not() -> None:
    with_photo = definition("refund", PHOTO, revision=2)
    moved = move(refund(), REFUND, with_photo).state
    without = replace(REFUND, revision=3)

    assert move(moved, with_photo, without).state.fields == REFUND_FIELDS
    with pytest.raises(InvalidTransition, match="Revision 3 cannot hold what is in photo"):
        move(replace(moved, fields={**moved.fields, "photo": "lid.jpg"}), with_photo, without)


def test_what_a_new_revision_does_not_allow_stays_where_it_is() -> None:
    category = replace(REFUND.fields["category"], schema={"enum": ["damage", "other"]})
    stricter = replace(REFUND, revision=2, fields={**REFUND.fields, "category": category})

    with pytest.raises(InvalidTransition, match="category"):
        move(refund(), REFUND, stricter)
    assert move(refund(category="damage"), REFUND, stricter).revision == 2
    assert move(refund(category=None), REFUND, stricter).revision == 2


def test_moving_to_the_same_revision_is_no_step() -> None:
    step = move(refund(), REFUND, REFUND)

    assert (step.is_empty, step.state) == (True, refund())


# ---- statuses --------------------------------------------------------------------------------------------


def test_every_status_but_the_ends_has_an_exit_with_an_owner() -> None:
    for status in RunStatus:
        assert bool(exits(status)) == (status not in ENDS)
        assert all(exits(status).values())
        assert STORIES[status].meaning and STORIES[status].next_step


@pytest.mark.parametrize("start", RunStatus)
@pytest.mark.parametrize("to", RunStatus)
def test_a_step_is_legal_when_it_is_listed_and_staying_always_is(start: RunStatus, to: RunStatus) -> None:
    assert is_legal_step(start, to) == (start is to or (start, to) in LEGAL_STEPS)


# ---- consent ---------------------------------------------------------------------------------------------

SNAPSHOT = "R-42:review:v7:c1"
FACTS = frozenset({"refund_amount", "currency", "recipient", "case_state"})
UNTIL_CHANGED = UnderReview("until_changed", FACTS)
EXACT = UnderReview("exact", FACTS)


def reviewed(name: str, **params: JSON) -> Step:
    """What a command makes of a refund under review."""
    state = RunState(RunStatus.READY_FOR_REVIEW, REFUND_FIELDS, SNAPSHOT)
    return apply(REFUND, state, command(name), params)


def test_a_change_of_no_fact_lets_consent_stand_until_changed() -> None:
    note_ = consent_after(UNTIL_CHANGED, reviewed("add-note", note=note("n1")), "user:mara", 8)

    assert (note_.stands, note_.because) == (True, "stands: only `notes` changed")


def test_a_changed_fact_voids_consent_and_is_named_with_its_author() -> None:
    step = reviewed("set-refund-amount", amount="45.00", currency="USD")

    note_ = consent_after(UNTIL_CHANGED, step, "agent:pricing", 9)

    assert (note_.stands, note_.because) == (False, "void: `currency`, `refund_amount` changed by agent:pricing at v9")


def test_exact_consent_is_void_with_any_change() -> None:
    note_ = consent_after(EXACT, reviewed("add-note", note=note("n1")), "user:mara", 8)

    assert (note_.stands, note_.because) == (False, "void: `notes` changed by user:mara at v8")


@pytest.mark.parametrize("review", [EXACT, UNTIL_CHANGED])
def test_the_end_of_a_run_voids_consent(review: UnderReview) -> None:
    note_ = consent_after(review, reviewed("cancel"), "user:mara", 8)

    assert (note_.stands, note_.because) == (False, "void: the run was cancelled by user:mara at v8")


def test_a_voided_review_clears_the_pointer_and_sends_the_run_back_to_work() -> None:
    step = void_review(reviewed("close-case"), SNAPSHOT)

    assert (step.state.status, step.state.active_snapshot) == (RunStatus.WORKING, None)
    assert step.changes == {
        "case_state": {"from": "open", "to": "closed"},
        "active_snapshot": {"from": SNAPSHOT, "to": None},
        "status": {"from": "ready_for_review", "to": "working"},
    }


def test_a_run_that_ends_under_review_stays_ended() -> None:
    step = void_review(reviewed("cancel"), SNAPSHOT)

    assert (step.state.status, step.state.active_snapshot) == (RunStatus.CANCELLED, None)
    assert step.changes["status"] == {"from": "ready_for_review", "to": "cancelled"}
