"""Who may do what to the runs of a workflow, judged from a principal and a policy.

Pure. A role and, for reviewers and operators, a group that the policy names are both needed; admins and
auditors need the role only. Agents hold the scopes of their token for the workflows of their token.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from runs.definitions import Command, Create, Policy, Workflow
from runs.errors import AgentsCannotDecide, Forbidden, Halted, LimitExceeded, ScopeMissing, WorkflowSuspended
from runs.states import Role
from runs.values import Principal

JSON = Any


def is_operator(principal: Principal, policy: Policy) -> bool:
    """Whether this person holds every scope of the workflow and settles its conflicts."""
    return principal.is_person and Role.OPERATOR in principal.roles and bool(principal.groups & policy.operators)


def is_reviewer(principal: Principal, policy: Policy) -> bool:
    """Whether this person decides on snapshots of the workflow."""
    return principal.is_person and Role.REVIEWER in principal.roles and bool(principal.groups & policy.reviewers)


def is_admin(principal: Principal) -> bool:
    return principal.is_person and Role.ADMIN in principal.roles


def is_auditor(principal: Principal) -> bool:
    return principal.is_person and Role.AUDITOR in principal.roles


def may_see(principal: Principal, slug: str, policy: Policy) -> bool:
    """Whether the principal sees the runs of workflow `slug`."""
    if principal.is_agent:
        return slug in principal.workflows
    if principal.is_person:
        member = is_operator(principal, policy) or is_reviewer(principal, policy)
        return member or is_admin(principal) or is_auditor(principal)
    return True  # the system and the command line of the installation


def holds_scope(principal: Principal, slug: str, scope: str, policy: Policy) -> bool:
    """Whether the principal may use `scope` on the runs of workflow `slug`."""
    if principal.is_agent:
        return slug in principal.workflows and scope in principal.scopes
    return is_operator(principal, policy)


def require_scope(principal: Principal, slug: str, scope: str, policy: Policy) -> None:
    """Raise `ScopeMissing` unless the principal holds `scope`."""
    if not holds_scope(principal, slug, scope, policy):
        raise ScopeMissing(f"This needs the scope {scope}.", missing=scope)


def require_command(principal: Principal, workflow: Workflow, policy: Policy, command: Command) -> None:
    """Raise unless the principal may ask for `command` at all."""
    match command.scope:
        case "operators":
            _require_person(principal, is_operator(principal, policy), "operators of this workflow")
        case "admins":
            _require_person(principal, is_admin(principal), "admins")
        case "system":
            if principal.kind != "system":
                raise Forbidden("Only the clock ends a run by its time limit.")
        case scope:
            require_scope(principal, workflow.slug, scope, policy)


def require_no_agent(principal: Principal) -> None:
    """Raise `AgentsCannotDecide` for an agent."""
    if principal.is_agent:
        raise AgentsCannotDecide


def require_admin(principal: Principal) -> None:
    """Raise unless the principal is an admin: `AgentsCannotDecide` for an agent, `Forbidden` for anybody else."""
    _require_person(principal, is_admin(principal), "admins")


def require_overseer(principal: Principal) -> None:
    """Raise `Forbidden` unless the principal sees the whole installation, as admins and auditors do."""
    if not (is_admin(principal) or is_auditor(principal)):
        raise Forbidden("This is for admins and auditors.")


def _require_person(principal: Principal, holds: bool, who: str) -> None:
    require_no_agent(principal)
    if not holds:
        raise Forbidden(f"This is for {who}.")


def may_command(principal: Principal, workflow: Workflow, policy: Policy, command: Command) -> bool:
    """Whether the principal may ask for `command` at all, as an answer rather than a refusal."""
    try:
        require_command(principal, workflow, policy, command)
    except (Forbidden, ScopeMissing, AgentsCannotDecide):
        return False
    return True


def require_running(principal: Principal, policy: Policy, *, is_halted: bool) -> None:
    """Raise when a halt or a suspension stops this agent's commands. People's own commands go on."""
    if principal.is_agent:
        require_going_on(policy, is_halted=is_halted)


def require_going_on(policy: Policy, *, is_halted: bool) -> None:
    """Raise while a halt or a suspension stops what leads to an effect, whoever asks."""
    if is_halted:
        raise Halted
    if policy.suspended:
        raise WorkflowSuspended


def require_grant(principal: Principal, on_behalf_of: str | None) -> None:
    """Raise `Forbidden` unless the principal may act for that person."""
    if on_behalf_of is not None and on_behalf_of not in principal.grants:
        raise Forbidden(f"This credential is not granted to act for {on_behalf_of}.", expected=sorted(principal.grants))


def require_within_limits(principal: Principal, policy: Policy, values: Mapping[str, JSON]) -> None:
    """Raise `LimitExceeded` when an agent sets a field above the policy's limit."""
    if not principal.is_agent:
        return
    for name, limit in policy.limits.items():
        value = values.get(name)
        if value is not None and Decimal(value) > Decimal(limit):
            raise LimitExceeded(
                f"{name} {value} is above the limit of {limit}: a person has to do this.", expected=limit, actual=value
            )


def require_create(principal: Principal, workflow: Workflow, policy: Policy, fields: Iterable[str]) -> None:
    """Raise unless the principal may create a run with these fields set."""
    create: Create = workflow.create
    require_scope(principal, workflow.slug, create.scope, policy)
    for name in fields:
        owner = workflow.fields[name].owner
        scopes = {owner} if owner else {command.scope for command in workflow.writers(name)}
        allowed = (name in create.fields and owner is None) or any(
            holds_scope(principal, workflow.slug, scope, policy) for scope in scopes
        )
        if not allowed:
            missing = sorted(scopes)[0] if scopes else create.scope
            raise ScopeMissing(
                f"Setting {name} at creation needs the scope of a command that writes it.", missing=missing
            )
