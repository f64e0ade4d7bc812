"""Canonical bytes, hashes, and the strict door for JSON."""

import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from runs.digest import LARGEST_INTEGER, canonical, parse_json, parse_tagged, pointer, sha256_hex, tagged
from runs.errors import Fault, InputError, InvalidParams, Malformed, SecretInBody, TooLarge

MIB = 1024 * 1024

storable_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(-LARGEST_INTEGER, LARGEST_INTEGER)
    | storable_text
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(storable_text, inner, max_size=4),
    max_leaves=15,
)
documents = st.dictionaries(storable_text, values, max_size=5)
#: What a careless caller might hand over: names that are no strings, numbers and characters without canonical form.
careless = st.recursive(
    scalars | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=8,
)


def faults_of(raw: bytes, kind: type[InputError], **limits: Any) -> list[tuple[str, str]]:
    """The pointer and code of each fault for which `raw` is refused, which must be with `kind`."""
    with pytest.raises(InputError) as refused:
        parse_json(raw, **{"max_bytes": MIB, **limits})
    assert type(refused.value) is kind
    return [(fault.pointer, fault.code) for fault in refused.value.errors]


# ---- canonical bytes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": [1, 2], "a": None}, b'{"a":null,"b":[1,2]}'),
        (
            [1.0, 1e2, -0.0, 1e21, 1e-7, 0.000001, 333333333.33333329],
            b"[1,100,0,1e+21,1e-7,0.000001,333333333.3333333]",
        ),
        ({"€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\x80": 6, "ö": 7}, None),
        ('\u20ac$\x0f\nA\'B"\\\\"/\x7f', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f"'.encode()),
        (LARGEST_INTEGER, b"9007199254740991"),
        ([True, False, [], {}], b"[true,false,[],{}]"),
    ],
)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any, expected: bytes | None) -> None:
    assert canonical(value) == (expected or rfc8785.dumps(value))


def test_names_sort_by_utf_16_units_as_rfc_8785_says() -> None:
    raw = canonical({"\ufb33": 3, "😀": 5})

    assert raw == '{"😀":5,"\ufb33":3}'.encode()


@given(careless)
def test_the_quick_way_to_canonical_bytes_agrees_with_the_library_on_everything(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value)
    except ValueError:
        with pytest.raises(ValueError):
            canonical(value)
    else:
        assert canonical(value) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**53, -(2**53), "\ud800", {"\ud800": 1}, {1: 2}, b"x", {1, 2}])
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical({"deep": [value]})


@given(documents)
def test_canonical_bytes_survive_being_read_and_written_again(document: dict[str, Any]) -> None:
    once = canonical(document)

    assert canonical(parse_json(once, max_bytes=MIB)) == once


def test_composed_and_decomposed_letters_hash_differently() -> None:
    assert sha256_hex(canonical("\u00e9")) != sha256_hex(canonical("e\u0301"))


# ---- hashes ----------------------------------------------------------------------------------------------

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_hash_is_written_with_its_algorithm() -> None:
    assert sha256_hex(b"") == EMPTY
    assert tagged(b"") == f"sha256:{EMPTY}"
    assert parse_tagged(tagged(b"")) == EMPTY


@pytest.mark.parametrize(
    "text",
    [
        EMPTY,
        f"sha256:{EMPTY.upper()}",
        f"SHA256:{EMPTY}",
        f"sha256:sha256:{EMPTY}",
        f"sha256:{EMPTY[:-1]}",
        f"sha256:{EMPTY}0",
        f"sha256:{EMPTY}\n",
        f" sha256:{EMPTY}",
        "sha256:" + "٣" * 64,
        "",
        None,
        7,
        [f"sha256:{EMPTY}"],
    ],
)
def test_a_hash_in_any_other_form_is_malformed(text: object) -> None:
    with pytest.raises(Malformed) as refused:
        parse_tagged(text, at="/manifest_sha256")

    assert [fault.pointer for fault in refused.value.errors] == ["/manifest_sha256"]


# ---- the door: what enters -------------------------------------------------------------------------------


