"""What of a change gives anybody more power, which waits for a second admin; what takes power away never does.

Pure. A change is split: what tightens is in force at once, what loosens waits, each named in words.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from runs.definitions import Policy
from runs.states import Role

#: Roles that decide about somebody else's work or authority.
POWERS = (Role.ADMIN, Role.REVIEWER, Role.OPERATOR)
#: Roles that mean something only together with a group that a policy names.
_BY_GROUP = frozenset({Role.REVIEWER, Role.OPERATOR})


# ---- policies --------------------------------------------------------------------------------------------


def tightened(before: Policy, wanted: Policy) -> Policy:
    """`wanted` with every term that loosens left as it was before."""
    return replace(
        wanted,
        quorum=max(before.quorum, wanted.quorum),
        separation="strict" if "strict" in (before.separation, wanted.separation) else "relaxed",
        operators=_fewer(before.operators, wanted.operators),
        reviewers=_fewer(before.reviewers, wanted.reviewers),
        limits=_stricter_limits(before.limits, wanted.limits),
        reauthenticate_within=_stricter_step_up(before.reauthenticate_within, wanted.reauthenticate_within),
    )


def _fewer(before: frozenset[str], wanted: frozenset[str]) -> frozenset[str]:
    """The groups that stay. A policy names at least one: where all are replaced, the old ones stay until then."""
    return before & wanted or before


def _stricter_limits(before: Mapping[str, str], wanted: Mapping[str, str]) -> Mapping[str, str]:
    return {name: _lower(before.get(name), wanted.get(name)) for name in sorted({*before, *wanted})}


def _lower(left: str | None, right: str | None) -> str:
    return min((limit for limit in (right, left) if limit is not None), key=Decimal)


def _stricter_step_up(before: int | None, wanted: int | None) -> int | None:
    return min((seconds for seconds in (before, wanted) if seconds is not None), default=None)


def loosened(before: Policy, wanted: Policy) -> list[str]:
    """Everything in `wanted` that gives power, each in words; empty when nothing has to wait."""
    return [*_loosened_terms(before, wanted), *_added_groups(before, wanted), *_loosened_limits(before, wanted)]


def _loosened_terms(before: Policy, wanted: Policy) -> Iterator[str]:
    if wanted.quorum < before.quorum:
        yield f"the quorum falls from {before.quorum} to {wanted.quorum}"
    if (before.separation, wanted.separation) == ("strict", "relaxed"):
        yield "separation of duties is relaxed"
    if _stricter_step_up(before.reauthenticate_within, wanted.reauthenticate_within) != wanted.reauthenticate_within:
        yield "reviewers have to confirm less often who they are"


def _added_groups(before: Policy, wanted: Policy) -> Iterator[str]:
    for who in ("operators", "reviewers"):
        for group in sorted(getattr(wanted, who) - getattr(before, who)):
            yield f"the group {group} joins the {who}"


def _loosened_limits(before: Policy, wanted: Policy) -> Iterator[str]:
    for name, limit in before.limits.items():
        new = wanted.limits.get(name)
        if new is None:
            yield f"the limit of {limit} for {name} is removed"
        elif Decimal(new) > Decimal(limit):
            yield f"the limit for {name} rises from {limit} to {new}"


# ---- people ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person may be: roles, groups of workflows, and whether they may sign in at all."""

    roles: frozenset[str]
    groups: frozenset[str]
    is_active: bool = True

    @property
    def decides(self) -> bool:
        """Whether such a person decides about anybody's work or authority."""
        return any(role in POWERS for role in self.roles)


NOBODY = Standing(frozenset(), frozenset())


def gained(before: Standing, wanted: Standing) -> list[str]:
    """What of `wanted` gives a person power they have not now, each in words."""
    words = [f"the role {role.value}" for role in POWERS if role in wanted.roles - before.roles]
    words += [f"the group {group}" for group in sorted(_deciding_groups(wanted) - before.groups)]
    if wanted.decides and wanted.is_active and not before.is_active:
        words.append("the end of the suspension")
    return words


def _deciding_groups(wanted: Standing) -> frozenset[str]:
    """The groups that mean something with the roles beside them."""
    return wanted.groups if _BY_GROUP & wanted.roles else frozenset()


def without_gain(before: Standing, wanted: Standing) -> Standing:
    """`wanted` with everything left out that gives power."""
    return Standing(
        wanted.roles - (frozenset(POWERS) - before.roles),
        wanted.groups - (_deciding_groups(wanted) - before.groups),
        wanted.is_active and (before.is_active or not wanted.decides),
    )
