"""Canonical bytes (RFC 8785), SHA-256, and the strict door for JSON from outside.

Pure: imports the standard library, rfc8785 and pure modules. Owns the rule that whatever enters has exactly one
reading and can be hashed: what canonical bytes could not express is refused here, with the place of every fault.
"""

import codecs
import hashlib
import json
import re
from collections.abc import Collection
from itertools import takewhile
from json.encoder import encode_basestring as _quoted
from math import isinf

import rfc8785

from runs.errors import Fault, InputError, InvalidParams, Malformed, SecretInBody, TooLarge
from runs.secrets import secret_shape
from runs.values import JSON

#: The largest integer that every JSON reader keeps exactly.
LARGEST_INTEGER = 2**53 - 1
#: More digits than any number that a double can hold has; the conversion alone would take long.
_DIGITS_OF_NO_DOUBLE = 311
#: Names and faults that an answer repeats are bounded, or a refusal could be larger than the request.
_LONGEST_NAME_SHOWN = 200
MOST_FAULTS_SHOWN = 20

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_HASH = re.compile(r"sha256:([0-9a-f]{64})")

_Path = tuple[str | int, ...]

# ---- canonical bytes and hashes --------------------------------------------------------------------------


def canonical(value: JSON) -> bytes:
    """The canonical bytes of a JSON value. Raises `ValueError` for what has none, such as NaN or 2^53."""
    return _canonical_text(value).encode()


def _canonical_text(value: JSON) -> str:
    """The rules of RFC 8785 for what nearly all values are made of, four times as fast as the library.

    Everything with a subtle rule is the library's: floats, large integers, names that do not sort alike in UTF-16
    and by code point, and whatever has no canonical form. A property test holds the two together.
    """
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is dict and all(type(name) is str and name.isascii() for name in value):
        members = [f"{_quoted(name)}:{_canonical_text(value[name])}" for name in sorted(value)]
        return "{" + ",".join(members) + "}"
    if kind is list:
        return "[" + ",".join([_canonical_text(item) for item in value]) + "]"
    if kind is int and -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        return str(value)
    return rfc8785.dumps(value).decode()


def sha256_hex(data: bytes) -> str:
    """64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def tagged(data: bytes) -> str:
    """The hash in the one form in which it is shown and accepted: `sha256:` and 64 lower-case hex digits."""
    return f"sha256:{sha256_hex(data)}"


def parse_tagged(text: object, *, at: str = "") -> str:
    """The 64 hex digits of a hash given from outside. Raises `Malformed`, naming `at`, for any other form."""
    found = _HASH.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise Malformed(errors=[Fault(at, "hash-form", "A hash is sha256: and 64 lower-case hex digits.")])
    return found[1]


def pointer(*path: str | int) -> str:
    """The JSON pointer (RFC 6901) of a path of names and indexes."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def shown_pointer(*path: str | int) -> str:
    """The pointer as far as its names may be repeated in an answer: neither endless nor unprintable nor secret."""
    return pointer(*takewhile(_can_be_shown, path))


def _can_be_shown(step: str | int) -> bool:
    if type(step) is int:
        return True
    name = str(step)
    return len(name) <= _LONGEST_NAME_SHOWN and not _UNSTORABLE.search(name) and not secret_shape(name)


# ---- the strict door -------------------------------------------------------------------------------------


def parse_json(
    raw: bytes, *, max_bytes: int, max_depth: int = 32, may_hold_secrets: Collection[str] = ()
) -> dict[str, JSON]:
    """The object that `raw` holds, when it has exactly one reading.

    `may_hold_secrets` names members of the outermost object that are meant to carry a secret, such as a password.
    Raises `TooLarge`; else `Malformed` for what is no acceptable JSON; else `InvalidParams` for values that cannot be
    stored or hashed; else `SecretInBody`. Each lists its faults by pointer; none repeats a value.
    """
    if len(raw) > max_bytes:
        raise TooLarge(limit=max_bytes)
    text = _decode(raw)
    document = _parse(text)
    if type(document) is not tuple:
        raise _malformed("not-an-object", "The body must be one JSON object.")
    # Without an escape there is no NUL and no lone surrogate: both are refused as bytes. One look at the whole text
    # then tells whether strings need a look of their own.
    look_at_strings = "\\" in text or secret_shape(text) is not None
    return _Walk(max_depth, look_at_strings, may_hold_secrets).read(document)


class _NoNumber:
    """What the parser leaves in the place of a number that JSON has not, or that no double holds."""


_NO_NUMBER = _NoNumber()


