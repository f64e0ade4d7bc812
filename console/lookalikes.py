"""Names and hosts that look like others: mixed scripts, letters that pass for Latin, punycode.

Pure: standard library, `hidden_characters` and `hostile`. A name in one script is never marked for its script;
a word that mixes two is, and so is a word whose letters all pass for Latin ones.
"""

import re
import unicodedata
from dataclasses import dataclass

from console.hidden_characters import script_of
from console.hostile import LISTED, Kind, Segment, Shown, inspect

#: Scripts that one language writes together.
TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)

#: Letters of one alphabet dressed up as another: mathematical, full width, script, black letter.
STYLED = frozenset({"MATHEMATICAL", "FULLWIDTH", "SCRIPT", "BLACK-LETTER", "DOUBLE-STRUCK"})

#: Cyrillic and Greek letters that are drawn like Latin ones.
PASS_FOR_LATIN = frozenset("асеіјорѕухһԁԛԝӏӀАВЕЅІЈКМНОРСТУХԌԚԜαονρυιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Host:
    """A host name as it came, its form on the wire when that differs, and what is odd about it."""

    shown: Shown
    ascii: str = ""


def inspect_name(text: str) -> Shown:
    """A person's, payee's or agent's name, or a text that holds some; what is odd about its words stands at its end."""
    shown = inspect(text)
    words = _WORD.findall("".join(segment.text for segment in shown.segments if segment.kind is Kind.TEXT))
    odd = list(dict.fromkeys(filter(None, map(oddity, words))))
    if not odd:
        return shown
    marks = [Segment(Kind.MARK, f"⟨{found}⟩", "letters that look like others") for found in odd[:LISTED]]
    if len(odd) > LISTED:
        marks.append(Segment(Kind.MARK, f"⟨{len(odd) - LISTED} more words⟩", "letters that look like others"))
    return Shown((*shown.segments, *marks), (*shown.findings, "letters that look like others"))


def inspect_host(host: str) -> Host:
    """A host: decoded from punycode where it was encoded, with its wire form beside it where that differs."""
    labels = host.split(".")
    readable = ".".join(map(decoded, labels))
    wire = ".".join(map(encoded, labels))
    return Host(inspect_name(readable), "" if wire == readable == host else wire)


def oddity(word: str) -> str:
    """What is wrong with the letters of one word, in words; empty when nothing is."""
    scripts = {script for char in word if (script := script_of(char))}
    if styled := scripts & STYLED:
        return f"{named(styled)} letters"
    if len(scripts) > 1 and not any(scripts <= together for together in TOGETHER):
        return f"mixed scripts: {named(scripts)}{_foreign(word, scripts)}"
    if len(word) > 1 and scripts & {"CYRILLIC", "GREEK"} and all(c in PASS_FOR_LATIN for c in word if c.isalpha()):
        return f"{named(scripts)} letters that pass for Latin"
    return ""


def _foreign(word: str, scripts: set[str]) -> str:
    """The letters of the script that is rarest in a word, by number."""
    rarest = min(sorted(scripts), key=lambda script: sum(script_of(char) == script for char in word))
    letters = dict.fromkeys(char for char in word if script_of(char) == rarest)
    return "; " + ", ".join(f"{char} is U+{ord(char):04X}" for char in list(letters)[:3])


def named(scripts: set[str]) -> str:
    return ", ".join(sorted(script.capitalize() for script in scripts))


def decoded(label: str) -> str:
    """A label of a host in its readable form; one that cannot be decoded stays as it is."""
    if not label.lower().startswith("xn--"):
        return label
    try:
        readable = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return label
    return label if readable.isascii() else readable


def encoded(label: str) -> str:
    """A label of a host as it goes over the wire."""
    if label.isascii():
        return label
    folded = unicodedata.normalize("NFC", label.lower())
    return "xn--" + folded.encode("punycode").decode("ascii", "replace")
