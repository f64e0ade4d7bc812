"""The one sentence that says what will happen, with frozen values told apart from our words and long ones cut.

Pure. It is made from manifest and payload alone, so nothing but the frozen bytes can change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals.payload import Said, sentence_parts
from console.hostile import Shown
from console.lookalikes import inspect_name
from console.payloads import cut
from runs.definitions import Action

JSON = Any

#: How much of one value the sentence repeats.
LONGEST_SAID = 80


@dataclass(frozen=True, slots=True)
class Word:
    """A stretch of the sentence: our words, or a frozen value."""

    text: str
    value: Shown | None

    @property
    def is_cut(self) -> bool:
        return self.value is not None and len(self.text) > LONGEST_SAID


def said_of(action: Action, run_key: str, manifest: Mapping[str, JSON], payload: JSON) -> list[Said]:
    """The sentence of frozen bytes, computed anew."""
    return sentence_parts(action.sentence, run_key, manifest["facts"]["values"], payload)


def words_of(said: Sequence[Said]) -> tuple[Word, ...]:
    """The same for a page."""
    return tuple(
        Word(part.text, cut(inspect_name(part.text), LONGEST_SAID) if part.is_value else None) for part in said
    )