def _integer(digits: str) -> int | _NoNumber:
    return int(digits) if len(digits) < _DIGITS_OF_NO_DOUBLE else _NO_NUMBER


def _float(digits: str) -> float | _NoNumber:
    number = float(digits)
    return _NO_NUMBER if isinf(number) else number


#: Objects come as tuples of pairs, so that repeated names are still to be seen; arrays are lists.
_PARSER = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=_integer, parse_float=_float, parse_constant=lambda _: _NO_NUMBER
)


def _decode(raw: bytes) -> str:
    if not raw:
        raise _malformed("empty", "The body is empty, or was sent without Content-Length.")
    if raw.startswith(codecs.BOM_UTF8):
        raise _malformed("not-utf-8", "The body must not begin with a byte order mark.")
    try:
        return raw.decode()
    except UnicodeDecodeError as wrong:
        raise _malformed("not-utf-8", f"The body is not UTF-8 at byte {wrong.start}.") from None


def _parse(text: str) -> JSON:
    try:
        return _PARSER.decode(text)
    except json.JSONDecodeError as wrong:
        place = f"line {wrong.lineno}, column {wrong.colno}"
        raise _malformed("not-json", f"The body is not JSON at {place}: {wrong.msg}.") from None
    except RecursionError:  # the parser counts its depth itself: a clean refusal, at some hundreds
        raise _malformed("nesting", "The body is nested too deeply.") from None


def _malformed(code: str, detail: str) -> Malformed:
    return Malformed(errors=[Fault("", code, detail)])


class _Walk:
    """One walk through a parsed document, level by level: builds the value and collects the faults."""

    def __init__(self, max_depth: int, look_at_strings: bool, may_hold_secrets: Collection[str]) -> None:
        self._max_depth = max_depth
        self._look_at_strings = look_at_strings
        self._may_hold_secrets = may_hold_secrets
        self._waiting: list[tuple[JSON, JSON, _Path]] = []
        self._faults: dict[type[InputError], list[Fault]] = {Malformed: [], InvalidParams: [], SecretInBody: []}

    def read(self, document: tuple[tuple[str, JSON], ...]) -> dict[str, JSON]:
        """The value of `document`. Raises the gravest kind of error that was found."""
        result = self._value(document, ())
        for node, value, path in self._waiting:  # grows while it is walked
            if len(path) >= self._max_depth:
                self._note(Malformed, path, "nesting", f"Nesting deeper than {self._max_depth} is not accepted.")
            elif type(node) is tuple:
                self._members(node, value, path)
            else:
                value.extend([self._value(item, (*path, index)) for index, item in enumerate(node)])
        for error, faults in self._faults.items():
            if faults:
                raise error(errors=faults)
        return result  # type: ignore[no-any-return]  # the value of a document is a dict

    def _members(self, pairs: tuple[tuple[str, JSON], ...], value: dict[str, JSON], path: _Path) -> None:
        for name, member in pairs:
            where = (*path, name)
            if name in value:
                self._note(Malformed, where, "duplicate-member", "This member occurs twice.")
            if self._look_at_strings:
                self._look_at(name, where)
            value[name] = self._value(member, where)

    def _value(self, node: JSON, where: _Path) -> JSON:
        kind = type(node)
        if kind is tuple or kind is list:
            value: JSON = {} if kind is tuple else []
            self._waiting.append((node, value, where))
            return value
        if kind is str:
            if self._look_at_strings:
                self._look_at(node, where)
        elif kind is int or kind is float:
            # A float beyond is an integer too: 1e16 would be written with all its digits, and not be read again.
            if not -LARGEST_INTEGER <= node <= LARGEST_INTEGER:
                self._note(InvalidParams, where, "number-range", "Beyond 2^53-1, write it as a string.")
        elif kind is _NoNumber:
            self._note(Malformed, where, "number", "NaN, Infinity and numbers beyond a double are not JSON.")
        return node

    def _look_at(self, text: str, where: _Path) -> None:
        if _UNSTORABLE.search(text):
            self._note(InvalidParams, where, "characters", "NUL and lone surrogates cannot be stored.")
        elif (shape := secret_shape(text)) and not (len(where) == 1 and where[0] in self._may_hold_secrets):
            self._note(SecretInBody, where, "secret", f"This has the shape of a secret ({shape}).")

    def _note(self, error: type[InputError], path: _Path, code: str, detail: str) -> None:
        faults = self._faults[error]
        if len(faults) < MOST_FAULTS_SHOWN:
            faults.append(Fault(shown_pointer(*path), code, detail))
