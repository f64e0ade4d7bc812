"""What a ledger entry tells: who, what, how each field changed, and why."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from console.stories import KINDS, Story, tell, told_change
from runs.definitions import Workflow
from runs.loading import load_workflow
from runs.queries import Entry
from tests.cast import DEFINITIONS

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
REFUND: Workflow = load_workflow((DEFINITIONS / "refund.toml").read_text()).workflow

#: The kinds of entries that the documented API promises.
PUBLISHED = [
    "run.created", "command.committed", "command.merged", "command.rejected", "command.escalated",
    "escalation.resolved", "escalation.superseded", "artifact.submitted", "snapshot.frozen",
    "decision.approved", "decision.denied", "approval.revoked", "effect.authorized", "effect.claimed",
    "effect.settled", "effect.cancelled", "attempt.recorded", "attempt.late", "lookup.recorded",
    "verdict.recorded", "repair.ordered", "remediation.opened", "remediation.done", "run.cancelled",
    "run.expired", "run.reopened", "run.moved", "content.erased", "quarantine.set", "quarantine.released",
]  # fmt: skip


def story(kind: str, *, version: int = 21, actor: str = "user:mara", erased: bool = False, **body: Any) -> Story:
    content = None if erased else json.dumps(body).encode()
    return tell(Entry(31, version, kind, actor, "c-1", AT, content, "sha256:0", "0", "1"), REFUND)


def test_every_published_kind_has_words_of_its_own() -> None:
    assert set(PUBLISHED) == set(KINDS)
    assert len({kind.words for kind in KINDS.values()}) == len(KINDS)


def test_a_kind_that_nobody_listed_is_told_by_its_name() -> None:
    assert story("moon.landed").words == "moon landed"


def test_a_command_is_told_by_its_title_with_what_it_changed() -> None:
    told = story("command.committed", name="set-category", changes={"category": {"from": None, "to": "damage"}})

    assert told.subject == "Set the category"
    assert [(line.field, line.change.new) for line in told.changes] == [("category", "damage")]
    assert told.is_step


def test_a_command_that_no_revision_knows_is_told_by_its_name() -> None:
    assert story("command.committed", name="set-mood").subject == "set-mood"


def test_a_run_begins_with_what_it_was_given() -> None:
    told = story("run.created", fields={"recipient": "Ana", "tags": []}, given=["recipient"])

    assert [(line.field, line.change.new) for line in told.changes] == [("recipient", "Ana")]


@pytest.mark.parametrize(
    ("body", "base"),
    [
        ({"base_version": 20, "changes": {"tags": {"added": ["vip"]}}}, None),  # the version before
        ({"base_version": 18, "changes": {"tags": {"added": ["vip"]}}}, 18),
        ({"base_version": 21}, None),  # made no version
        ({"base_version": 20}, 20),
        ({}, None),
    ],
)
def test_a_base_is_told_only_where_it_was_not_the_version_before(body: dict[str, Any], base: int | None) -> None:
    assert story("command.merged", **body).base_version == base


def test_a_resolution_is_told_by_its_verb_with_its_note() -> None:
    told = story("escalation.resolved", verb="keep", note="Mara knows the customer.", reason="other", escalation="es-1")

    assert told.words == "kept the record; the proposal is rejected"
    assert told.reason == "Mara knows the customer."
    assert told.escalation == "es-1"


def test_a_refusal_is_told_with_the_reason_of_its_rule() -> None:
    assert story("command.rejected", because="The case was closed.").because == "The case was closed."


def test_what_became_of_a_review_is_told() -> None:
    assert story("command.committed", consent={"stands": False, "because": "void: x"}).consent == "void: x"


def test_words_of_an_agent_are_known_as_such() -> None:
    assert story("command.committed", actor="agent:pricing", reason="x").is_from_agent
    assert not story("command.committed", reason="x").is_from_agent


def test_an_erased_entry_still_tells_who_and_what() -> None:
    told = story("command.committed", erased=True)

    assert told.is_erased
    assert (told.actor, told.words, told.changes) == ("user:mara", "committed", ())


@pytest.mark.parametrize(
    ("change", "items"),
    [
        ({"added": ["vip"], "removed": ["late"]}, [("removed", "late"), ("added", "vip")]),
        ({"appended": [{"id": "m1", "from": "customer", "text": "Hi"}]}, [("added", "m1 \u00b7 from customer")]),
    ],
)
def test_a_change_of_a_collection_is_told_by_its_elements(change: dict[str, Any], items: list[tuple[str, str]]) -> None:
    assert [(item.side.value, item.key) for item in told_change(change).items] == items
