"""What a definition says as a whole: statuses that no run has, merges over decisions, facts that change too late."""

import pytest

from runs.loading import load_workflow
from tests.runs.claim import CLAIM, changed, faults_of

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
