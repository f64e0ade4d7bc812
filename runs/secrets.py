"""Known shapes of secrets, so that a key pasted into a body is refused before it is kept for ever.

Pure: imports the standard library only. What is written here is stored, hashed and shown to many people; a secret
belongs into the settings of a destination and is referred to by name. Only shapes that hardly occur by accident are
listed: every false alarm stops somebody's work.
"""

import re
from dataclasses import dataclass

_START = "(?<![A-Za-z0-9])"
_END = "(?![A-Za-z0-9_-])"


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of secret: literals of which each instance contains one, and the pattern that decides.

    Looking for a literal is some twenty times cheaper than a pattern, and almost no text contains one.
    """

    name: str
    literals: tuple[str, ...]
    pattern: str


_SHAPES = (
    _Shape("private key", ("PRIVATE KEY",), r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY"),
    _Shape("AWS access key", ("AKIA", "ASIA"), rf"{_START}A[KS]IA[A-Z2-7]{{16}}{_END}"),
    _Shape(
        "AWS secret key",
        ("ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY"),
        r"(?i:secret_?access_?key)[\"']?\s{0,9}[:=]\s{0,9}[\"']?[A-Za-z0-9/+]{40}",
    ),
    _Shape("Azure storage key", ("AccountKey=",), r"AccountKey=[A-Za-z0-9/+]{40}"),
    _Shape(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{36}}|github_pat_[A-Za-z0-9_]{{60}})",
    ),
    _Shape("GitLab token", ("glpat-",), rf"{_START}glpat-[A-Za-z0-9_-]{{20}}"),
    _Shape("Slack token", ("xox", "xapp-"), rf"{_START}(?:xox[abeoprs]-|xapp-[0-9]-)[A-Za-z0-9-]{{10}}"),
    _Shape("Slack webhook address", ("hooks.slack.com",), r"hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{20}"),
    _Shape("Stripe key", ("k_live_", "k_test_"), rf"{_START}[sr]k_(?:live|test)_[A-Za-z0-9]{{16}}"),
    _Shape("webhook signing secret", ("whsec_",), rf"{_START}whsec_[A-Za-z0-9/+]{{24}}"),
    _Shape("Google API key", ("AIza",), rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
    _Shape("Google client secret", ("GOCSPX-",), rf"{_START}GOCSPX-[A-Za-z0-9_-]{{20}}"),
    _Shape("Google access token", ("ya29.",), rf"{_START}ya29\.[A-Za-z0-9_-]{{20}}"),
    _Shape(
        "model provider key",
        ("sk-",),
        rf"{_START}sk-(?:(?:ant|or|proj|svcacct)-[A-Za-z0-9_-]{{20}}|[A-Za-z0-9]{{40}})",
    ),
    _Shape("npm token", ("npm_",), rf"{_START}npm_[A-Za-z0-9]{{36}}"),
    _Shape("PyPI token", ("pypi-AgE",), rf"{_START}pypi-AgE[A-Za-z0-9_-]{{20}}"),
    _Shape("Clearance token", ("clr_",), rf"{_START}clr_[A-Za-z0-9_-]{{20}}"),
    _Shape(
        "JSON web token",
        ("eyJ",),
        rf"{_START}eyJ[A-Za-z0-9_-]{{8,8000}}\.eyJ[A-Za-z0-9_-]{{8,8000}}\.[A-Za-z0-9_-]{{16}}",
    ),
    # A token has digits and letters; "bearer of-internationalisation" has not.
    _Shape(
        "bearer token",
        ("earer ", "EARER "),
        r"\b(?i:bearer) {1,9}(?=[\w.~+/-]{0,99}[0-9])(?=[\w.~+/-]{0,99}[A-Za-z])[\w.~+/-]{20}",
    ),
    _Shape(
        "basic credentials",
        ("Basic ", "basic "),
        r"(?i:authorization)[\"']?\s{0,9}[:=]\s{0,9}[\"']?[Bb]asic {1,9}[A-Za-z0-9/+]{8}",
    ),
    # A masked password (***) or a reference (<token>, {token}, $TOKEN) is what people should write instead.
    _Shape(
        "password in an address",
        ("://",),
        r"://[^\s/?#@:\"'<>]{0,255}:(?!\*+@|[<{][^\s/?#@]{1,80}[>}]@|\$\{?\w+\}?@|[0-9]{1,5}[,;])"
        r"[^\s/?#@\"]{1,255}@[A-Za-z0-9\[]",
    ),
)
_SEARCHES = [
    (literal, re.compile(shape.pattern, re.ASCII).search, shape.name) for shape in _SHAPES for literal in shape.literals
]


def secret_shape(text: str) -> str | None:
    """The name of a secret shape found in `text`, or None. Takes time proportional to the length of the text."""
    for literal, search, name in _SEARCHES:
        if literal in text and search(text):
            return name
    return None
