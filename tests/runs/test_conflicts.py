"""The classifier: every stale command against every competitor, the special cases, and that no change is ever lost."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs import conflicts
from runs.conflicts import (
    Allowance,
    Case,
    allowance,
    changed_since,
    classify,
    elements_written,
    holding,
    state_at_base,
)
from runs.definitions import Command, Rule, Workflow
from runs.errors import ItemIdReused
from runs.fields import FieldKind, identity
from runs.loading import load_workflow
from runs.states import Disposition, RunStatus
from runs.transitions import apply, legality
from runs.values import Between, Budget, ChangedField, Episode, Held, Judgement, RunState
from tests.cast import DEFINITIONS
from tests.runs.dispositions import (
    BASES,
    COLUMNS,
    REFUND_FIELDS,
    REFUND_PROPOSALS,
    REPORT_FIELDS,
    Move,
    message,
    move,
    note,
)

JSON = Any

WORKFLOWS = {
    slug: replace(load_workflow((DEFINITIONS / f"{slug}.toml").read_text()).workflow, revision=1)
    for slug in ("refund", "report")
}
REFUND = WORKFLOWS["refund"]
SNAPSHOT = "R-42:review:v21:c1"
BASE_VERSION = 20

AGENT = "agent:classifier"
MARA = "user:mara"


# ---- building a case -------------------------------------------------------------------------------------


def amount(value: str, currency: str = "EUR") -> Move:
    return move("set-refund-amount", amount=value, currency=currency)


def history(
    workflow: Workflow, state: RunState, moves: Sequence[Move], actor: str = MARA
) -> tuple[Workflow, RunState, tuple[Between, ...]]:
    """What `moves` make of `state`, each one version further, and the entries that tell them."""
    entries = []
    for version, done in enumerate(moves, start=BASE_VERSION + 1):
        workflow, state, changes = _step(workflow, state, done)
        entries.append(Between(version + 10, version, actor, f"c-{version}", changes))
    return workflow, state, tuple(entries)


def _step(workflow: Workflow, state: RunState, done: Move) -> tuple[Workflow, RunState, Mapping[str, JSON]]:
    status, snapshot = state.status, state.active_snapshot
    match done.name:
        case "freeze":
            after = RunState(RunStatus.READY_FOR_REVIEW, state.fields, SNAPSHOT)
        case "deny":
            after = RunState(RunStatus.WORKING, state.fields)
        case "approve":
            after = RunState(RunStatus.APPROVED, state.fields)
        case "move-to-revision":
            revision = done.params["revision"]
            change = {"revision": {"from": workflow.revision, "to": revision}}
            return replace(workflow, revision=revision), state, change
        case name:
            command = workflow.command(name)
            assert command is not None
            step = apply(workflow, state, command, done.params)
            return workflow, step.state, step.changes
    changes = {
        "status": {"from": status.value, "to": after.status.value},
        "active_snapshot": {"from": snapshot, "to": after.active_snapshot},
    }
    return workflow, after, changes


def case(base: str, proposal: str, competitor: Sequence[Move], by: str = MARA) -> Case:
    """A proposal of the classifier's, computed from `base`, after `competitor` was committed by somebody."""
    given = BASES[base]
    state = RunState(RunStatus(given.status), given.fields)
    workflow, current, between = history(WORKFLOWS[given.slug], state, competitor, by)
    asked = given.proposals[proposal]
    command = workflow.judged(asked.name)
    assert command is not None
    return Case(workflow, command, asked.params, AGENT, state, current, between)


def told(judged: Case) -> str:
    """What the classifier says, as a cell of the tables."""
    try:
        judgement = classify(judged)
    except ItemIdReused:
        return "reused"
    return cell(judgement)


def cell(judgement: Judgement) -> str:
    """A judgement as a cell of the tables."""
    if judgement.unchanged:
        return "unchanged"
    if judgement.rule.startswith("on_conflict"):
        return judgement.disposition.value + judgement.rule.removeprefix("on_conflict")
    by_name = {"already-so": "so", "not-legal": "illegal", "unsafe-merge": "unsafe"}
    return by_name.get(judgement.rule, judgement.disposition.value)