@given(documents)
def test_the_door_reads_what_the_standard_parser_reads(document: dict[str, Any]) -> None:
    raw = json.dumps(document, ensure_ascii=False).encode()

    assert parse_json(raw, max_bytes=MIB) == json.loads(raw)
    assert repr(parse_json(raw, max_bytes=MIB)) == repr(json.loads(raw))  # 1 and 1.0 and True are equal


@given(documents)
def test_escapes_make_no_difference(document: dict[str, Any]) -> None:
    raw = json.dumps(document, ensure_ascii=True).encode()

    assert repr(parse_json(raw, max_bytes=MIB)) == repr(document)


@given(st.binary(max_size=60) | st.text('{}[]",:\\ud8001eE+-.NaNtruefalsn\x00 ', max_size=40).map(str.encode))
def test_no_bytes_pass_as_anything_but_an_object_or_a_typed_refusal(raw: bytes) -> None:
    try:
        value = parse_json(raw, max_bytes=MIB)
    except InputError as refused:
        assert refused.errors
    else:
        assert isinstance(value, dict)
        canonical(value)


def test_pairs_of_surrogates_and_the_replacement_character_are_ordinary_text() -> None:
    assert parse_json(b'{"a": "\\ud83d\\ude00", "b": "\\ufffd"}', max_bytes=MIB) == {"a": "😀", "b": "\ufffd"}


def test_nesting_up_to_the_limit_enters() -> None:
    raw = b'{"a":' * 31 + b"[]" + b"}" * 31

    assert parse_json(raw, max_bytes=MIB)["a"]


def test_a_body_exactly_as_large_as_the_limit_enters() -> None:
    assert parse_json(b'{"a":1}', max_bytes=7) == {"a": 1}


# ---- the door: what does not -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"a": NaN}', [("/a", "number")]),
        (b'{"a": [1, Infinity, -Infinity]}', [("/a/1", "number"), ("/a/2", "number")]),
        (b'{"a": {"b": 1e400}}', [("/a/b", "number")]),
        (b'{"a": -1e400}', [("/a", "number")]),
        (b'{"a": ' + b"9" * 5000 + b"}", [("/a", "number")]),
        (b'{"amount": 1, "amount": 1000}', [("/amount", "duplicate-member")]),
        (b'{"a": [{"x": 1, "\\u0078": 1}]}', [("/a/0/x", "duplicate-member")]),
        (b'{"a": {}, "a": [], "b": NaN}', [("/a", "duplicate-member"), ("/b", "number")]),
        (b"", [("", "empty")]),
        (b" ", [("", "not-json")]),
        (b"null", [("", "not-an-object")]),
        (b"[]", [("", "not-an-object")]),
        (b'"x"', [("", "not-an-object")]),
        (b"7", [("", "not-an-object")]),
        (b"NaN", [("", "not-an-object")]),
        (b'{"a": 1,}', [("", "not-json")]),
        (b"{'a': 1}", [("", "not-json")]),
        (b'{"a": 1} {}', [("", "not-json")]),
        (b'{"a": 01}', [("", "not-json")]),
        (b'{"a": "\x00"}', [("", "not-json")]),
        (b'{"a": "\n"}', [("", "not-json")]),
        (b'{"a": "\xff"}', [("", "not-utf-8")]),
        (b'{"a": "\xed\xa0\x80"}', [("", "not-utf-8")]),
        (b'\xef\xbb\xbf{"a": 1}', [("", "not-utf-8")]),
        ('{"a": 1}'.encode("utf-16"), [("", "not-utf-8")]),
        ('{"a": 1}'.encode("utf-16-le"), [("", "not-json")]),
        (b'{"a":' * 32 + b"[]" + b"}" * 32, [("/a" * 32, "nesting")]),
        (b'{"a":' + b"[" * 6000 + b"]" * 6000 + b"}", [("", "nesting")]),
        (b"[" * 500_000, [("", "nesting")]),
    ],
)
def test_what_is_no_acceptable_json_is_malformed(raw: bytes, expected: list[tuple[str, str]]) -> None:
    assert faults_of(raw, Malformed) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"a": "x\\u0000"}', [("/a", "characters")]),
        (b'{"a": {"b\\u0000": 1}}', [("/a", "characters")]),
        (b'{"a": ["ok", "\\ud800"]}', [("/a/1", "characters")]),
        (b'{"a": "\\udc00\\ud800"}', [("/a", "characters")]),
        (b'{"\\ud800": {"b": "\\u0000"}}', [("", "characters"), ("", "characters")]),
        (b'{"a": 9007199254740992}', [("/a", "number-range")]),
        (b'{"a": -9007199254740992}', [("/a", "number-range")]),
        (b'{"a": 1e16, "b": -9007199254740993.0}', [("/a", "number-range"), ("/b", "number-range")]),
        (b'{"x/y~z": [9223372036854775808]}', [("/x~1y~0z/0", "number-range")]),
    ],
)
def test_what_could_not_be_stored_or_hashed_is_invalid(raw: bytes, expected: list[tuple[str, str]]) -> None:
    assert faults_of(raw, InvalidParams) == expected


