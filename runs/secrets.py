"""Known shapes of secrets, so that a key pasted into a body is refused before it is kept for ever.

Pure: imports the standard library only. What is written here is stored, hashed and shown to many people; a secret
belongs into the settings of a destination and is referred to by name. Only shapes that hardly occur by accident are
listed: every false alarm stops somebody's work.
"""

import re

_END_OF_TOKEN = "(?![A-Za-z0-9_-])"


def _token(prefix: str, rest: str) -> str:
    """The pattern of a token that starts with `prefix` where no word is under way.

    The look-behind comes after the prefix on purpose: `re` searches an alternation several times faster when each
    branch begins with a literal.
    """
    return f"{prefix}(?<![A-Za-z0-9]{prefix}){rest}"


_PATTERNS = {
    "private key": r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY",
    "AWS access key": _token("A[KS]IA", "[A-Z2-7]{16}" + _END_OF_TOKEN),
    "AWS secret key": r"[Ss](?:ECRET_ACCESS_KEY|ecret_access_key|ecretAccessKey)[\"']?\s{0,9}[:=]\s{0,9}[\"']?[A-Za-z0-9/+]{40}",
    "Azure storage key": r"AccountKey=[A-Za-z0-9/+]{40}",
    "GitHub token": _token("gh[pousr]_", "[A-Za-z0-9]{36}"),
    "GitHub fine-grained token": _token("github_pat_", "[A-Za-z0-9_]{60}"),
    "GitLab token": _token("glpat-", "[A-Za-z0-9_-]{20}"),
    "Slack token": _token("xox[abeoprs]-", "[A-Za-z0-9-]{10}"),
    "Slack app token": _token("xapp-", "[0-9]-[A-Za-z0-9-]{10}"),
    "Slack webhook address": r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20}",
    "Stripe key": _token("[sr]k_", "(?:live|test)_[A-Za-z0-9]{16}"),
    "webhook signing secret": _token("whsec_", "[A-Za-z0-9/+]{24}"),
    "Google API key": _token("AIza", "[A-Za-z0-9_-]{35}" + _END_OF_TOKEN),
    "Google client secret": _token("GOCSPX-", "[A-Za-z0-9_-]{20}"),
    "Google access token": _token(r"ya29\.", "[A-Za-z0-9_-]{20}"),
    "model provider key": _token("sk-", "(?:(?:ant|or|proj|svcacct)-[A-Za-z0-9_-]{20}|[A-Za-z0-9]{40})"),
    "npm token": _token("npm_", "[A-Za-z0-9]{36}"),
    "PyPI token": _token("pypi-", "AgE[A-Za-z0-9_-]{20}"),
    "Clearance token": _token("clr_", "[A-Za-z0-9_-]{20}"),
    "JSON web token": _token("eyJ", r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16}"),
    # A token has digits and letters; "bearer of-internationalisation" has not.
    "bearer token": r"[Bb](?:earer|EARER) +(?=[\w.~+/-]*[0-9])(?=[\w.~+/-]*[A-Za-z])[\w.~+/-]{20}",
    "basic credentials": r"[Aa](?:uthorization|UTHORIZATION)[\"']?\s{0,9}[:=]\s{0,9}[\"']?Basic +[A-Za-z0-9/+]{8}",
    # A masked password (***) or a reference (<token>, {token}, $TOKEN) is what people should write instead.
    "password in an address": (
        r"://[^\s/?#@:\"'<>]*:(?!\*+@|[<{][^@]*[>}]@|\$\{?\w+\}?@|[0-9]{1,5}[,;])[^\s/?#@\"]+@[A-Za-z0-9\[]"
    ),
}
_SHAPES = {name: re.compile(pattern, re.ASCII) for name, pattern in _PATTERNS.items()}
_ANY_SHAPE = re.compile("|".join(_PATTERNS.values()), re.ASCII)


def secret_shape(text: str) -> str | None:
    """The name of a secret shape found in `text`, or None. Takes time proportional to the length of the text."""
    if _ANY_SHAPE.search(text) is None:
        return None
    return next(name for name, shape in _SHAPES.items() if shape.search(text))