# ---- the tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("base", "column"), COLUMNS)
def test_every_stale_command_meets_what_the_tables_say(base: str, column: str) -> None:
    given = BASES[base]
    expected = given.table[column]

    judged = {row: told(case(base, row, given.competitors[column])) for row in expected}

    assert judged == expected


@pytest.mark.parametrize("base", BASES)
def test_every_command_has_its_row(base: str) -> None:
    given = BASES[base]
    rows = {given.proposals[row].name for column in given.table.values() for row in column}

    if base != "refund-closed":  # which asks only about what closing touches
        workflow = WORKFLOWS[given.slug]
        assert rows == {*workflow.commands, *workflow.builtins, *workflow.freezes}


@pytest.mark.parametrize("disposition", Disposition)
def test_the_tables_tell_of_every_disposition(disposition: Disposition) -> None:
    cells = {cell for base in BASES.values() for column in base.table.values() for cell in column.values()}

    assert any(found.startswith(disposition.value) for found in cells)


@pytest.mark.parametrize(("base", "column"), COLUMNS)
def test_nobody_escalates_against_oneself(base: str, column: str) -> None:
    given = BASES[base]
    expected = {
        row: {"unsafe": "retry", "escalate": "retry"}.get(found, found.replace("escalate[", "retry["))
        for row, found in given.table[column].items()
    }

    judged = {row: told(case(base, row, given.competitors[column], by=AGENT)) for row in expected}

    assert {row: "retry" if found == "unsafe" else found for row, found in judged.items()} == expected


# ---- what counts as changed ------------------------------------------------------------------------------

OPEN = RunState(RunStatus.WORKING, REFUND_FIELDS)


def changed(moves: Sequence[Move], state: RunState = OPEN) -> dict[str, ChangedField]:
    """What the classifier calls changed after `moves`, by name."""
    _, current, between = history(REFUND, state, moves)
    return {item.field: item for item in changed_since(state_at_base(current, between), current, between)}


def test_a_field_changed_and_changed_back_is_touched_and_marked_restored() -> None:
    found = changed([amount("45.00"), amount("30.00")])["refund_amount"]

    assert (found.base, found.current, found.restored) == ("30.00", "30.00", True)
    assert (found.version, found.changed_by, found.command_id) == (22, MARA, "c-22")


def test_an_amount_changed_and_changed_back_still_escalates() -> None:
    judged = case("refund-open", "set-amount", [amount("45.00"), amount("30.00")])

    assert told(judged) == "escalate[1]"


def test_what_was_changed_and_changed_back_to_is_already_so_by_who_changed_it_back() -> None:
    judgement = classify(case("refund-open", "set-amount", [amount("45.00"), amount("60.00")]))

    assert cell(judgement) == "so"
    assert judgement.because == "What this asks for already holds: user:mara did it in version 22."


def test_a_set_is_restored_when_it_holds_the_same_elements_in_any_order() -> None:
    both = replace(OPEN, fields={**REFUND_FIELDS, "tags": ["vip", "photo"]})
    moves = [move("remove-tag", tag="vip"), move("remove-tag", tag="photo")]
    moves += [move("add-tag", tag="vip"), move("add-tag", tag="photo")]

    assert changed(moves, both)["tags"].restored


def test_a_set_with_one_element_for_another_is_not_restored() -> None:
    assert not changed([move("remove-tag", tag="vip"), move("add-tag", tag="photo")])["tags"].restored


def test_a_log_is_never_restored() -> None:
    assert not changed([move("add-note", note=note("n1"))])["notes"].restored


def test_status_and_snapshot_count_as_changed_although_both_are_back() -> None:
    found = changed([move("freeze"), move("deny")])

    assert {name: item.restored for name, item in found.items()} == {"status": True, "active_snapshot": True}


