"""The cast of the tests: people, agents, workflows, and runs named after the state they are in.

Plain functions over the real actions. People and workflows may be asked for again and are found, so a test
names only whom it needs; agents and runs are made once a test. Those under review are in `tests/review.py`.
"""

from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import runs
from runs import actions, authority, catalog, policies, store
from runs.administration import AgentTerms, By, authority_change, create_agent, create_person, newest_policy
from runs.definitions import Workflow
from runs.models import Person, WorkflowRevision
from runs.outcomes import Outcome
from runs.states import Role
from runs.values import CommandRequest, Principal, RunReading

JSON = Any

PASSWORD = "a long pass phrase"
SETUP = By("cli:tests", "setting the scene", without_second_person=True)
DEFINITIONS = Path(runs.__file__).parent / "workflows"

_numbers = count(1)

# ---- workflows -------------------------------------------------------------------------------------------


def workflow(slug: str = "refund") -> None:
    """One of the shipped workflows, applied, unless the test has a revision of its own."""
    if WorkflowRevision.objects.filter(slug=slug).exists():
        return
    catalog.store_workflow((DEFINITIONS / f"{slug}.toml").read_text(), SETUP.actor)


def definition(slug: str = "refund") -> Workflow:
    """The newest revision of a shipped workflow."""
    workflow(slug)
    return catalog.latest(slug)


@authority_change
def policy(slug: str = "refund", **terms: Any) -> None:
    """The policy of a workflow with these terms, in force."""
    before = newest_policy(slug)
    policies.put_in_force(slug, before, replace(before, **terms), SETUP)


# ---- people ----------------------------------------------------------------------------------------------


def person(name: str, *roles: Role, groups: tuple[str, ...] = ()) -> Principal:
    """A person who can sign in with `PASSWORD`."""
    if not Person.objects.filter(username=name).exists():
        create_person(name, PASSWORD, roles, groups, SETUP)
    return authority.current(Principal("person", name))


def ada() -> Principal:
    """The operator of both workflows."""
    return person_operating("ada")


def person_operating(name: str) -> Principal:
    """Another operator of both workflows."""
    return person(name, Role.OPERATOR, groups=("refund-operators", "report-operators"))


def ben() -> Principal:
    """The reviewer of both workflows."""
    return person("ben", Role.REVIEWER, groups=("refund-reviewers", "report-reviewers"))


def cy() -> Principal:
    """An operator of something else: an outsider here."""
    return person("cy", Role.OPERATOR, groups=("other-operators",))


def dora() -> Principal:
    """An admin."""
    return person("dora", Role.ADMIN)


def eli() -> Principal:
    """An auditor."""
    return person("eli", Role.AUDITOR)


# ---- agents ----------------------------------------------------------------------------------------------

REFUND_SCOPES = tuple(f"refund:{name}" for name in ("intake", "note", "classify", "amount", "assign", "close", "pay"))
REPORT_SCOPES = tuple(f"report:{name}" for name in ("coordinate", "note", "research", "calculate"))


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's principal and its token."""

    principal: Principal
    token: str


def agent(
    name: str = "classifier",
    scopes: tuple[str, ...] = REFUND_SCOPES,
    workflows: tuple[str, ...] = ("refund",),
    grants: tuple[str, ...] = (),
    owner: str = "ada",
) -> Agent:
    """An agent, by default of Ada's; by default one that may do everything to refunds."""
    ada()
    new = create_agent(name, AgentTerms(owner, workflows, scopes, grants), SETUP)
    return Agent(authority.current(Principal("agent", name)), new.token)


# ---- runs ------------------------------------------------------------------------------------------------


def command(who: Principal, key: str, name: str, on: int | None = None, **params: JSON) -> Outcome:
    """Apply a command, by default to the current version. The member `id_` names the command."""
    number = params.pop("id_", f"c-{next(_numbers)}")
    version = reading(key).version if on is None else on
    return actions.apply_command(who, key, version, CommandRequest(number, name, params, "because the test says so"))


def reading(key: str) -> RunReading:
    """The run as it is now."""
    run = store.read(key).run
    assert run is not None
    return run


def run_received(key: str = "R-42", slug: str = "refund", **fields: JSON) -> RunReading:
    """A new run, created by Ada; nobody has worked on it."""
    workflow(slug)
    request = actions.RunRequest(f"new-{key}", slug, key, fields, "a case came in")
    return actions.create_run(ada(), request).run


def run_working(key: str = "R-42", **fields: JSON) -> RunReading:
    """A refund at version 2: Ada has categorised it as billing."""
    run_received(key, **fields)
    command(ada(), key, "set-category", category="billing")
    return reading(key)


def run_with_open_case(key: str = "R-42", who: Principal | None = None) -> RunReading:
    """A refund at version 2: Ada set its category while an agent proposed another, which waits for an operator."""
    who = who or agent().principal
    run_received(key)
    command(ada(), key, "set-category", category="billing")
    command(who, key, "set-category", on=1, category="damage", id_="c-stale")
    return reading(key)


def run_with_open_amount(key: str = "R-42", who: Principal | None = None) -> RunReading:
    """A refund whose amount Ada set while an agent proposed another: a material case is open."""
    who = who or agent().principal
    run_received(key)
    command(ada(), key, "set-refund-amount", amount="30.00", currency="EUR")
    command(who, key, "set-refund-amount", on=1, amount="45.00", currency="EUR", id_="c-stale")
    return reading(key)


def run_cancelled(key: str = "R-42") -> RunReading:
    """A refund that Ada cancelled before anybody worked on it."""
    run_received(key)
    command(ada(), key, "cancel")
    return reading(key)
