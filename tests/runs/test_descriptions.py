"""A workflow is told whole: nothing of a definition or a policy is left out."""

import json
from dataclasses import fields

import pytest

from runs.definitions import Action, Command, Field, Policy, Slot
from runs.descriptions import describe, describe_policy, summarise
from runs.loading import load_workflow
from tests.cast import DEFINITIONS

#: Members that are told under another name, or that only the sender of an effect needs.
ELSEWHERE = {"params": "params_schema", "effects": "writes", "dispatch": "", "entry_kind": ""}


@pytest.mark.parametrize("slug", ["refund", "report"])
def test_every_part_of_a_definition_is_told(slug: str) -> None:
    workflow = load_workflow((DEFINITIONS / f"{slug}.toml").read_text()).workflow

    told = json.loads(json.dumps(describe(workflow, workflow.policy)))

    assert told.items() >= summarise(workflow, workflow.policy).items()
    kinds = {"fields": Field, "slots": Slot, "commands": Command, "actions": Action}
    for name, kind in kinds.items():
        for item in told[name]:
            wanted = {ELSEWHERE.get(member.name, member.name) for member in fields(kind)} - {""}
            assert wanted <= item.keys(), (name, item["name"])
    assert [item["name"] for item in told["fields"]] == list(workflow.fields)
    assert [item["name"] for item in told["actions"]] == list(workflow.actions)


def test_every_term_of_a_policy_is_told() -> None:
    policy = load_workflow((DEFINITIONS / "refund.toml").read_text()).workflow.policy

    assert describe_policy(policy).keys() == {term.name for term in fields(Policy)}
