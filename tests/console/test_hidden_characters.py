"""Which characters need a mark: the whole of Unicode against its own data, and the allowance by example."""

import sys
import unicodedata

import pytest

from console.hidden_characters import BLANK, VISIBLE_FORMAT, flag_length, is_allowed, is_hidden, name_of, script_of

EVERY = [chr(point) for point in range(sys.maxunicode + 1)]

#: Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties, as ranges.
IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


def test_every_ignorable_character_of_unicode_is_hidden() -> None:
    ignorable = [chr(point) for first, last in IGNORABLE for point in range(first, last + 1)]

    assert [char for char in ignorable if not is_hidden(char)] == []


def test_every_control_format_surrogate_private_and_unassigned_character_is_hidden() -> None:
    nameless = [char for char in EVERY if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")]

    seen = {char for char in nameless if not is_hidden(char)}

    assert seen == VISIBLE_FORMAT | {"\n", "\t"}


def test_no_letter_number_mark_or_sign_is_hidden_but_the_blank_ones() -> None:
    visible = [char for char in EVERY if unicodedata.category(char)[0] in "LMNPS"]

    hidden = {char for char in visible if is_hidden(char)}

    assert hidden == {char for char in BLANK if unicodedata.category(char)[0] in "LMNPS"}


def test_letters_written_from_right_to_left_are_ordinary() -> None:
    assert not any(is_hidden(char) for char in "שלום مرحبا ܫܠܡܐ")


ALLOWED = {
    "a joiner inside a Persian word": ("می\u200cخواهم", 2),
    "a joiner after a virama": ("क्\u200dष", 2),
    "a joiner that ends a Malayalam word": ("ന്\u200d", 2),
    "a profession": ("👩\u200d💻", 1),
    "a profession with a skin tone": ("👩🏽\u200d💻", 2),
    "the rainbow flag": ("🏳\ufe0f\u200d🌈", 2),
    "an emoji style": ("❤\ufe0f", 1),
    "a keycap": ("1\ufe0f\u20e3", 1),
    "the first half of a line break": ("a\r\nb", 1),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_a_character_that_its_script_or_emoji_needs_is_allowed(case: str) -> None:
    assert is_allowed(*ALLOWED[case])


REFUSED = {
    "a joiner between Latin letters": ("pay\u200cpal", 3),
    "a joiner at the start": ("\u200dक", 0),
    "a joiner between two scripts": ("م\u200cक", 1),
    "a second joiner": ("می\u200c\u200cخ", 3),
    "a joiner after a symbol and before a letter": ("👩\u200da", 1),
    "an emoji style after a letter": ("a\ufe0f", 1),
    "a second emoji style": ("❤\ufe0f\ufe0f", 2),
    "an ideographic variation": ("葛\U000e0100", 1),
    "a carriage return alone": ("a\rb", 1),
    "a direction override": ("a\u202eb", 1),
    "a zero width space": ("a\u200bb", 1),
    "a byte order mark": ("a\ufeffb", 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_same_character_anywhere_else_is_not(case: str) -> None:
    text, at = REFUSED[case]

    assert is_hidden(text[at])
    assert not is_allowed(text, at)


def tagged(letters: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in letters)


def test_the_three_flags_spelt_with_tags_are_taken_whole_and_no_other_is() -> None:
    england, texas = "🏴" + tagged("gbeng") + "\U000e007f", "🏴" + tagged("ustx") + "\U000e007f"

    assert flag_length(england, 0) == len(england)
    assert flag_length(texas, 0) == 0
    assert flag_length("🏴", 0) == 0


def test_a_hidden_character_without_a_name_is_told_by_its_category() -> None:
    assert name_of("\u202e") == "right-to-left override"
    assert name_of("\x1b") == "control character"
    assert name_of("\ud800") == "lone surrogate"
    assert name_of("\ue000") == "private use character"
    assert name_of("\u0378") == "unassigned character"


def test_a_letter_that_every_script_uses_has_no_script() -> None:
    assert script_of("a") == "LATIN"
    assert script_of("а") == "CYRILLIC"
    assert [script_of(char) for char in "µªʰ1 "] == ["", "", "", "", ""]
