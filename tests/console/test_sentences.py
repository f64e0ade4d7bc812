"""The one sentence of an action: values told apart from our words, and long ones cut."""

from console.sentences import LONGEST_SAID, said_of, words_of
from runs.loading import load_workflow
from tests import cast

PAY = load_workflow((cast.DEFINITIONS / "refund.toml").read_text()).workflow.actions["pay"]
MANIFEST: dict[str, dict[str, dict[str, object]]] = {"facts": {"values": {}}}


def words(**payload: object) -> list[tuple[str, bool]]:
    said = words_of(said_of(PAY, "R-7", MANIFEST, payload))
    return [(str(word.value) if word.value else word.text, word.value is not None) for word in said]


def test_words_of_the_definition_and_frozen_values_are_told_apart() -> None:
    assert words(amount="25.00", currency="EUR", recipient="Ana Lima") == [
        ("Pay ", False),
        ("25.00", True),
        (" ", False),
        ("EUR", True),
        (" to ", False),
        ("Ana Lima", True),
        (" for case ", False),
        ("R-7", True),
        (".", False),
    ]


def test_a_value_that_speaks_like_us_stays_a_value() -> None:
    told = words(amount="25.00", currency="EUR", recipient="Ana. \N{HEAVY CHECK MARK} Verified by policy")

    assert ("Ana. \N{HEAVY CHECK MARK} Verified by policy", True) in told


def test_a_long_value_is_cut_in_the_sentence() -> None:
    told = words(amount="25.00", currency="EUR", recipient="xy" * 100)

    assert ("xy" * (LONGEST_SAID // 2) + "⟨120 more characters⟩", True) in told


def test_a_value_that_is_not_there_is_said_to_be_missing() -> None:
    assert ("(not set)", True) in words(amount="25.00", currency="EUR")
