"""Foreign text in segments: nothing is lost, nothing stays hidden, ordinary text is left alone."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.hidden_characters import is_allowed, is_hidden
from console.hostile import Kind, inspect, plain

ORDINARY = [
    "",
    "Customer reported damage on two items, the table gives 45.00.",
    "tabs\tand\nlines\r\nof two systems",
    "Größe, façade, naïve, Łódź, Ελλάδα, Привет, 東京, 서울, ไทย, हिन्दी, বাংলা, தமிழ்",
    "שלום and مرحبا بالعالم in one line",
    "می\u200cخواهم",
    "👩🏽\u200d💻 🏳\ufe0f\u200d🌈 ❤\ufe0f 1\ufe0f\u20e3 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "    four\n        eight\n            twelve",
    "-" * 79,
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_of_any_language_is_shown_as_it_came(text: str) -> None:
    shown = inspect(text)

    assert str(shown) == text
    assert not shown.is_suspicious


MARKED = {
    "\u202e": "characters that turn the reading direction around",
    "\u2066": "characters that turn the reading direction around",
    "\u200b": "invisible characters",
    "\u061c": "invisible characters",
    "\ufeff": "invisible characters",
    "\ufe0f": "invisible characters",
    "\U000e0041": "invisible tag characters",
    "\x1b": "control characters",
    "\x00": "control characters",
    "\u0085": "control characters",
    "\ud800": "characters without a known form",
    "\ue000": "characters without a known form",
}


@pytest.mark.parametrize("char", MARKED)
def test_a_hidden_character_becomes_a_mark_with_its_number_and_a_finding(char: str) -> None:
    shown = inspect(f"a{char}b")

    assert [segment.kind for segment in shown.segments] == [Kind.TEXT, Kind.MARK, Kind.TEXT]
    assert shown.segments[1].text == f"⟨U+{ord(char):04X}⟩"
    assert shown.segments[1].note
    assert shown.findings == (MARKED[char],)


def test_a_long_run_of_hidden_characters_is_counted() -> None:
    assert plain("a" + "\u200b" * 200_000 + "b") == "a⟨200,000 hidden: U+200B⟩b"


def test_what_tag_characters_spell_is_told() -> None:
    spelt = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore the policy")

    assert plain(f"ok{spelt}") == "ok⟨17 hidden, spelling “ignore the policy”⟩"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pay" + " " * 200_000 + "twice", "pay ⟨200,000 blanks⟩ twice"),
        ("pay" + "\u3000" * 40 + "twice", "pay ⟨40 blanks⟩ twice"),
        ("pay" + "\n" * 501 + "twice", "pay\n⟨500 empty lines⟩\ntwice"),
        ("pay" + " \t\r\n" * 501 + "twice", "pay\n⟨500 empty lines⟩\ntwice"),
        ("pay" + "=" * 5_000 + "twice", "pay⟨5,000 × =⟩twice"),
    ],
)
def test_padding_is_folded_and_counted(text: str, expected: str) -> None:
    shown = inspect(text)

    assert str(shown) == expected
    assert shown.is_suspicious


def test_marks_stacked_on_one_character_are_folded_beyond_what_writing_needs() -> None:
    shown = inspect("z" + "\u0335\u0336\u0337\u0338" * 10)

    assert shown.segments[-1].text == "⟨34 stacked marks⟩"
    assert "stacked marks" in shown.findings


@pytest.mark.parametrize("text", ["cafe\u0301", "\u212b", "\u1112\u1161\u11ab", "\u09ac\u09c7\u09be"])
def test_letters_spelt_in_another_way_than_usual_are_marked(text: str) -> None:
    shown = inspect(text)

    assert shown.segments[-1].kind is Kind.MARK
    assert shown.findings == ("letters not in their normal form (NFC)",)


def test_bytes_that_are_no_text_stay_visible() -> None:
    assert plain(b"a\xff\xfeb".decode("utf-8", "surrogateescape")) == "a⟨U+DCFF⟩⟨U+DCFE⟩b"


HOSTILE_ALPHABET = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\u202e\u200b\u200c\u200d\ufe0f\u0301\U000e0041 \n\t\r=❤👩क्م" + string.ascii_letters),
    ),
    max_size=60,
)


@given(HOSTILE_ALPHABET)
def test_no_text_leaves_a_hidden_character_in_what_is_shown(text: str) -> None:
    shown = inspect(text)

    for segment in shown.segments:
        if segment.kind is Kind.TEXT:
            hidden = [char for char in segment.text if is_hidden(char) and char not in "\u200c\u200d\ufe0e\ufe0f\r"]
            assert [char for char in hidden if not "\U000e0020" <= char <= "\U000e007f"] == []


@given(HOSTILE_ALPHABET)
def test_what_is_not_marked_folded_or_removed_stays_in_order(text: str) -> None:
    shown = inspect(text)

    rest = text
    for segment in shown.segments:
        if segment.kind is Kind.TEXT:
            for char in segment.text:
                found = rest.find(char)
                assert found >= 0
                rest = rest[found + 1 :]


@given(st.text(st.sampled_from("ab\u200c\u200dक्م👩💻 "), max_size=12))
def test_a_joiner_is_shown_bare_only_where_it_is_allowed(text: str) -> None:
    bare = sum(segment.text.count("\u200c") + segment.text.count("\u200d") for segment in inspect(text).segments)

    allowed = sum(is_allowed(text, at) for at, char in enumerate(text) if char in "\u200c\u200d")
    assert bare == allowed


@pytest.mark.parametrize("text", ["Привет, мир. " * 80_000, "a\u200b" * 20_000, " \n" * 500_000, "x" * 1_000_000])
def test_a_megabyte_is_inspected_in_less_than_two_seconds(text: str) -> None:
    began = time.perf_counter()

    inspect(text)

    assert time.perf_counter() - began < 2
