"""Two admins and what they ask of policies and people, for tests of what waits for a second one."""

from itertools import count
from typing import Any

from runs import authority, policies
from runs.administration import newest_policy
from runs.confirmations import Kinds, Settled, Settling, confirm
from runs.models import WaitingStep
from runs.people import KINDS as PEOPLE
from runs.people import PersonChangeRequest, PersonRequest, alter_person, create_person
from runs.policies import KINDS as POLICIES
from runs.policies import PolicyRequest, change_policy
from runs.requests import Answer
from runs.states import Role
from runs.values import Principal
from tests import cast

JSON = Any

KINDS: Kinds = {**POLICIES, **PEOPLE}

_numbers = count(1)


def dan() -> Principal:
    """The other admin."""
    return cast.person("dan", Role.ADMIN)


def number() -> str:
    """An id that nobody used yet."""
    return f"a-{next(_numbers)}"


def policy_change(
    who: Principal, slug: str = "refund", on: int | None = None, id_: str = "", **changes: JSON
) -> Answer:
    """Change a policy, by default on its current version."""
    version = newest_policy(slug).version if on is None else on
    request = PolicyRequest(id_ or number(), version, changes, "because the test says so")
    return change_policy(who, slug, request)


def new_person(who: Principal, username: str, *roles: str, groups: tuple[str, ...] = (), id_: str = "") -> Answer:
    """Create a person."""
    return create_person(who, PersonRequest(id_ or number(), username, roles, groups, "because the test says so"))


def person_change(who: Principal, username: str, id_: str = "", **changes: Any) -> Answer:
    """Change a person."""
    return alter_person(who, username, PersonChangeRequest(id_ or number(), "because the test says so", **changes))


def confirmed(who: Principal, ref: str | None, id_: str = "", reason: str = "I checked it.") -> Settled:
    """Confirm a waiting step."""
    assert ref is not None
    return confirm(KINDS, who, ref, Settling(id_ or number(), reason))


def only_step() -> WaitingStep:
    """The one waiting step there is."""
    return WaitingStep.objects.select_related("proposed_by").get()


def again(who: Principal) -> Principal:
    """The same principal with the authority of this moment."""
    return authority.current(Principal(who.kind, who.name))


__all__ = [
    "KINDS", "again", "confirmed", "dan", "new_person", "number", "only_step", "person_change", "policies",
    "policy_change",
]  # fmt: skip
