"""Loading definitions: every fault and warning with its place, one change of a sound definition at a time."""

import re
import tomllib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from runs.definitions import Workflow
from runs.errors import DefinitionInvalid
from runs.fields import Op, Verb
from runs.loading import load_workflow
from runs.loading.faults import FaultCode, WarningCode
from runs.states import Disposition, RunStatus
from runs.values import Budget

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests/runs/definitions_corpus"
CLAIM = (CORPUS / "claim.toml").read_text(encoding="utf-8")
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


def changed(*replacements: tuple[str, str]) -> str:
    """The claim definition with some of its texts replaced, each of which is there once."""
    text = CLAIM
    for old, new in replacements:
        assert text.count(old) == 1, f"“{old}” is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


_CHANGES = tomllib.loads((CORPUS / "claim_changes.toml").read_text(encoding="utf-8"))
WARNINGS = [Change(**item) for item in _CHANGES.pop("warnings")]
FAULTS = [Change(**item) for section in _CHANGES.values() for item in section]


def numbered(changes: list[Change]) -> list[str]:
    """A name for each change, by the line on which it stands among its like."""
    return [f"{number}: {change.code} at {change.place}" for number, change in enumerate(changes, 1)]


def faults_of(text: str) -> list[tuple[str, str]]:
    """Place and code of every fault of a definition."""
    with pytest.raises(DefinitionInvalid) as refusal:
        load_workflow(text)
    return [(fault.pointer, fault.code) for fault in refusal.value.errors]


def warnings_of(text: str) -> list[tuple[str, str]]:
    return [(warning.pointer, warning.code) for warning in load_workflow(text).warnings]


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


# ---- statuses that no run has ----------------------------------------------------------------------------

START = '[commands.start]\ntitle = "Start"\nscope = "claim:handle"\nallowed_in = ["received"]\nstatus = "working"\n'


def without_actions(text: str) -> str:
    return text[: text.index("[actions.pay]")]


def test_statuses_after_review_are_reached_only_where_something_is_frozen() -> None:
    assert faults_of(without_actions(CLAIM)) == [
        ("commands.file-letter.allowed_in", "unreachable-status"),
        ("commands.close.allowed_in", "unreachable-status"),
        ("commands.set-payout.allowed_in", "unreachable-status"),
    ]


def test_a_run_is_at_work_only_where_a_command_starts_it() -> None:
    text = changed(('allowed_in = ["received"]', 'allowed_in = ["working"]'))

    assert ("commands.flag.allowed_in", "unreachable-status") in faults_of(text)


def test_the_first_command_starts_the_work_where_none_declares_it() -> None:
    assert load_workflow(changed((START, ""))).warnings == ()


def test_freezing_early_and_denying_leads_to_work_as_well() -> None:
    text = changed(
        ('allowed_in = ["received"]', 'allowed_in = ["working"]'),
        (
            'allowed_in = ["working", "ready_for_review"]\non_conflict = [ {',
            'allowed_in = ["received"]\non_conflict = [ {',
        ),
    )

    assert load_workflow(text).warnings == ()


# ---- explicit merges -------------------------------------------------------------------------------------

RULES = CLAIM[CLAIM.index("on_conflict = [") : CLAIM.index('otherwise = "retry"\n\n[actions.pay]')]
COMMUTE = '{ when_changed = ["flags"], then = "merge", because = "Flags do not matter." }'


def rules(*written: str) -> str:
    return changed((RULES, f"on_conflict = [{', '.join(written)}]\n"))


def rule(*names: str, then: str, to: str = "") -> str:
    watched = ", ".join(f'"{name}"' for name in names)
    return f'{{ when_changed = [{watched}], {to} then = "{then}", because = "So it is." }}'


@pytest.mark.parametrize("then", ["retry", "reject", "escalate"])
def test_a_merge_is_sound_once_earlier_rules_decide_every_touched_decision(then: str) -> None:
    text = rules(rule("payout", then=then), rule("currency", then="escalate"), COMMUTE)

    assert load_workflow(text).warnings == ()


@pytest.mark.parametrize(
    "earlier",
    [
        [],
        [rule("payout", then="escalate")],
        [rule("payout", then="escalate"), rule("currency", then="escalate", to='to = ["EUR", "USD"],')],
        [rule("flags", "letters", "status", then="escalate")],
    ],
)
def test_a_merge_that_could_meet_a_touched_decision_is_refused(earlier: list[str]) -> None:
    place = f"commands.set-payout.on_conflict[{len(earlier)}].then"

    assert (place, "unsafe-merge") in faults_of(rules(*earlier, COMMUTE))


def test_a_later_rule_does_not_make_a_merge_sound() -> None:
    text = rules(COMMUTE, rule("payout", "currency", then="escalate"))

    assert faults_of(text) == [("commands.set-payout.on_conflict[0].then", "unsafe-merge")]


def test_a_merge_of_what_commutes_needs_no_earlier_rule() -> None:
    text = changed(("increment = { calls = 1 }", f"increment = {{ calls = 1 }}\non_conflict = [{COMMUTE}]"))

    assert load_workflow(text).warnings == ()


# ---- facts of consent ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["approved", "dispatching", "needs_reconciliation"])
def test_no_fact_of_consent_changes_between_approval_and_outcome(status: str) -> None:
    text = changed(('"sent", "failed", "revoked"]', f'"{status}"]'))

    assert faults_of(text) == [("commands.close.allowed_in", "consent-written-late")]


def test_a_fact_that_is_more_than_a_condition_does_not_change_at_the_end_of_a_cycle_either() -> None:
    """`stage` may change in `sent` as long as `only_when` is all that reads it."""
    text = changed(('reads = ["holder"]\nonly_when', 'reads = ["holder", "stage"]\nonly_when'))

    assert faults_of(text) == [("commands.close.allowed_in", "consent-written-late")]


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
