"""The adapters that a destination may name: how their addresses begin, and what each can do at all. Pure.

What an adapter cannot do no destination may declare: the step after an unknown outcome rests on what is declared.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Abilities:
    """What one way of sending can do: the schemes it speaks, and which terms of a destination mean anything to it."""

    schemes: tuple[str, ...]
    declarable: frozenset[str] = frozenset()


_OVER_HTTP = Abilities(
    ("https", "http"),
    frozenset(
        {
            "recognises_repeats",
            "key_retention_seconds",
            "compares_payloads",
            "lookup_url",
            "cancel_url",
            "unavailable_means_throttled",
            "signing_secret_env",
        }
    ),
)

#: By name. Mail servers recognise no repeats, and nobody can ask them afterwards.
ABILITIES = {
    "http": _OVER_HTTP,
    "smtp": Abilities(("smtps", "smtp+tls", "smtp")),
    "sandbox": _OVER_HTTP,
}
