"""Preconditions, ids and bodies, as they arrive."""

from io import BytesIO

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from console.inputs import (
    announced_length,
    check_id,
    check_idempotency_key,
    is_not_modified,
    parse_if_match,
    read_body,
    read_if_match,
)
from runs.errors import (
    ClearanceError,
    Malformed,
    MalformedPrecondition,
    PreconditionRequired,
    TooLarge,
    UnsupportedMediaType,
    WeakPrecondition,
)
from runs.values import UNKNOWN_BASE, version_tag

request = RequestFactory()

# ---- If-Match --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epoch", "version"), [(1, 1), (1, 21), (7, 10**8)])
def test_the_tag_that_was_given_out_names_its_version(epoch: int, version: int) -> None:
    tag = version_tag(epoch, version)

    assert read_if_match(tag) == (epoch, version)
    assert parse_if_match(f" {tag}\t", epoch=epoch) == version


def test_a_tag_of_another_epoch_compares_with_nothing() -> None:
    assert parse_if_match('"1.21"', epoch=2) == UNKNOWN_BASE


@pytest.mark.parametrize(
    ("header", "error"),
    [
        (None, PreconditionRequired),
        ('W/"1.21"', WeakPrecondition),
        ('W/"anything"', WeakPrecondition),
        ('W/""', WeakPrecondition),
        ("", MalformedPrecondition),
        (" ", MalformedPrecondition),
        ("*", MalformedPrecondition),
        ('"*"', MalformedPrecondition),
        ("1.21", MalformedPrecondition),
        ("v6", MalformedPrecondition),
        ("W/v6", MalformedPrecondition),
        ('w/"1.21"', MalformedPrecondition),
        ('"1.21', MalformedPrecondition),
        ('1.21"', MalformedPrecondition),
        ('"1.21", "1.22"', MalformedPrecondition),
        ('"1.21","1.21"', MalformedPrecondition),
        ('W/"1.21", W/"1.22"', MalformedPrecondition),
        ('"1.21", *', MalformedPrecondition),
        ('"21"', MalformedPrecondition),
        ('""', MalformedPrecondition),
        ('"1.021"', MalformedPrecondition),
        ('"0.21"', MalformedPrecondition),
        ('"1.0"', MalformedPrecondition),
        ('"1.-1"', MalformedPrecondition),
        ('"1.٣"', MalformedPrecondition),
        ('"1.21"\n', MalformedPrecondition),
        ("'1.21'", MalformedPrecondition),
        ('"1.' + "9" * 10 + '"', MalformedPrecondition),
        ('"1.' + "9" * 5000 + '"', MalformedPrecondition),
    ],
)
def test_every_other_precondition_is_refused_and_none_passes(header: str | None, error: type[ClearanceError]) -> None:
    with pytest.raises(error):
        parse_if_match(header, epoch=1)


# ---- If-None-Match ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, False),
        ("", False),
        ("*", True),
        ('"1.21"', True),
        ('W/"1.21"', True),
        ('"1.20", "1.21"', True),
        ('"a,b", W/"1.21"', True),
        ('"1.2"', False),
        ("1.21", False),
        ('"1.211"', False),
        ('"x"1.21"', False),
    ],
)
def test_a_reader_is_known_to_have_what_any_of_its_tags_names(header: str | None, expected: bool) -> None:
    assert is_not_modified(header, '"1.21"') is expected


# ---- ids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["c", "c-7f3", "!", "~" * 200, "a/b?c#d%20", '"quoted"', "0192f0c1-2345-7abc"])
def test_an_id_is_any_short_visible_text(value: str) -> None:
    assert check_id(value) == value


@pytest.mark.parametrize(
    "value", ["", "x" * 201, "a b", "a\n", "\x7f", "é", "７", "\u200b", 7, 7.0, True, None, ["c"], {}]
)
def test_anything_else_is_no_id(value: object) -> None:
    with pytest.raises(Malformed) as refused:
        check_id(value, at="/id")

    assert [fault.pointer for fault in refused.value.errors] == ["/id"]


def test_an_idempotency_key_is_optional_and_says_the_same() -> None:
    check_idempotency_key(request.post("/"), "c-1")
    check_idempotency_key(request.post("/", headers={"Idempotency-Key": "c-1"}), "c-1")
    with pytest.raises(Malformed):
        check_idempotency_key(request.post("/", headers={"Idempotency-Key": "c-2"}), "c-1")


# ---- bodies ----------------------------------------------------------------------------------------------


def test_a_body_is_refused_by_its_announced_length_before_it_is_read() -> None:
    incoming = request.post("/", b'{"a": 1}', content_type="application/json")
    incoming.META["CONTENT_LENGTH"] = "1000"

    with pytest.raises(TooLarge):
        read_body(incoming, max_bytes=999)

    assert incoming.read() == b'{"a": 1}'


def test_a_body_that_is_longer_than_it_says_is_refused_as_well() -> None:
    incoming = request.post("/", b'{"a": 1}', content_type="application/json")
    incoming.META["CONTENT_LENGTH"] = ""

    with pytest.raises(TooLarge):
        read_body(incoming, max_bytes=7)


def in_chunks(raw: bytes, content_type: str = "") -> HttpRequest:
    """A request whose body has no length, from a server that marks where it ends."""
    incoming = request.generic("POST", "/")
    marks = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    incoming.META |= {"wsgi.input": BytesIO(raw), "CONTENT_TYPE": content_type, **marks}
    return incoming


def test_a_body_in_chunks_is_read_when_the_server_marks_its_end() -> None:
    assert read_body(in_chunks(b'{"a": 1}', "application/json")) == {"a": 1}


def test_a_body_in_chunks_is_bounded_and_announced_like_any_other() -> None:
    with pytest.raises(TooLarge):
        read_body(in_chunks(b"[" * 8, "application/json"), max_bytes=7)
    with pytest.raises(UnsupportedMediaType):
        read_body(in_chunks(b"{}"))


def test_a_request_without_any_body_is_malformed_rather_than_of_a_wrong_type() -> None:
    with pytest.raises(Malformed) as refused:
        read_body(request.generic("POST", "/"))

    assert [fault.code for fault in refused.value.errors] == ["empty"]


@pytest.mark.parametrize(
    ("announced", "expected"), [("7", 7), ("", 0), ("-7", 0), ("x", 0), ("٣", 0), ("9" * 5000, 0), ("1e3", 0)]
)
def test_a_length_is_believed_only_when_it_is_one(announced: str, expected: int) -> None:
    incoming = request.post("/")
    incoming.META["CONTENT_LENGTH"] = announced

    assert announced_length(incoming) == expected
