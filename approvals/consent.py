"""Does this approval still stand, and why (not).

Pure. An approval counts while it is not revoked or expired, was given under the present authority of the
workflow, and its giver still reviews the workflow.
"""

from dataclasses import dataclass
from datetime import datetime

from approvals.states import Verdict


@dataclass(frozen=True, slots=True)
class Given:
    """A decision as far as counting it needs."""

    id: str
    verdict: Verdict
    person_id: int
    username: str
    authority_version: int
    expires_at: datetime | None
    revoked_by: str | None = None
    spent_by: str | None = None  # the operation that spent it
    is_of_this_epoch: bool = True  # not older than a restore


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a decision counts now, and why, in words."""

    counts: bool
    because: str


def standing(given: Given, authority_version: int, reviewers: frozenset[int], now: datetime) -> Standing:
    """Whether a decision counts under `authority_version`, for the people in `reviewers`, at `now`."""
    against = {
        "denied": given.verdict is Verdict.DENY,
        f"revoked by {given.revoked_by}": given.revoked_by is not None,
        f"spent by {given.spent_by}": given.spent_by is not None,
        "older than a restore of this installation": not given.is_of_this_epoch,
        "expired": given.expires_at is not None and given.expires_at <= now,
        f"{given.username} no longer reviews this workflow": given.person_id not in reviewers,
        "given under an older authority of the workflow": given.authority_version != authority_version,
    }
    because = next((words for words, holds in against.items() if holds), None)
    return Standing(because is None, because or "counts")


def counting(given: list[Given], authority_version: int, reviewers: frozenset[int], now: datetime) -> list[Given]:
    """The approvals that count, one a person: the earliest of each."""
    found: dict[int, Given] = {}
    for item in given:
        if standing(item, authority_version, reviewers, now).counts:
            found.setdefault(item.person_id, item)
    return list(found.values())
