"""What the agents make of a customer's words. A model would read them; a few rules are enough for a demo."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

JSON = Any

_WORDS = {
    "damage": ("broken", "cracked", "scratched", "dent"),
    "billing": ("charged", "payment", "voucher", "money"),
    "delay": ("late", "delayed", "where is my order"),
}
_PRICE = re.compile(r"EUR (\d+\.\d\d)")
_OTHER_PAYEE = re.compile(r"[Pp]ay it back to (\w+ \w+)")
#: What is paid back for a parcel that came late.
SHIPPING = Decimal("5.90")


def words_of(fields: Mapping[str, JSON]) -> str:
    """Everything that the customer wrote."""
    messages: Sequence[Mapping[str, str]] = fields["messages"]
    return " ".join(message["text"] for message in messages if message["from"] == "customer")


def category_of(words: str) -> str:
    """What a case is about."""
    lower = words.lower()
    return next((name for name, signs in _WORDS.items() if any(sign in lower for sign in signs)), "other")


def amount_for(words: str, category: str) -> str | None:
    """What is due by the policy table; None where the customer names no price."""
    if category == "delay":
        return str(SHIPPING)
    found = _PRICE.search(words)
    return found[1] if found else None


def is_urgent(words: str) -> bool:
    lower = words.lower()
    return any(sign in lower for sign in ("urgent", "tomorrow", "birthday"))


def other_payee(words: str) -> str | None:
    """Whom the customer wants to be paid instead."""
    found = _OTHER_PAYEE.search(words)
    return found[1] if found else None


def half_of(amount: str) -> str:
    """Half of an amount of money."""
    return str((Decimal(amount) / 2).quantize(Decimal("0.01")))
