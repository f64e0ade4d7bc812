"""Lines for other programs: a spreadsheet runs nothing of it, and the reference loses no character."""

import csv
import io
import json

import pytest

from console.exports import cell, csv_lines, jsonl_lines

FORMULAS = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("http://x")']


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text: str) -> None:
    assert not cell(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_what_cannot_be_seen_is_shown_in_a_cell() -> None:
    assert cell("pay\u202e me") == "pay⟨U+202E⟩ me"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), (True, "yes"), (False, "no"), (7, "7"), ("ok", "ok"), (["a"], '["a"]')]
)
def test_every_kind_of_value_has_its_form(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_quotes_commas_and_line_ends_stay_inside_their_cell() -> None:
    rows: list[dict[str, object]] = [{"a": 'say "so", twice', "b": "one\ntwo"}, {"a": None}]

    read = list(csv.reader(io.StringIO("".join(csv_lines(["a", "b"], rows)))))

    assert read == [["a", "b"], ['say "so", twice', "one\ntwo"], ["", ""]]


def test_the_reference_keeps_every_character() -> None:
    row = {"reason": "=1\u202e\n", "seq": 7, "erased": False, "hash": None}

    (line,) = jsonl_lines([row])

    assert json.loads(line) == row
    assert line.count("\n") == 1