def test_a_new_revision_is_no_changed_field() -> None:
    assert changed([move("move-to-revision", revision=2)]) == {}


def test_changes_are_told_in_the_order_of_their_versions_and_then_by_name() -> None:
    moves = [move("add-note", note=note("n1")), amount("45.00", "USD"), move("record-contact")]

    assert list(changed(moves)) == ["notes", "currency", "refund_amount", "contact_attempts"]


def test_a_field_that_came_with_a_later_revision_was_not_there_at_base() -> None:
    current = RunState(RunStatus.WORKING, {"tags": ["vip"]})
    came: dict[str, dict[str, JSON]] = {"tags": {"from": None, "to": []}, "revision": {"from": 2, "to": 3}}
    between = (
        Between(1, 21, MARA, "c-1", {"tags": {"added": ["old"]}}),
        Between(2, 22, MARA, "c-2", {"tags": {"removed": ["old"]}}),
        Between(3, 23, MARA, "c-3", came),
        Between(4, 24, MARA, "c-4", {"tags": {"added": ["vip"]}}),
    )

    assert state_at_base(current, between).fields == {}


# ---- already so ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proposal", "competitor"),
    [
        ("add-tag-urgent", [move("add-tag", tag="urgent"), move("add-tag", tag="photo")]),
        ("remove-tag-vip", [move("remove-tag", tag="vip"), move("add-tag", tag="photo")]),
        ("close-case", [move("close-case"), move("add-note", note=note("n1"))]),
        ("set-category", [move("set-category", category="damage"), move("add-tag", tag="photo")]),
        ("cancel", [move("cancel"), move("move-to-revision", revision=3)]),
        ("move", [move("move-to-revision", revision=2), move("add-tag", tag="photo")]),
    ],
)
def test_already_so_names_who_did_it_not_who_touched_the_record_last(proposal: str, competitor: list[Move]) -> None:
    judged = case("refund-open", proposal, competitor)
    did, came_later = judged.between
    judged = replace(judged, between=(did, replace(came_later, actor="agent:other")))

    judgement = classify(judged)

    assert (judgement.disposition, judgement.rule) == (Disposition.REJECT, "already-so")
    assert judgement.because == "What this asks for already holds: user:mara did it in version 21."


def test_already_so_names_who_did_it_last_when_it_was_done_and_undone() -> None:
    judged = case("refund-open", "close-case", [move("close-case"), move("reopen-case"), move("close-case")])

    assert classify(judged).because == "What this asks for already holds: user:mara did it in version 23."


def test_already_so_says_when_it_held_before_already() -> None:
    judgement = classify(case("refund-open", "add-tag-vip", [move("add-tag", tag="photo")]))

    assert judgement.because == "What this asks for already holds: it held before already."


def test_the_same_decision_twice_by_oneself_is_already_so() -> None:
    judged = case("refund-open", "set-category", [move("set-category", category="damage")], by=AGENT)

    assert told(judged) == "so"


# ---- the order of the steps ------------------------------------------------------------------------------


def test_a_rule_speaks_its_own_words_before_legality_does() -> None:
    judgement = classify(case("refund-open", "set-category", [move("close-case")]))

    assert judgement.because == "The case was closed; its category no longer matters."


def test_a_rule_with_values_decides_only_while_one_of_them_is_current() -> None:
    reopened = classify(case("refund-open", "set-category", [move("close-case"), move("reopen-case")]))

    assert (reopened.disposition, reopened.rule) == (Disposition.MERGE, "default")


def test_the_first_rule_that_matches_decides() -> None:
    moves = [move("add-message", message=message("m2")), move("set-category", category="other")]

    assert told(case("refund-open", "set-category", moves)) == "escalate[1]"


def test_what_is_no_longer_legal_is_told_in_a_sentence() -> None:
    judgement = classify(case("refund-open", "assign", [move("cancel")]))

    assert judgement.because == "“Assign the case” is possible while the run is new, in handling; it is cancelled."


