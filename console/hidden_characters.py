"""Which characters of a foreign text a reader cannot see, and must be shown a mark for.

Pure: standard library only. The allowance is small and written down here: joiners in scripts that need them,
well-formed emoji sequences, and the visible members of the format category. Everything else that has no glyph
of its own is named.
"""

import re
import unicodedata
from functools import lru_cache

#: Scripts in which a joiner between two letters changes how a word is read.
JOINING_SCRIPTS = frozenset(
    {
        *("ARABIC", "SYRIAC", "MANDAIC", "MONGOLIAN", "NKO", "TIBETAN", "KHMER", "MYANMAR", "SINHALA"),
        *("DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM"),
    }
)

#: First words in the names of letters that belong to no script of their own.
SHARED = frozenset(
    {
        *("ALEF", "ANGSTROM", "BET", "CARON", "COMBINING", "DALET", "EULER", "FEMININE", "GIMEL", "HALFWIDTH"),
        *("IDEOGRAPHIC", "INFORMATION", "KATAKANA-HIRAGANA", "KELVIN", "MASCULINE", "MASU", "MICRO", "MODIFIER"),
        *("OHM", "PLANCK", "SUPERSCRIPT", "TURNED", "VERTICAL"),
    }
)

ZWNJ, ZWJ = "\u200c", "\u200d"
TEXT_STYLE, EMOJI_STYLE = "\ufe0e", "\ufe0f"

#: Format characters with a visible glyph: Arabic, Syriac and Kaithi signs that enclose digits or letters.
VISIBLE_FORMAT = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")

#: Ignorable by default although they are letters, marks or symbols: fillers, joiners, selectors, a blank pattern.
BLANK = (
    frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0")
    | frozenset(map(chr, range(0xFE00, 0xFE10)))
    | frozenset(map(chr, range(0xFFF0, 0xFFF9)))
    | frozenset(map(chr, range(0xE0000, 0xE1000)))
)

_REGIONS = ("gbeng", "gbsct", "gbwls")

#: The flags that are spelt with tag characters: England, Scotland, Wales.
TAG_FLAG = re.compile(
    "\U0001f3f4(?:"
    + "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in _REGIONS)
    + ")\U000e007f"
)

#: Symbols outside the category "other symbol" that have a text and an emoji style.
STYLED = frozenset("#*0123456789\u203c\u2049\u2194\u25fb\u25fc\u25fd\u25fe\u2934\u2935\u3030")


@lru_cache(maxsize=4096)
def is_hidden(char: str) -> bool:
    """Whether this character has no glyph of its own, wherever it stands."""
    if char in VISIBLE_FORMAT or char in "\n\t":
        return False
    # Controls, formats, surrogates, private use, unassigned; and the two line separators.
    return char in BLANK or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def is_allowed(text: str, at: int) -> bool:
    """Whether the hidden character at this place is one that its script or emoji needs there."""
    char = text[at]
    if char == "\r":
        return text[at + 1 : at + 2] == "\n"
    if char in (ZWNJ, ZWJ):
        return _joins_letters(text, at) or (char == ZWJ and _joins_emoji(text, at))
    if char in (TEXT_STYLE, EMOJI_STYLE):
        return at > 0 and (text[at - 1] in STYLED or unicodedata.category(text[at - 1]) == "So")
    return False


def flag_length(text: str, at: int) -> int:
    """How many characters the flag that starts here takes, or 0."""
    found = TAG_FLAG.match(text, at)
    return len(found[0]) if found else 0


def name_of(char: str) -> str:
    """What the character is called, in lower case: `right-to-left override`."""
    return unicodedata.name(char, "").lower() or {
        "Cc": "control character",
        "Cs": "lone surrogate",
        "Co": "private use character",
    }.get(unicodedata.category(char), "unassigned character")


def script_of(char: str) -> str:
    """The script a letter belongs to, by the first word of its name; empty for what every script uses."""
    script = unicodedata.name(char, "").partition(" ")[0] if unicodedata.category(char)[0] in "LM" else ""
    return "" if script in SHARED else script


def _joins_letters(text: str, at: int) -> bool:
    """After a virama, or between two letters of one script that joins."""
    before = text[at - 1 : at]
    if not before:
        return False
    script = script_of(before)
    if script not in JOINING_SCRIPTS:
        return False
    return unicodedata.combining(before) == 9 or script == script_of(text[at + 1 : at + 2] or " ")


def _joins_emoji(text: str, at: int) -> bool:
    """Between two symbols; a style selector or a skin tone may stand before the joiner."""
    before = text[:at].rstrip(EMOJI_STYLE)[-1:]
    after = text[at + 1 : at + 2]
    is_symbol = bool(before) and (unicodedata.category(before) == "So" or "\U0001f3fb" <= before <= "\U0001f3ff")
    return is_symbol and bool(after) and unicodedata.category(after) == "So"
