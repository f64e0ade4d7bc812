"""Whether an approval counts: every reason against it alone and in their order, and one approval a person."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from approvals.consent import Given, Standing, counting, standing
from approvals.states import Verdict

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
REVIEWERS = frozenset({1, 2})
BEN = Given("d-1", Verdict.APPROVE, 1, "ben", authority_version=4, expires_at=NOW + SECOND)


def judged(given: Given) -> Standing:
    return standing(given, 4, REVIEWERS, NOW)


#: What speaks against an approval -> the words; in the order in which they are told.
AGAINST = [
    (replace(BEN, verdict=Verdict.DENY), "denied"),
    (replace(BEN, revoked_by="user:dora"), "revoked by user:dora"),
    (replace(BEN, spent_by="R-7:pay:v4"), "spent by R-7:pay:v4"),
    (replace(BEN, is_of_this_epoch=False), "older than a restore of this installation"),
    (replace(BEN, expires_at=NOW), "expired"),
    (replace(BEN, person_id=3), "ben no longer reviews this workflow"),
    (replace(BEN, authority_version=3), "given under an older authority of the workflow"),
    (replace(BEN, authority_version=5), "given under an older authority of the workflow"),
]


@pytest.mark.parametrize(("given", "words"), AGAINST)
def test_each_of_these_alone_makes_an_approval_not_count(given: Given, words: str) -> None:
    assert judged(given) == Standing(False, words)


@pytest.mark.parametrize("given", [BEN, replace(BEN, expires_at=None), replace(BEN, expires_at=NOW + SECOND / 1000)])
def test_an_approval_without_any_of_them_counts(given: Given) -> None:
    assert judged(given) == Standing(True, "counts")


def test_of_several_reasons_the_plainest_is_told() -> None:
    worst = replace(BEN, revoked_by="user:dora", expires_at=NOW, authority_version=1, person_id=3)

    assert judged(worst).because == "revoked by user:dora"
    assert judged(replace(worst, revoked_by=None)).because == "expired"


def test_a_person_counts_once_by_the_earliest_that_counts() -> None:
    lapsed = replace(BEN, id="d-0", expires_at=NOW)
    again = replace(BEN, id="d-2")
    bea = replace(BEN, id="d-3", person_id=2, username="bea")

    counted = counting([lapsed, BEN, again, bea], 4, REVIEWERS, NOW)

    assert [item.id for item in counted] == ["d-1", "d-3"]


def test_nobody_counts_where_nobody_reviews() -> None:
    assert counting([BEN], 4, frozenset(), NOW) == []