def judged_by(command: Command, competitor: Sequence[Move], params: Mapping[str, JSON] | None = None) -> str:
    """What becomes of a stale command that the reference workflows do not have."""
    workflow, current, between = history(REFUND, OPEN, competitor)
    return told(Case(workflow, command, params or {}, AGENT, OPEN, current, between))


def ruled(name: str, then: Disposition, *when_changed: str, **changes: Any) -> Command:
    """A command of the refund workflow with one other rule, and whatever else is changed of it."""
    rule = Rule(when_changed, then, "because the test says so")
    return replace(REFUND.commands[name], on_conflict=(rule,), **changes)


def test_a_rule_that_merges_merges_what_is_safe() -> None:
    command = ruled("set-category", Disposition.MERGE, "notes", reads=frozenset())

    assert judged_by(command, [move("add-note", note=note("n1"))], {"category": "damage"}) == "merge[0]"


@pytest.mark.parametrize(
    ("competitor", "expected"),
    [
        ([move("close-case")], "illegal"),
        ([move("cancel")], "illegal"),
        ([move("set-category", category="other")], "unsafe"),
        ([move("add-message", message=message("m2"))], "unsafe"),
    ],
)
def test_a_rule_that_merges_still_needs_legality_and_safety(competitor: list[Move], expected: str) -> None:
    command = ruled("set-category", Disposition.MERGE, "notes")

    found = judged_by(command, [move("add-note", note=note("n1")), *competitor], {"category": "damage"})

    assert found == expected


def test_what_a_command_reads_asks_for_a_retry_even_where_it_would_merge() -> None:
    command = replace(REFUND.commands["set-category"], on_conflict=())

    assert judged_by(command, [move("add-message", message=message("m2"))], {"category": "damage"}) == "retry"


def test_a_touched_decision_escalates_before_what_was_read_asks_for_a_retry() -> None:
    command = replace(REFUND.commands["set-category"], on_conflict=())
    moves = [move("set-category", category="other"), move("add-message", message=message("m2"))]

    assert judged_by(command, moves, {"category": "damage"}) == "escalate"


@pytest.mark.parametrize("otherwise", Disposition)
def test_what_no_rule_decides_goes_as_the_definition_says(otherwise: Disposition) -> None:
    command = replace(REFUND.commands["record-contact"], otherwise=otherwise)

    assert judged_by(command, [move("add-note", note=note("n1"))]) == otherwise.value


# ---- elements of a set -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proposal", "competitor"),
    [
        ("add-tag-urgent", [move("add-tag", tag="urgent"), move("remove-tag", tag="urgent")]),
        ("remove-tag-vip", [move("remove-tag", tag="vip"), move("add-tag", tag="vip")]),
    ],
)
def test_an_element_added_and_removed_is_not_quietly_added_again(proposal: str, competitor: list[Move]) -> None:
    judgement = classify(case("refund-open", proposal, competitor))

    assert (judgement.disposition, judgement.rule) == (Disposition.ESCALATE, "unsafe-merge")
    assert judgement.because == "A merge would override or undo a change of tags."


# ---- oneself ---------------------------------------------------------------------------------------------


def test_a_conflict_with_oneself_names_the_own_command() -> None:
    judgement = classify(case("refund-open", "set-amount", [amount("45.00")], by=AGENT))

    assert (judgement.disposition, judgement.rule) == (Disposition.RETRY, "on_conflict[1]")
    assert judgement.because == "Your own command c-21 changed refund_amount in version 21: read it and decide anew."
    assert judgement.against_self


def test_an_own_message_asks_for_a_retry_and_says_so() -> None:
    judgement = classify(case("refund-open", "set-category", [move("add-message", message=message("m2"))], by=AGENT))

    assert (judgement.disposition, judgement.against_self) == (Disposition.RETRY, True)


