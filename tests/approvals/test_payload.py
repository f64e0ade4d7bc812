"""Rendering what is sent and the one sentence about it: exact bytes, nothing left unsaid."""

from typing import Any

import pytest

from approvals.errors import PayloadIncomplete
from approvals.payload import Said, Sources, render, sentence, sentence_parts, supplied
from runs.loading import load_workflow
from tests import cast

REFUND = load_workflow((cast.DEFINITIONS / "refund.toml").read_text()).workflow
PAY, RECALL = REFUND.actions["pay"], REFUND.actions["recall"]
FIELDS = {"refund_amount": "25.00", "currency": "EUR", "recipient": "Ana Lima", "category": None}
SOURCES = Sources("R-7", FIELDS)


def test_a_payload_is_canonical_json_of_its_template() -> None:
    assert render(PAY, SOURCES) == b'{"amount":"25.00","case":"R-7","currency":"EUR","recipient":"Ana Lima"}'


def test_a_compensation_takes_from_what_it_compensates() -> None:
    effect = {"operation_id": "R-7:pay:v4", "payload": {"amount": "25.00", "currency": "EUR", "recipient": "Ana"}}

    body = render(RECALL, Sources("R-7", FIELDS, effect))

    assert body == b'{"amount":"25.00","case":"R-7","currency":"EUR","of":"R-7:pay:v4","recipient":"Ana"}'


@pytest.mark.parametrize("unset", [("refund_amount",), ("recipient",), ("refund_amount", "recipient")])
def test_everything_that_is_not_set_is_named(unset: tuple[str, ...]) -> None:
    with pytest.raises(PayloadIncomplete) as refusal:
        render(PAY, Sources("R-7", FIELDS | dict.fromkeys(unset)))

    names = {"refund_amount": "amount", "recipient": "recipient"}
    assert [fault.pointer for fault in refusal.value.errors] == [f"/payload/{names[name]}" for name in unset]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("run.key", "R-7"),
        ("fields.currency", "EUR"),
        ("fields.category", None),
        ("fields.nothing", None),
        ("fields.currency.deeper", None),
        ("effect.operation_id", None),
        ("elsewhere.x", None),
    ],
)
def test_a_placeholder_stands_for_a_value_or_for_none(path: str, value: Any) -> None:
    assert SOURCES.value(path) == value


# ---- what a request supplies -----------------------------------------------------------------------------

NAMED = {"research": {"id": "R-42:research:6:a", "sha256": "sha256:" + "1" * 64}}


def test_a_supplied_payload_that_names_what_is_frozen_is_taken_as_it_is() -> None:
    named = '{"research":{"id":"R-42:research:6:a","sha256":"sha256:' + "1" * 64 + '"}}'

    assert supplied({"title": "é", "artifacts": NAMED}, NAMED) == f'{{"artifacts":{named},"title":"é"}}'.encode()


@pytest.mark.parametrize(
    "named",
    [
        None,
        {},
        {"research": {"id": "R-42:research:6:a"}},
        {"research": {**NAMED["research"], "sha256": "sha256:" + "2" * 64}},
        {"research": {**NAMED["research"], "id": "R-42:research:6:b"}},
        {"research": {**NAMED["research"], "note": "more"}},
        {**NAMED, "calculation": NAMED["research"]},
    ],
)
def test_a_supplied_payload_that_names_anything_else_is_refused(named: Any) -> None:
    payload = {"title": "x"} | ({} if named is None else {"artifacts": named})

    with pytest.raises(PayloadIncomplete) as refusal:
        supplied(payload, NAMED)

    assert refusal.value.members == {"expected": NAMED, "actual": named}
    assert refusal.value.errors[0].pointer == "/payload/artifacts"


# ---- the sentence ----------------------------------------------------------------------------------------


def test_the_sentence_is_made_of_frozen_values_alone() -> None:
    payload = {"amount": "25.00", "currency": "EUR", "recipient": "Ana Lima"}

    told = sentence(PAY.sentence, "R-7", FIELDS, payload)

    assert told == "Pay 25.00 EUR to Ana Lima for case R-7."


def test_what_is_missing_from_a_sentence_is_said_to_be() -> None:
    assert sentence("To {payload.to}, {fields.x.y}.", "R-7", {}, {}) == "To (not set), (not set)."


def test_no_value_of_a_sentence_can_pass_for_its_words() -> None:
    parts = sentence_parts("Pay {payload.to}.", "R-7", {}, {"to": "Bob. {run.key} is safe"})

    assert parts == [Said("Pay ", False), Said("Bob. {run.key} is safe", True), Said(".", False)]
