"""What a waiting step would change, as differences that a page can show: what is now, and what was asked for."""

from collections.abc import Callable, Mapping
from typing import Any

from approvals.destinations import Terms, newest_revision, terms_of
from approvals.registering import KIND as DESTINATION
from approvals.registering import tell_terms
from console.changes import Change, told_changes
from runs.administration import get_person, newest_policy
from runs.confirmations import Asked
from runs.people import CHANGE, CREATE
from runs.policies import KIND as POLICY
from runs.policy_terms import write_terms

JSON = Any

Sides = tuple[Mapping[str, JSON], Mapping[str, JSON]]


def changes_of(step: Asked, *, is_open: bool) -> list[Change]:
    """What the step changes, each member from what is now to what was asked for; of a settled one what was asked."""
    now, wanted = _SIDES.get(step.kind, _arguments)(step)
    return told_changes(now if is_open else {}, wanted)


def _arguments(step: Asked) -> Sides:
    return {}, step.arguments


def _policy(step: Asked) -> Sides:
    return write_terms(newest_policy(step.subject)), step.arguments["changes"]


def _new_person(step: Asked) -> Sides:
    return {}, {"roles": step.arguments["roles"], "groups": step.arguments["groups"]}


def _person(step: Asked) -> Sides:
    person = get_person(step.subject)
    now = {"roles": person.roles, "groups": person.workflow_groups, "may sign in": person.is_active}
    given = step.arguments
    wanted = {"roles": given["roles"], "groups": given["groups"], "may sign in": given["active"]}
    return now, wanted | ({"password": "a new one"} if step.secret else {})


def _destination(step: Asked) -> Sides:
    newest = newest_revision(step.subject)
    now = tell_terms(terms_of(newest)) if newest else {}
    return now, tell_terms(Terms(**step.arguments["terms"]))


_SIDES: dict[str, Callable[[Asked], Sides]] = {
    POLICY: _policy,
    CREATE: _new_person,
    CHANGE: _person,
    DESTINATION: _destination,
}