def test_a_field_that_somebody_else_touched_too_is_no_conflict_with_oneself() -> None:
    judged = case("refund-open", "set-amount", [amount("45.00"), amount("50.00")], by=AGENT)
    first, second = judged.between

    for between in (replace(first, actor=MARA), second), (first, replace(second, actor=MARA)):
        judgement = classify(replace(judged, between=between))
        assert (told(replace(judged, between=between)), judgement.against_self) == ("escalate[1]", False)


def test_only_what_was_done_to_the_same_element_counts_against_oneself() -> None:
    judged = case("refund-open", "add-tag-vip", [move("add-tag", tag="photo"), move("remove-tag", tag="vip")], by=AGENT)
    photo, vip = judged.between

    others_photo = classify(replace(judged, between=(replace(photo, actor=MARA), vip)))
    others_vip = classify(replace(judged, between=(photo, replace(vip, actor=MARA))))

    assert (others_photo.disposition, others_photo.against_self) == (Disposition.RETRY, True)
    assert (others_vip.disposition, others_vip.against_self) == (Disposition.ESCALATE, False)


# ---- what holds for every history ------------------------------------------------------------------------


def _moves_of_refund() -> st.SearchStrategy[Move]:
    few = st.sampled_from
    return st.one_of(
        st.builds(lambda id, text: move("add-message", message=message(id, text)), few("abcd"), few(["?", "!"])),
        st.builds(lambda id: move("add-note", note=note(id)), few("abcd")),
        st.builds(lambda tag: move("add-tag", tag=tag), few(["vip", "urgent", "photo"])),
        st.builds(lambda tag: move("remove-tag", tag=tag), few(["vip", "urgent", "photo"])),
        st.builds(lambda value: move("set-category", category=value), few(["billing", "damage", "other"])),
        st.builds(amount, few(["30.00", "45.00"]), few(["EUR", "USD"])),
        st.builds(lambda name: move("set-recipient", recipient=name), few(["Ana Lima", "Rui Lima"])),
        st.builds(lambda name: move("assign", assigned_owner=name), few(["jonas", "lena"])),
        few([move(name) for name in ("record-contact", "close-case", "reopen-case", "cancel", "freeze", "deny")]),
    )


def _moves_of_report() -> st.SearchStrategy[Move]:
    few = st.sampled_from
    return st.one_of(
        st.builds(lambda text: move("set-question", question=text), few(["Why?", "How?"])),
        st.builds(lambda text: move("set-audience", audience=text), few(["The board", "All"])),
        st.builds(lambda id: move("add-note", note=note(id)), few("abcd")),
        st.builds(lambda tag: move("add-tag", tag=tag), few(["weekly", "urgent"])),
        few([move(name) for name in ("start", "cancel", "freeze", "deny")]),
    )


def _is_possible(workflow: Workflow, state: RunState, asked: Move) -> bool:
    match asked.name:
        case "freeze":
            return state.status is RunStatus.WORKING
        case "deny":
            return state.status is RunStatus.READY_FOR_REVIEW
        case name:
            return legality(workflow, state, workflow.commands.get(name) or workflow.builtins[name]) is None


def possible(workflow: Workflow, state: RunState, wanted: Sequence[Move]) -> list[Move]:
    """Of the moves that somebody wanted, one after the other, those that could be committed."""
    done: list[Move] = []
    for asked in wanted:
        if not _is_possible(workflow, state, asked):
            continue
        try:
            _, after, changes = _step(workflow, state, asked)
        except ItemIdReused:
            continue
        if changes:
            state, done = after, [*done, asked]
    return done


@dataclass(frozen=True)
class Stale:
    """A stale proposal with what was done before it arrived."""

    case: Case
    done: list[Move]

    def merged(self) -> RunState | None:
        """The state that a merge makes; None where the proposal is not merged."""
        judgement = judged_or_refused(self.case)
        if judgement is None or judgement.disposition is not Disposition.MERGE:
            return None
        return apply(self.case.workflow, self.case.current, self.case.command, self.case.params).state