def test_the_gravest_kind_of_fault_is_told_first() -> None:
    raw = b'{"a": "\\u0000", "b": "AKIAABCDEFGHIJKLMNOP", "c": NaN}'

    assert faults_of(raw, Malformed) == [("/c", "number")]
    assert faults_of(raw.replace(b"NaN", b"1"), InvalidParams) == [("/a", "characters")]


def test_a_refusal_lists_a_bounded_number_of_faults() -> None:
    raw = b'{"a": [' + b"NaN," * 5000 + b"1]}"

    assert len(faults_of(raw, Malformed)) == 20


def test_names_too_long_to_repeat_are_shown_as_their_parent() -> None:
    raw = b'{"a": {"' + b"x" * 5000 + b'": NaN}}'

    assert faults_of(raw, Malformed) == [("/a", "number")]


def test_a_body_over_the_limit_is_too_large_before_it_is_read() -> None:
    with pytest.raises(TooLarge) as refused:
        parse_json(b"[" * 8, max_bytes=7)

    assert refused.value.members == {"limit": 7}


# ---- secrets ---------------------------------------------------------------------------------------------

SECRET = "AKIAABCDEFGHIJKLMNOP"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (f'{{"reason": "key {SECRET}"}}', ["/reason"]),
        (f'{{"a": [{{"b": "{SECRET}"}}], "c": "{SECRET}"}}', ["/c", "/a/0/b"]),
        (f'{{"a": {{"{SECRET}": 1}}}}', ["/a"]),
        ('{"a": "\\u0041KIAABCDEFGHIJKLMNOP"}', ["/a"]),
        ('{"a": "-----BEGIN RSA PRIVATE KEY-----\\nMIIE"}', ["/a"]),
    ],
)
def test_a_secret_is_refused_with_its_place_and_never_repeated(raw: str, expected: list[str]) -> None:
    with pytest.raises(SecretInBody) as refused:
        parse_json(raw.encode(), max_bytes=MIB)

    assert [fault.pointer for fault in refused.value.errors] == expected
    assert "KIAABC" not in repr(refused.value.errors) + str(refused.value)


def test_a_shape_that_spans_two_strings_is_no_secret() -> None:
    assert parse_json(b'{"a": ["https://host:", "x@y"]}', max_bytes=MIB)


def test_a_member_meant_for_a_secret_may_hold_one_and_no_other_may() -> None:
    raw = f'{{"secret": "{SECRET}", "url": "x", "inner": {{"secret": "{SECRET}"}}}}'.encode()

    assert faults_of(raw, SecretInBody, may_hold_secrets=("secret",)) == [("/inner/secret", "secret")]
    assert faults_of(raw, SecretInBody) == [("/secret", "secret"), ("/inner/secret", "secret")]


# ---- pointers --------------------------------------------------------------------------------------------


def test_pointers_escape_their_two_special_characters() -> None:
    assert pointer() == ""
    assert pointer("a/b", 0, "~", "") == "/a~1b/0/~0/"
    assert Fault(pointer("x"), "code", "detail").pointer == "/x"
