"""A definition in words: every rule has its place, and every conflict leads to the one that decided it."""

import pytest

from console.headlines import RULES
from console.rule_book import holds, rule_anchor, write_rule_book
from runs.definitions import Workflow
from runs.states import Disposition
from tests import cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def refund() -> Workflow:
    return cast.definition("refund")


def test_every_rule_of_every_command_and_action_is_told_with_its_own_words(refund: Workflow) -> None:
    book = write_rule_book(refund)
    told = {page.name: page.conditions for page in book.commands}
    told |= {page.conditions.anchor: page.conditions for page in book.actions}

    for name, item in {**refund.commands, **refund.freezes}.items():
        rules = told[name].rules
        assert [(rule.when, rule.then, rule.because) for rule in rules] == [
            (rule.when_changed, rule.then, rule.because) for rule in item.on_conflict
        ]
        assert [rule.anchor for rule in rules] == [
            rule_anchor(name, f"on_conflict[{number}]") for number in range(len(item.on_conflict))
        ]


def test_anchors_are_unique_on_the_page(refund: Workflow) -> None:
    book = write_rule_book(refund)
    pages = [*(page.conditions for page in book.commands), *(page.conditions for page in book.actions)]
    anchors = [rule.anchor for conditions in pages for rule in conditions.rules]
    anchors += [conditions.anchor for conditions in pages]

    assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize(
    ("rule", "anchor"),
    [
        ("on_conflict[0]", "set-category.1"),
        ("on_conflict[12]", "set-category.13"),
        ("default", "set-category.otherwise"),
        *((name, f"rule.{name}") for name in RULES if name != "default"),
    ],
)
def test_every_rule_that_a_conflict_may_name_has_a_place(rule: str, anchor: str) -> None:
    assert rule_anchor("set-category", rule) == anchor


def test_what_a_command_does_is_said_in_words(refund: Workflow) -> None:
    does = {page.name: page.does for page in write_rule_book(refund).commands}

    assert does["set-refund-amount"] == ("sets refund_amount to what is given", "sets currency to what is given")
    assert does["close-case"] == ("sets case_state to closed",)
    assert does["record-contact"] == ("raises contact_attempts by 1",)
    assert does["remove-tag"] == ("removes what is given from tags",)


def test_a_condition_is_said_with_the_words_of_the_workflow(refund: Workflow) -> None:
    close = next(page for page in write_rule_book(refund).commands if page.name == "close-case").conditions

    assert close.only_when == (("case_state", "open"),)
    assert "refund paid" in close.allowed_in
    assert (close.otherwise, close.otherwise_words.split(":")[0]) == (Disposition.RETRY, "Sent back")


def test_an_action_tells_the_facts_that_an_approval_is_given_for(refund: Workflow) -> None:
    pay = write_rule_book(refund).actions[0]

    assert pay.facts == ("case_state", "currency", "recipient", "refund_amount")
    assert ("amount", "{fields.refund_amount}") in pay.payload
    assert pay.dispatch == "5 attempts at most, each within 20s, leased for 1m"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "a whole number"),
        ({"enum": ["EUR", "USD"]}, "EUR, USD"),
        ({"type": "string", "pattern": r"^[0-9]{1,9}\.[0-9]{2}$"}, "a decimal number"),
        ({"type": "string", "maxLength": 60}, "text, at most 60 characters"),
        ({"type": "string"}, "text"),
        ({"type": "object", "properties": {"id": {}, "text": {}}}, "items with id, text"),
        ({"type": "integer", "minimum": 1}, '{"minimum": 1, "type": "integer"}'),
    ],
)
def test_what_a_field_holds_is_said_shortly(schema: dict[str, object], words: str) -> None:
    assert holds(schema) == words


@pytest.mark.parametrize("slug", ["refund", "report"])
def test_every_shipped_workflow_has_a_book(slug: str) -> None:
    workflow = cast.definition(slug)

    book = write_rule_book(workflow)

    assert len(book.fields) == len(workflow.fields)
    assert len(book.builtins) == 4