def stale(slug: str, state: RunState, proposal: Move, wanted: Sequence[Move]) -> Stale:
    """A proposal computed from `state`, after somebody did what was possible of `wanted`."""
    workflow = WORKFLOWS[slug]
    done = possible(workflow, state, wanted)
    _, current, between = history(workflow, state, done)
    command = workflow.command(proposal.name)
    assert command is not None
    return Stale(Case(workflow, command, proposal.params, AGENT, state, current, between), done)


def _histories(slug: str, moves: st.SearchStrategy[Move]) -> st.SearchStrategy[Stale]:
    start = RunState(RunStatus.RECEIVED, {"refund": REFUND_FIELDS, "report": REPORT_FIELDS}[slug])
    proposals = moves.filter(lambda asked: asked.name not in ("freeze", "deny"))
    return st.builds(lambda asked, wanted: stale(slug, start, asked, wanted), proposals, st.lists(moves, max_size=8))


#: Enough to find each rule's breach many times over, and quick on a busy machine.
searched = settings(max_examples=60, deadline=None)

stale_cases = st.one_of(_histories("refund", _moves_of_refund()), _histories("report", _moves_of_report()))


def normal(state: RunState) -> JSON:
    """A state by its meaning: the order of sets, and of items that came at the same time, carries none."""
    fields = {
        name: sorted(map(identity, value)) if isinstance(value, list) else value for name, value in state.fields.items()
    }
    return state.status, fields, state.active_snapshot


def judged_or_refused(judged: Case) -> Judgement | None:
    """What the classifier says, or None where it refuses another item under the same id."""
    try:
        return classify(judged)
    except ItemIdReused:
        return None


@searched
@given(stale_cases)
def test_the_state_at_base_is_what_the_changes_led_away_from(found: Stale) -> None:
    assert normal(state_at_base(found.case.current, found.case.between)) == normal(found.case.base)


@searched
@given(stale_cases)
def test_a_merge_drops_no_committed_change(found: Stale) -> None:
    """Nothing but a merge is applied, so nothing else could drop one."""
    case, after = found.case, found.merged()
    if after is None:
        return

    assert "status" not in case.touched or after.status is case.current.status
    for name, current in case.current.fields.items():
        match case.workflow.fields[name].kind:
            case FieldKind.EXCLUSIVE if name in case.touched:
                assert after.fields[name] == current
            case FieldKind.COUNTER:
                assert after.fields[name] >= current
            case FieldKind.LOG:
                assert after.fields[name][: len(current)] == current
            case FieldKind.SET:
                decided = _elements_decided(case, name)
                assert decided & set(after.fields[name]) == decided & set(current)


def _elements_decided(case: Case, name: str) -> set[JSON]:
    """The elements that somebody added or removed since base."""
    changes = [entry.changes[name] for entry in case.between if name in entry.changes]
    return {element for change in changes for verb in ("added", "removed") for element in change.get(verb, ())}


@searched
@given(stale_cases)
def test_what_was_touched_since_is_never_merged_over_even_when_its_value_is_back(found: Stale) -> None:
    case = found.case

    if case.touched & (case.exclusive_writes | case.command.reads):
        assert found.merged() is None


@searched
@given(stale_cases)
def test_a_merge_is_what_both_make_in_either_order(found: Stale) -> None:
    case, merged = found.case, found.merged()
    if merged is None:
        return
    first = apply(case.workflow, case.base, case.command, case.params).state
    if possible(case.workflow, first, found.done) != found.done:
        return  # the proposal first would have forbidden some of it: there is only one legal order

    _, the_other_way, _ = history(case.workflow, first, found.done)

    assert normal(merged) == normal(the_other_way)


