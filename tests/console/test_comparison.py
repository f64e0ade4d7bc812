"""Three sides of a case, field by field: which come first, who touched them, and by how much they differ."""

import pytest

from console.comparison import Comparison, Place, Sides, Touch, compare, compare_values, proposed_values
from runs.definitions import Command, Workflow
from runs.loading import load_workflow
from runs.values import ChangedField
from tests.cast import DEFINITIONS
from tests.console.test_stories import AT

REFUND: Workflow = load_workflow((DEFINITIONS / "refund.toml").read_text()).workflow

BASE = {
    "messages": [{"id": "m1", "from": "customer", "text": "Hello"}], "notes": [], "tags": ["late"],
    "contact_attempts": 1, "category": None, "case_state": "open", "assigned_owner": None,
    "refund_amount": "30.00", "currency": "EUR", "recipient": "Ana Lima",
}  # fmt: skip


def changed(name: str, base: object, current: object, version: int = 21, command_id: str = "c-7e9") -> ChangedField:
    return ChangedField(name, base, current, base == current, version, "user:mara", command_id)


def command(name: str) -> Command:
    found = REFUND.command(name)
    assert found is not None
    return found


def against(*changes: ChangedField, amount: str = "45.00", currency: str = "EUR", base: bool = True) -> Comparison:
    """An amount proposed on `BASE`, while these changes were made."""
    current = BASE | {item.field: item.current for item in changes}
    sides = Sides(BASE if base else None, current, {item.field: item for item in changes}, {21: Place(31, AT)})
    return compare(REFUND, command("set-refund-amount"), {"amount": amount, "currency": currency}, sides)


def test_what_both_changed_comes_first_then_the_proposal_then_what_changed_since() -> None:
    found = against(changed("tags", ["late"], []), changed("refund_amount", "30.00", "25.00"), currency="USD")

    assert [(row.name, row.touch) for row in found.touched] == [
        ("refund_amount", Touch.BOTH),
        ("currency", Touch.PROPOSAL),
        ("tags", Touch.SINCE),
    ]
    assert len(found.untouched) == 7


def test_what_is_material_leads_its_group() -> None:
    found = against(changed("category", None, "damage"), changed("recipient", "Ana Lima", "Bo Chen"))

    assert [row.name for row in found.touched if row.touch is Touch.SINCE] == ["recipient", "category"]


def test_a_row_tells_by_how_much_each_side_moved_and_how_far_they_are_apart() -> None:
    (row,) = against(changed("refund_amount", "30.00", "25.00")).touched

    assert row.proposal is not None
    assert (row.current.delta, row.proposal.delta, row.between) == ("\u22125.00", "+15.00", "+20.00")
    assert row.place == Place(31, AT)


def test_what_a_proposal_only_repeats_is_folded_away_unless_somebody_changed_it() -> None:
    alone = against(changed("refund_amount", "30.00", "25.00"))
    contested = against(changed("currency", "EUR", "USD"))

    assert "currency" in [row.name for row in alone.untouched]
    assert [(row.name, row.touch) for row in contested.touched if row.name == "currency"] == [("currency", Touch.BOTH)]


def test_a_change_of_status_stands_beside_the_fields() -> None:
    sides = Sides(
        BASE | {"status": "working"}, BASE | {"status": "sent"}, {"status": changed("status", "working", "sent")}
    )

    found = compare(REFUND, command("set-category"), {"category": "damage"}, sides)

    assert [row.name for row in found.touched] == ["category", "status"]


def test_a_base_that_is_not_known_any_more_is_said_to_be_unknown() -> None:
    found = against(changed("refund_amount", "30.00", "25.00"), base=False)

    assert not any(row.has_base for row in (*found.touched, *found.untouched))


@pytest.mark.parametrize(
    ("command_id", "shown"),
    [("c-7e9", "c-7e9"), ("x" * 16, "x" * 16), ("01a22ec0-672b-757e-b964-e7eece907a4d", "01a22ec0\u20267a4d")],
)
def test_a_long_id_of_a_command_is_cut_in_the_middle(command_id: str, shown: str) -> None:
    (row,) = against(changed("refund_amount", "30.00", "25.00", command_id=command_id)).touched

    assert row.command == shown


def test_every_touch_is_said_in_words_with_an_icon_and_a_tone() -> None:
    rows = against(changed("refund_amount", "30.00", "25.00"), changed("tags", ["late"], []), currency="USD").touched

    assert [(row.words, row.icon, row.tone) for row in rows] == [
        ("changed by both", "users", "bad"),
        ("changed by the proposal", "bot", "agent"),
        ("changed since", "history", "warn"),
    ]


def test_what_a_command_would_write_is_computed_from_the_fields_given() -> None:
    note = {"id": "n1", "text": "x"}

    assert proposed_values(command("add-tag"), {"tag": "vip"}, BASE) == {"tags": ["late", "vip"]}
    assert proposed_values(command("remove-tag"), {"tag": "late"}, BASE) == {"tags": []}
    assert proposed_values(command("record-contact"), {}, BASE) == {"contact_attempts": 2}
    assert proposed_values(command("add-note"), {"note": note}, BASE) == {"notes": [note]}


def test_an_item_whose_id_is_taken_is_shown_in_its_place() -> None:
    message = {"id": "m1", "from": "customer", "text": "Other words"}

    assert proposed_values(command("add-message"), {"message": message}, BASE) == {"messages": [message]}


def test_two_objects_are_compared_by_member() -> None:
    found = compare_values({"amount": "30.00", "to": "Ana", "old": 1}, {"amount": "25.00", "to": "Ana"})

    assert [row.name for row in found.touched] == ["amount", "old"]
    assert [row.name for row in found.untouched] == ["to"]
