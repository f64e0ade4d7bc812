"""The small definition `claim.toml`, and what is found in it after a change."""

from pathlib import Path

import pytest

from runs.errors import DefinitionInvalid
from runs.loading import load_workflow

CORPUS = Path(__file__).parent / "definitions_corpus"
CLAIM = (CORPUS / "claim.toml").read_text(encoding="utf-8")


def changed(*replacements: tuple[str, str]) -> str:
    """The claim definition with some of its texts replaced, each of which is there once."""
    text = CLAIM
    for old, new in replacements:
        assert text.count(old) == 1, f"“{old}” is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def faults_of(text: str) -> list[tuple[str, str]]:
    """Place and code of every fault of a definition."""
    with pytest.raises(DefinitionInvalid) as refusal:
        load_workflow(text)
    return [(fault.pointer, fault.code) for fault in refusal.value.errors]


def warnings_of(text: str) -> list[tuple[str, str]]:
    """Place and code of every warning of a sound definition."""
    return [(warning.pointer, warning.code) for warning in load_workflow(text).warnings]