@searched
@given(stale_cases, st.randoms(use_true_random=False))
def test_the_order_of_members_decides_nothing(found: Stale, random: Random) -> None:
    def shuffled(members: Mapping[str, JSON]) -> dict[str, JSON]:
        return dict(random.sample(list(members.items()), len(members)))

    case = found.case
    permuted = replace(
        case,
        params=shuffled(case.params),
        base=replace(case.base, fields=shuffled(case.base.fields)),
        current=replace(case.current, fields=shuffled(case.current.fields)),
        between=tuple(replace(entry, changes=shuffled(entry.changes)) for entry in case.between),
    )

    assert judged_or_refused(permuted) == judged_or_refused(case)


def test_the_classifier_knows_no_clock_no_chance_and_no_surroundings() -> None:
    functions = [item for item in vars(conflicts).values() if inspect.isfunction(item)]
    methods = [item for item in vars(Case).values() if inspect.isfunction(item)]
    used = {name for function in (*functions, *methods) for name in function.__code__.co_names}

    assert not used & {"now", "utcnow", "today", "time", "monotonic", "random", "environ", "settings", "open"}
    assert not [name for name, item in vars(conflicts).items() if isinstance(item, (list, set)) and name[:2] != "__"]


# ---- what an open case holds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proposal", "elements"),
    [
        ("set-amount", {"refund_amount": None, "currency": None}),
        ("add-tag", {"tags": ('"photo"',)}),
        ("remove-tag-vip", {"tags": ('"vip"',)}),
        ("add-note", {"notes": ('"n9"',)}),
        ("record-contact", {"contact_attempts": None}),
        ("cancel", {}),
        ("pay", {"freeze:pay": None}),
    ],
)
def test_a_case_holds_what_its_proposal_writes(proposal: str, elements: Mapping[str, JSON]) -> None:
    asked = REFUND_PROPOSALS[proposal]
    command = REFUND.judged(asked.name)
    assert command is not None

    assert elements_written(command, asked.params) == elements


HOLDS = [
    Held("es-1", AGENT, "amount", {"refund_amount": None, "currency": None}),
    Held("es-2", AGENT, "tag", {"tags": ('"photo"',)}),
]


@pytest.mark.parametrize(
    ("proposal", "holder"),
    [
        ("set-amount", "es-1"),
        ("set-recipient", None),
        ("add-tag", "es-2"),
        ("add-tag-vip", None),
        ("add-note", None),
    ],
)
def test_a_case_keeps_agents_from_what_it_holds_and_from_nothing_else(proposal: str, holder: str | None) -> None:
    asked = REFUND_PROPOSALS[proposal]

    found = holding(HOLDS, REFUND.commands[asked.name].ops(asked.params))

    assert (found.escalation if found else None) == holder


# ---- budgets ---------------------------------------------------------------------------------------------

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
BUDGET = Budget(attempts=3, elapsed_seconds=600)


@pytest.mark.parametrize(
    ("counted", "seconds_since_first", "left"),
    [
        (0, None, Allowance(0, 3, 600)),
        (1, 0, Allowance(1, 2, 600)),
        (2, 30, Allowance(2, 1, 570)),
        (3, 31, Allowance(3, 0, 569)),
        (4, 32, Allowance(4, 0, 568)),
        (2, 599, Allowance(2, 1, 1)),
        (2, 600, Allowance(2, 1, 0)),
        (2, 86_400, Allowance(2, 1, 0)),
        (0, 86_400, Allowance(0, 3, 600)),
    ],
)
def test_a_budget_leaves_attempts_and_time(counted: int, seconds_since_first: int | None, left: Allowance) -> None:
    first_at = None if seconds_since_first is None else NOON - timedelta(seconds=seconds_since_first)

    assert allowance(BUDGET, Episode(counted, first_at), NOON) == left


@pytest.mark.parametrize(
    ("left", "is_exhausted"),
    [
        (Allowance(1, 2, 600), False),
        (Allowance(2, 1, 1), False),
        (Allowance(3, 0, 599), True),
        (Allowance(2, 1, 0), True),
    ],
)
def test_a_budget_is_exhausted_by_the_last_attempt_or_by_time(left: Allowance, is_exhausted: bool) -> None:
    assert left.is_exhausted is is_exhausted
