"""What is shown of frozen bytes: members decoded, every byte, what is odd about either, and the first facts."""

import json

import pytest

from console import payloads
from console.hostile import inspect
from console.payloads import cut, first_facts, inspect_json, read_payload
from runs.digest import canonical

TEMPLATE = {
    "case": "{run.key}",
    "amount": "{fields.refund_amount}",
    "currency": "{fields.currency}",
    "recipient": "{fields.recipient}",
}
PAID = {"amount": "25.00", "case": "R-7", "currency": "EUR", "recipient": "Ana Lima"}


def facts(payload: object, template: dict[str, str] | None = None, most: int = 3) -> list[tuple[str, str]]:
    return [(fact.label, str(fact.value)) for fact in first_facts(read_payload(canonical(payload)), template, most)]


# ---- members and bytes -------------------------------------------------------------------------------------


def test_every_value_stands_by_its_place_and_every_byte_stands_as_it_is_sent() -> None:
    body = canonical({"to": [{"name": "Ana"}, {"name": None}], "n": 1, "empty": {}, "text": ""})

    payload = read_payload(body)

    told = [(str(member.place), str(member.value), member.is_set) for member in payload.members]
    assert told == [
        ("empty", "{}", True),
        ("n", "1", True),
        ("text", "", True),
        ("to/0/name", "Ana", True),
        ("to/1/name", "", False),
    ]
    assert str(payload.exact) == body.decode()
    assert not payload.is_suspicious


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Ana\u202eLima", "characters that turn the reading direction around"),
        ("Ana" + " " * 200 + "Lima", "long runs of blanks"),
        ("Ana" + "\n" * 200 + "Lima", "long runs of empty lines"),
        ("\u0410na Lima", "letters that look like others"),
        ("Ana\u200b", "invisible characters"),
        ("\x1b[31mAna", "control characters"),
    ],
)
@pytest.mark.parametrize("where", ["value", "name", "deep"])
def test_what_asks_for_a_second_look_is_found_in_values_and_names(text: str, finding: str, where: str) -> None:
    made = {"value": {"to": text}, "name": {text: 1}, "deep": {"a": [{"b": [text]}]}}[where]

    assert finding in read_payload(canonical(made)).findings


def test_ordinary_names_of_any_language_ask_for_nothing() -> None:
    names = ["Ana Lima", "Мария Иванова", "محمد", "李雷", "François"]

    assert read_payload(canonical(names)).findings == ()


def test_escaped_padding_is_counted_in_the_bytes_as_well() -> None:
    body = canonical({"note": "a" + "\n" * 200_000 + "and send it twice"}).decode()

    shown = inspect_json(body)

    assert str(shown) == '{"note":"a⟨200,000 line breaks⟩and send it twice"}'
    assert shown.findings == ("long runs of empty lines",)


def test_an_escaped_backslash_before_a_run_is_none_of_it() -> None:
    text = json.dumps("\\n" + "\n" * 30)

    assert str(inspect_json(text)) == '"\\\\n⟨30 line breaks⟩"'


def test_of_many_members_the_first_stand_one_by_one_and_the_rest_are_counted() -> None:
    payload = read_payload(canonical(list(range(payloads.MOST_MEMBERS + 7))))

    assert (len(payload.members), payload.more) == (payloads.MOST_MEMBERS, 7)


@pytest.mark.parametrize(
    "value", ["xy" * payloads.LARGEST_BESIDE, "e\u202e" * payloads.MOST_PIECES], ids=["long", "in many pieces"]
)
def test_what_is_too_long_has_a_page_of_its_own_and_only_begins_beside_the_decision(value: str) -> None:
    payload = read_payload(canonical(value))

    assert payload.has_own_page
    assert "more characters" in str(payload.beginning)
    assert len(str(payload.beginning)) < 2 * payloads.LONGEST_VALUE


@pytest.mark.parametrize("value", [PAID, "\n" * 200_000], ids=["short", "only padding"])
def test_what_can_be_shown_whole_is(value: object) -> None:
    payload = read_payload(canonical(value))

    assert not payload.has_own_page
    assert payload.beginning is payload.exact


# ---- the facts that stand first ----------------------------------------------------------------------------


def test_money_is_one_fact_with_its_currency_and_stands_first() -> None:
    assert facts(PAID, TEMPLATE) == [("Amount", "25.00 EUR"), ("Recipient", "Ana Lima")]


def test_a_fact_knows_the_fields_it_was_rendered_from() -> None:
    money, recipient = first_facts(read_payload(canonical(PAID)), TEMPLATE, 3)

    assert money.fields == ("refund_amount", "currency")
    assert recipient.fields == ("recipient",)


def test_of_a_supplied_payload_what_people_look_for_comes_first() -> None:
    mail = {"body": "…", "cc": "x", "subject": "Q3", "to": "ana@example.com", "artifacts": {"research": {}}}

    assert facts(mail) == [("To", "ana@example.com"), ("Subject", "Q3"), ("Body", "…")]


def test_what_is_no_object_has_no_facts() -> None:
    assert facts(["25.00"]) == []


def test_a_long_value_is_cut_and_says_how_much_is_left_out() -> None:
    shown = cut(inspect("a" * 50), 20)

    assert str(shown) == "a" * 20 + "⟨30 more characters⟩"
    assert shown.segments[-1].note == "all of it stands below"


def test_marks_take_their_room_when_a_text_is_cut() -> None:
    shown = cut(inspect("a\u202e" * 40), 40)

    assert len(str(shown)) < 80
    assert shown.findings == ("characters that turn the reading direction around",)
