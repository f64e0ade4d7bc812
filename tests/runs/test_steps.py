"""Which steps a run allows, judged without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runs.loading import load_workflow
from runs.states import Role, RunStatus
from runs.steps import NextStep, Standpoint, expires_at, held_fields, next_steps
from runs.values import Held, Principal, RunReading, RunState
from tests.cast import DEFINITIONS

REFUND = load_workflow((DEFINITIONS / "refund.toml").read_text()).workflow
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
FIELDS = {name: item.first_value for name, item in REFUND.fields.items()}
PAYABLE: dict[str, Any] = {"refund_amount": "30.00", "recipient": "Ana Lima"}

OPERATOR = Principal("person", "ada", roles=frozenset({Role.OPERATOR}), groups=frozenset({"refund-operators"}))
REVIEWER = Principal("person", "ben", roles=frozenset({Role.REVIEWER}), groups=frozenset({"refund-reviewers"}))
ADMIN = Principal("person", "dora", roles=frozenset({Role.ADMIN}))
CLASSIFIER = Principal(
    "agent", "classifier", scopes=frozenset({"refund:classify"}), workflows=frozenset({"refund"}), owner="ada"
)


def run(status: RunStatus = RunStatus.WORKING, held: tuple[Held, ...] = (), **fields: Any) -> RunReading:
    return RunReading(
        id=1,
        key="R-1",
        workflow="refund",
        revision=1,
        version=2,
        head_seq=2,
        head_hash="0" * 64,
        input_version=1,
        state=RunState(status, FIELDS | fields),
        created_at=NOON,
        updated_at=NOON,
        cycle_started_at=NOON,
        held=held,
    )


def steps(
    principal: Principal, at: RunReading, *, is_halted: bool = False, suspended: bool = False
) -> dict[str, NextStep]:
    policy = replace(REFUND.policy, suspended=suspended)
    return {item.step: item for item in next_steps(Standpoint(principal, at, REFUND, policy, is_halted))}


def test_every_command_and_action_is_listed_but_what_only_the_clock_does() -> None:
    listed = set(steps(OPERATOR, run()))

    commands = {f"command:{name}" for name in (*REFUND.commands, "cancel", "reopen", "move-to-revision")}
    actions = {f"action:{name}" for name in REFUND.actions}
    assert listed == commands | actions


def test_an_agent_may_take_what_its_scopes_cover_and_reads_which_scope_is_missing() -> None:
    found = steps(CLASSIFIER, run())

    assert found["command:set-category"].as_json() == {
        "step": "command:set-category",
        "title": "Set the category",
        "legal": True,
        "by": "refund:classify",
    }
    assert found["command:add-note"].because == "This needs the scope refund:note."
    assert found["action:pay"].because == "This needs the scope refund:pay."
    assert found["command:reopen"].by == "operators"


def test_a_step_the_status_forbids_names_where_it_is_possible() -> None:
    found = steps(OPERATOR, run(RunStatus.SENT))

    assert found["command:set-category"].because == (
        "“Set the category” is possible while the run is new, in handling; it is refund paid."
    )
    assert found["command:reopen"].because is None


def test_a_step_a_field_forbids_names_the_value_it_needs() -> None:
    found = steps(OPERATOR, run(case_state="closed"))

    assert found["command:set-category"].because == (
        "“Set the category” is possible only while case_state is open; it is closed."
    )


def test_reviewers_and_admins_hold_no_scope_but_an_admin_may_move_a_run() -> None:
    for_reviewer, for_admin = steps(REVIEWER, run()), steps(ADMIN, run())

    assert [name for name, item in for_reviewer.items() if item.because is None] == []
    assert [name for name, item in for_admin.items() if item.because is None] == ["command:move-to-revision"]


def test_an_action_needs_every_field_that_its_payload_shows() -> None:
    unset = steps(OPERATOR, run(recipient="Ana Lima"))["action:pay"]
    complete = steps(OPERATOR, run(**PAYABLE))["action:pay"]

    assert unset.because == "“Pay the refund” shows refund_amount, which nobody has set yet."
    assert complete.because is None


def test_an_action_waits_for_an_escalation_that_would_change_a_fact_of_consent() -> None:
    amount = Held("es-1", "agent:pricing", "set-refund-amount", {"refund_amount": None})
    note = Held("es-2", "agent:pricing", "add-note", {"notes": ('"n1"',)})

    disputed = steps(OPERATOR, run(held=(amount,), **PAYABLE))["action:pay"]
    undisputed = steps(OPERATOR, run(held=(note,), **PAYABLE))["action:pay"]

    assert disputed.because == "An open escalation proposes to change refund_amount: an operator settles it first."
    assert undisputed.because is None


@pytest.mark.parametrize("stop", ["is_halted", "suspended"])
def test_what_stops_agents_leaves_commands_of_people_alone_and_freezes_nothing(stop: str) -> None:
    for_agent = steps(CLASSIFIER, run(**PAYABLE), **{stop: True})
    for_person = steps(OPERATOR, run(**PAYABLE), **{stop: True})

    assert for_agent["command:set-category"].because
    assert for_person["command:set-category"].because is None
    assert for_person["action:pay"].because and "nothing is frozen" in for_person["action:pay"].because


def test_held_fields_are_named_once() -> None:
    tag = Held("es-1", "agent:a", "add-tag", {"tags": ('"vip"',)})
    both = Held("es-2", "agent:b", "set-refund-amount", {"tags": ('"x"',), "refund_amount": None})

    assert held_fields(run(held=(tag, both))) == ["refund_amount", "tags"]


def test_a_run_expires_after_its_cycle_began_while_it_can_expire() -> None:
    later = NOON + timedelta(days=3)

    assert expires_at(run(), REFUND.policy) == NOON + timedelta(days=30)
    assert expires_at(replace(run(), cycle_started_at=later), REFUND.policy) == later + timedelta(days=30)
    assert expires_at(run(RunStatus.SENT), REFUND.policy) is None
