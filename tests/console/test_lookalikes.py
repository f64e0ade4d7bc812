"""Names and hosts that look like others."""

import pytest

from console.lookalikes import inspect_host, inspect_name, oddity


@pytest.mark.parametrize(
    "name",
    [
        "Ana Lima",
        "Müller-Łódź",
        "Анна Иванова",
        "Ana Иванова",
        "日本語テスト",
        "株式会社ABC",
        "김철수 Kim",
        "Ελένη",
        "5 µm",
        "O’Brien",
        "شركة 24",
    ],
)
def test_a_name_whose_words_keep_to_one_script_is_left_alone(name: str) -> None:
    shown = inspect_name(name)

    assert str(shown) == name
    assert not shown.is_suspicious


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("pаypal", "⟨mixed scripts: Cyrillic, Latin; а is U+0430⟩"),
        ("Αmazon", "⟨mixed scripts: Greek, Latin; Α is U+0391⟩"),
        ("сосо", "⟨Cyrillic letters that pass for Latin⟩"),
        ("𝐏𝐚𝐲", "⟨Mathematical letters⟩"),
        ("Ｐａｙ", "⟨Fullwidth letters⟩"),
    ],
)
def test_a_word_that_looks_like_another_is_marked_at_the_end_of_the_name(name: str, mark: str) -> None:
    shown = inspect_name(f"{name} Ltd")

    assert str(shown) == f"{name} Ltd{mark}"
    assert shown.findings == ("letters that look like others",)


def test_a_name_full_of_odd_words_lists_some_and_counts_the_rest() -> None:
    odd = " ".join(f"x{letter}x" for letter in "бгджзийклм")

    assert str(inspect_name(odd)).endswith("⟨4 more words⟩")


def test_hidden_characters_in_a_name_are_marked_as_everywhere() -> None:
    assert str(inspect_name("Ana\u202e Lima")) == "Ana⟨U+202E⟩ Lima"


@pytest.mark.parametrize(
    ("host", "readable", "wire"),
    [
        ("reports.example.com", "reports.example.com", ""),
        ("bücher.de", "bücher.de", "xn--bcher-kva.de"),
        ("xn--bcher-kva.de", "bücher.de", "xn--bcher-kva.de"),
        ("xn--pypal-4ve.com", "pаypal.com⟨mixed scripts: Cyrillic, Latin; а is U+0430⟩", "xn--pypal-4ve.com"),
        ("аррӏе.com", "аррӏе.com⟨Cyrillic letters that pass for Latin⟩", "xn--80ak6aa92e.com"),
        ("xn--99999999999.com", "xn--99999999999.com", ""),
        ("xn--abc-.com", "xn--abc-.com", ""),
    ],
)
def test_a_host_is_readable_and_carries_its_wire_form_where_that_differs(host: str, readable: str, wire: str) -> None:
    found = inspect_host(host)

    assert str(found.shown) == readable
    assert found.ascii == wire


def test_one_letter_alone_passes_for_nothing() -> None:
    assert oddity("с") == ""
