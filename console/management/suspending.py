"""Suspending a person, an agent or a workflow, and ending a suspension: two commands, alike but for the direction."""

from argparse import ArgumentParser
from typing import Any

from console.management.acting import ActingCommand, Plan
from runs.administration import (
    By,
    get_agent,
    get_person,
    newest_policy,
    set_agent_active,
    set_person_active,
    set_workflow_suspended,
)
from runs.loosening import Standing, gained


class SuspendingCommand(ActingCommand):
    """Suspends, or ends a suspension."""

    suspends: bool

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", choices=["person", "agent", "workflow"])
        parser.add_argument("name")

    def plan(self, options: dict[str, Any]) -> Plan:
        kind, name = options["kind"], options["name"]
        plans = {"person": self._person, "agent": self._agent, "workflow": self._workflow}
        return plans[kind](name)

    def _words(self, kind: str, name: str) -> str:
        return f"suspend the {kind} {name}" if self.suspends else f"end the suspension of the {kind} {name}"

    def _person(self, username: str) -> Plan:
        person = get_person(username)
        before = Standing(frozenset(person.roles), frozenset(person.workflow_groups), person.is_active)
        wanted = Standing(before.roles, before.groups, not self.suspends)

        def act(by: By) -> None:
            set_person_active(username, not self.suspends, by)

        return Plan(self._words("person", username), gained(before, wanted), act)

    def _agent(self, name: str) -> Plan:
        get_agent(name)
        return Plan(self._words("agent", name), [], lambda by: set_agent_active(name, not self.suspends, by))

    def _workflow(self, slug: str) -> Plan:
        newest_policy(slug)

        def act(by: By) -> None:
            set_workflow_suspended(slug, self.suspends, by)

        return Plan(self._words("workflow", slug), [], act)
