"""Loading definitions: every fault and warning with its place, one change of a sound definition at a time."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.definitions import Workflow
from runs.errors import DefinitionInvalid
from runs.fields import Op, Verb
from runs.loading import load_workflow
from runs.loading.faults import FaultCode, WarningCode
from runs.states import Disposition, RunStatus
from runs.values import Budget
from tests.runs.claim import CLAIM, CORPUS, changed, faults_of, warnings_of

JSON = Any

ROOT = Path(__file__).parents[2]
SHIPPED = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "runs/workflows").glob("*.toml")}


@dataclass(frozen=True)
class Change:
    """One change of a sound definition, and what is then found where."""

    old: str
    new: str
    place: str
    code: str

    def text(self) -> str:
        return changed((self.old, self.new))


_CHANGES = tomllib.loads((CORPUS / "claim_changes.toml").read_text(encoding="utf-8"))
WARNINGS = [Change(**item) for item in _CHANGES.pop("warnings")]
FAULTS = [Change(**item) for section in _CHANGES.values() for item in section]


def numbered(changes: list[Change]) -> list[str]:
    """A name for each change, by the line on which it stands among its like."""
    return [f"{number}: {change.code} at {change.place}" for number, change in enumerate(changes, 1)]


# ---- sound definitions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CLAIM, *SHIPPED.values()], ids=["claim", *SHIPPED])
def test_a_sound_definition_has_neither_faults_nor_warnings(text: str) -> None:
    assert load_workflow(text).warnings == ()


def test_the_hash_of_a_definition_is_that_of_its_exact_bytes() -> None:
    assert load_workflow(CLAIM).workflow.sha256 == sha256(CLAIM.encode()).hexdigest()
    assert load_workflow(CLAIM + "#é").workflow.sha256 == sha256((CLAIM + "#é").encode()).hexdigest()


@pytest.fixture(scope="module")
def claim() -> Workflow:
    return load_workflow(CLAIM).workflow


def test_every_term_of_the_policy_is_read(claim: Workflow) -> None:
    policy = claim.policy

    assert policy.operators == {"claim-operators"}
    assert policy.reviewers == {"claim-reviewers"}
    assert (policy.quorum, policy.separation) == (2, "relaxed")
    assert (policy.decision_expires_after, policy.run_expires_after) == (12 * 3600, 90 * 86400)
    assert (policy.reauthenticate_within, policy.budget) == (300, Budget(4, 90))
    assert policy.limits == {"payout": "1000.00"}
    assert policy.retention["ledger"] == 800 * 86400


def test_operations_are_read_with_their_placeholders(claim: Workflow) -> None:
    set_payout = claim.commands["set-payout"]

    assert set_payout.effects == (Op("payout", Verb.SET, "{payout}"), Op("currency", Verb.SET, "{currency}"))
    assert claim.commands["count-call"].effects == (Op("calls", Verb.INCREMENT, 1),)
    assert claim.commands["file-letter"].effects == (Op("letters", Verb.APPEND, "{letter}"),)


def test_conflict_rules_are_read_in_their_order(claim: Workflow) -> None:
    rules = claim.commands["set-payout"].on_conflict

    assert [rule.then for rule in rules] == ["escalate", "reject", "escalate", "merge"]
    assert (rules[1].when_changed, rules[1].to, rules[1].because) == (("stage",), ("closed",), "The claim was closed.")
    assert rules[0].to is None


def test_what_is_not_said_has_its_default() -> None:
    text = changed(
        ('allowed_in = ["received", "working", "ready_for_review", "approved", "sent"]\notherwise = "merge"', ""),
        ('separation = "relaxed"\ndecision_expires_after = "12h"\nrun_expires_after = "90d"', ""),
        ('reauthenticate_within = "5m"\nbudget = { attempts = 4, elapsed = "90s" }', ""),
        ('dispatch = { timeout = "10s", lease = "30s", attempts = 2 }', "dispatch = { attempts = 3 }"),
    )

    workflow = load_workflow(text).workflow

    policy, dispatch = workflow.policy, workflow.actions["pay"].dispatch
    assert workflow.commands["file-letter"].otherwise is Disposition.ESCALATE
    assert workflow.commands["file-letter"].allowed_in == {RunStatus.RECEIVED, RunStatus.WORKING}
    assert workflow.actions["inform"].allowed_in == {RunStatus.WORKING, RunStatus.READY_FOR_REVIEW}
    assert workflow.actions["recall"].allowed_in == {RunStatus.SENT}
    assert (policy.separation, policy.budget, policy.reauthenticate_within) == ("strict", Budget(3, 600), None)
    assert (policy.decision_expires_after, policy.run_expires_after) == (86400, 30 * 86400)
    assert (dispatch.timeout_seconds, dispatch.lease_seconds, dispatch.attempts) == (20, 60, 3)


# ---- parameters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "params", "fit"),
    [
        ("file-letter", {"letter": {"id": "l1", "at": "2026-01-31"}}, True),
        ("file-letter", {"letter": {"id": "l1", "at": "a long time ago"}}, False),  # the reference inside leads home
        ("file-letter", {"letter": {"at": "2026-01-31"}}, False),
        ("file-letter", {}, False),
        ("flag", {"flag": "late"}, True),
        ("flag", {"flag": 3}, False),
        ("unflag", {"flag": "late"}, True),
        ("unflag", {"flag": "other"}, False),
        ("set-payout", {"payout": "10.00", "currency": "EUR"}, True),
        ("set-payout", {"payout": "10.00\n", "currency": "EUR"}, False),
        ("set-payout", {"payout": "10.00", "currency": "CHF"}, False),
        ("set-payout", {"payout": "10.00", "currency": "EUR", "note": ""}, False),
    ],
)
def test_parameters_take_what_their_field_can_hold(
    claim: Workflow, command: str, params: dict[str, object], fit: bool
) -> None:
    assert claim.commands[command].validator.is_valid(params) is fit


@pytest.mark.parametrize(("value", "fits"), [("fresh", True), (3, False), ("other", False)])
def test_a_wider_parameter_is_narrowed_to_the_field_it_is_written_to(value: object, fits: bool) -> None:
    text = changed(('schema = { enum = ["fresh", "late"] }', 'schema = { enum = ["fresh", 3] }'))

    workflow = load_workflow(text).workflow

    assert workflow.commands["unflag"].validator.is_valid({"flag": value}) is fits


@pytest.mark.parametrize(("value", "fits"), [(1, True), (1_000_000, True), (0, False), (-1, False), (1_000_001, False)])
def test_an_increment_is_positive_and_bounded(value: int, fits: bool) -> None:
    text = changed(("increment = { calls = 1 }", 'params.n = { field = "calls" }\nincrement = { calls = "{n}" }'))

    workflow = load_workflow(text).workflow

    assert workflow.commands["count-call"].validator.is_valid({"n": value}) is fits


# ---- faults ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", FAULTS, ids=numbered(FAULTS))
def test_a_fault_is_named_with_its_place(change: Change) -> None:
    assert faults_of(change.text()) == [(change.place, change.code)]


def test_all_faults_are_named_at_once() -> None:
    text = changed(
        ("quorum = 2", "quorum = 0"),
        ('title = "Start"', ""),
        ('then = "reject"', 'then = "refuse"'),
        ('reads = ["letters"]', 'reads = ["leters"]'),
        ('scope = "claim:amount"\nreads', 'scope = "claim:handle"\nreads'),
    )

    assert set(faults_of(text)) == {
        ("policy.quorum", "too-small"),
        ("commands.start.title", "missing-key"),
        ("commands.set-payout.on_conflict[1].then", "not-among"),
        ("commands.set-payout.reads[0]", "unknown-field"),
        ("commands.set-payout.scope", "owner-scope"),
    }


def test_nothing_is_concluded_from_what_is_faulty_itself() -> None:
    text = changed(
        ('schema = { type = "string", pattern = "^[0-9]{1,6}\\\\.[0-9]{2}$" }', 'schema = { type = "money" }')
    )

    assert faults_of(text) == [("fields.payout.schema", "bad-schema")]


def test_an_empty_definition_lacks_exactly_what_must_be_given() -> None:
    assert faults_of("") == [(key, "missing-key") for key in ("slug", "title", "policy", "create")]


@pytest.mark.parametrize("text", ["x = " + "[" * 10_000, "slug = 'a'\nslug = 'b'", "\ufeffslug = 'a'", "slug = 'a\0'"])
def test_what_is_no_toml_is_a_fault_and_nothing_else(text: str) -> None:
    assert [code for _, code in faults_of(text)] == ["syntax"]


# ---- anything at all -------------------------------------------------------------------------------------

Place = tuple[str | int, ...]

anything = st.recursive(
    st.booleans() | st.integers(-1, 1) | st.sampled_from(["", "x", "{", "{fields.x}", "working", "payout", "request"]),
    lambda below: (
        st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["$ref", "type", "id"]), below, max_size=2)
    ),
    max_leaves=4,
)


def written(value: JSON) -> str:
    """A value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {written(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def places(value: JSON, place: Place = ()) -> Iterator[Place]:
    """The place of every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield (*place, name)
        yield from places(item, (*place, name))


def put(document: JSON, place: Place, value: JSON) -> JSON:
    """The document with another value in one place."""
    if not place:
        return value
    copy = document.copy()
    copy[place[0]] = put(copy[place[0]], place[1:], value)
    return copy


@given(place=st.sampled_from(list(places(tomllib.loads(CLAIM)))), value=anything)
def test_whatever_is_written_anywhere_is_sound_or_refused_in_words(place: Place, value: JSON) -> None:
    document = put(tomllib.loads(CLAIM), place, value)

    try:
        workflow = load_workflow(
            "\n".join(f"{json.dumps(key)} = {written(item)}" for key, item in document.items())
        ).workflow
    except DefinitionInvalid as refusal:
        assert all(fault.code in set(FaultCode) and fault.detail for fault in refusal.errors)
    else:
        assert all(field.validator for field in workflow.fields.values())
        assert all(command.validator for command in workflow.commands.values())


# ---- warnings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", WARNINGS, ids=numbered(WARNINGS))
def test_what_is_probably_not_meant_is_a_warning(change: Change) -> None:
    assert warnings_of(change.text()) == [(change.place, change.code)]


# ---- the written manual ----------------------------------------------------------------------------------


def test_every_code_has_a_case() -> None:
    tested = {change.code for change in [*FAULTS, *WARNINGS]} | {"unreachable-status"}

    assert tested == {*FaultCode, *WarningCode}


MANUAL = (ROOT / "docs/workflows.md").read_text(encoding="utf-8")


def test_the_manual_explains_every_code() -> None:
    explained = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", MANUAL, re.MULTILINE)

    assert {*FaultCode, *WarningCode} <= set(re.findall(r"[a-z-]+", " ".join(explained)))


def test_the_example_in_the_manual_is_sound() -> None:
    example = re.findall(r"```toml\n(.*?)```", MANUAL, re.DOTALL)[0]

    assert load_workflow(example).warnings == ()
