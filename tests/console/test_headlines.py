"""What a conflict is about, as facts: what was asked for, and what was done instead."""

from typing import Any

import pytest

from console.headlines import LONGEST_VALUE, RULES, Asked, Headline, Meanwhile, headline, rule_words, short
from runs.definitions import Command, Workflow
from runs.fields import Verb
from runs.loading import load_workflow
from tests.cast import DEFINITIONS

REFUND: Workflow = load_workflow((DEFINITIONS / "refund.toml").read_text()).workflow


def command(name: str) -> Command:
    found = REFUND.command(name)
    assert found is not None
    return found


def change(field: str, base: Any, current: Any, version: int = 21, **more: Any) -> dict[str, Any]:
    """A field that Mara changed since the base."""
    return {"field": field, "base": base, "current": current, "restored": False, "version": version,
            "changed_by": "user:mara", "command_id": "c-1"} | more  # fmt: skip


def about(name: str, params: dict[str, Any], *changed: dict[str, Any], **facts: Any) -> Headline:
    conflict = {"principal": "agent:pricing", "base_version": 20, "changed_fields": list(changed)} | facts
    return headline(REFUND, command(name), {"params": params}, conflict)


def test_a_headline_names_both_values_of_what_both_changed() -> None:
    found = about(
        "set-refund-amount", {"amount": "45.00", "currency": "EUR"},
        change("refund_amount", "30.00", "25.00"), base_fields={"currency": "EUR"},
    )  # fmt: skip

    assert found.proposer == "agent:pricing"
    assert found.base_version == 20
    assert found.asked == (Asked(Verb.SET, "refund_amount", "45.00", "30.00"),)
    assert found.meanwhile == (Meanwhile("user:mara", "refund_amount", "25.00", 21, False),)


def test_what_is_only_repeated_is_left_out_unless_it_is_all_there_is() -> None:
    params = {"amount": "30.00", "currency": "EUR"}
    bases = {"refund_amount": "30.00", "currency": "EUR"}

    found = about("set-refund-amount", params, change("recipient", "Ana", "Bo"), base_fields=bases)

    assert [asked.field for asked in found.asked] == ["refund_amount", "currency"]


def test_of_what_was_done_since_the_written_fields_count_then_the_relevant_then_all() -> None:
    params = {"category": "damage"}
    other, read, written = (
        change("notes", [], ["x"]),
        change("messages", [], ["y"]),
        change("category", None, "billing"),
    )

    assert [done.field for done in about("set-category", params, other, read, written).meanwhile] == ["category"]
    assert [done.field for done in about("set-category", params, other, read).meanwhile] == ["messages"]
    assert [done.field for done in about("set-category", params, other).meanwhile] == ["notes"]


def test_a_field_that_was_set_back_is_known_as_such() -> None:
    (done,) = about("set-category", {"category": "damage"}, change("category", "x", "x", restored=True)).meanwhile

    assert done.is_restored


@pytest.mark.parametrize(
    ("name", "params", "asked"),
    [
        ("add-tag", {"tag": "vip"}, Asked(Verb.ADD, "tags", "vip")),
        ("remove-tag", {"tag": "vip"}, Asked(Verb.REMOVE, "tags", "vip")),
        ("add-note", {"note": {"id": "n1", "text": "Call back"}}, Asked(Verb.APPEND, "notes", "Call back")),
        ("record-contact", {}, Asked(Verb.INCREMENT, "contact_attempts", "1")),
        ("close-case", {}, Asked(Verb.SET, "case_state", "closed")),
    ],
)
def test_each_kind_of_change_is_asked_for_in_its_own_way(name: str, params: dict[str, Any], asked: Asked) -> None:
    assert about(name, params, change("notes", [], [])).asked == (asked,)


def test_a_command_that_writes_nothing_is_told_by_its_title() -> None:
    found = about("cancel", {}, change("notes", [], []))

    assert found.asked == ()
    assert found.title == "Cancel the run"


def test_a_log_has_no_single_value() -> None:
    (done,) = about("set-category", {"category": "x"}, change("messages", [], [{"id": "m1"}])).meanwhile

    assert done.value == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a  b\n c", "a b c"), (None, ""), (7, "7"), ("x" * LONGEST_VALUE, "x" * LONGEST_VALUE), ("x" * 61, "")],
)
def test_a_value_is_shown_on_one_line_or_not_at_all(value: Any, shown: str) -> None:
    assert short(value) == shown


def test_a_declared_rule_is_told_by_its_number_and_the_others_by_their_meaning() -> None:
    assert rule_words(command("set-category"), "on_conflict[1]").name == "Rule 2 of set-category"
    assert all(rule_words(command("set-category"), name).explains for name in RULES)
    assert rule_words(command("set-category"), "").explains == ""
