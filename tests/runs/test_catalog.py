"""The catalog: revisions are numbered, immutable and read back; the first one brings the first policy."""

from collections.abc import Iterator
from hashlib import sha256

import pytest

from runs import authority, catalog
from runs.authority import current_epoch
from runs.errors import DefinitionInvalid, NotFound
from runs.models import AuthorityChange, PolicyVersion, WorkflowRevision
from runs.values import Budget

pytestmark = pytest.mark.django_db

FIRST = """
slug = "tally"
title = "Tally"
[policy]
operators = ["tally-operators"]
reviewers = ["tally-reviewers"]
quorum = 2
budget = { attempts = 4, elapsed = "1m" }
[create]
scope = "tally:create"
[fields.count]
kind = "counter"
[commands.count]
title = "Count"
scope = "tally:count"
increment = { count = 1 }
"""
SECOND = FIRST.replace('title = "Tally"', 'title = "Tally sheet"').replace("quorum = 2", "quorum = 1")


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """What another test stored and rolled back is not known here, nor the other way round."""
    yield
    catalog.forget()
    authority.forget()


def store(text: str) -> catalog.Stored:
    return catalog.store_workflow(text, "cli:tests")


def revisions() -> list[tuple[str, int]]:
    return list(WorkflowRevision.objects.order_by("slug", "revision").values_list("slug", "revision"))


# ---- storing ---------------------------------------------------------------------------------------------


def test_the_first_definition_is_revision_1() -> None:
    stored = store(FIRST)

    assert (stored.slug, stored.revision, stored.created, stored.warnings) == ("tally", 1, True, ())
    row = WorkflowRevision.objects.get(slug="tally")
    assert (row.title, row.text, row.stored_by) == ("Tally", FIRST, "cli:tests")
    assert row.sha256 == sha256(FIRST.encode()).hexdigest()


def test_the_first_revision_brings_the_first_policy_and_raises_the_epoch() -> None:
    before = current_epoch()

    store(FIRST)

    policy = authority.policy_of("tally")
    assert (policy.version, policy.authority_version) == (1, 1)
    assert policy.operators == {"tally-operators"}
    assert (policy.quorum, policy.budget) == (2, Budget(4, 60))
    assert current_epoch() == before + 1
    change = AuthorityChange.objects.get(subject="tally")
    assert (change.kind, change.actor, change.without_second_person) == ("workflow.created", "cli:tests", True)


def test_another_definition_is_the_next_revision_and_leaves_the_policy_alone() -> None:
    store(FIRST)
    before = current_epoch()

    stored = store(SECOND)

    assert (stored.revision, stored.created) == (2, True)
    assert PolicyVersion.objects.filter(slug="tally").count() == 1
    assert authority.policy_of("tally").quorum == 2
    assert current_epoch() == before


def test_unchanged_content_changes_nothing() -> None:
    store(FIRST)

    again = store(FIRST)

    assert (again.slug, again.revision, again.created) == ("tally", 1, False)
    assert revisions() == [("tally", 1)]


def test_one_byte_more_is_another_revision() -> None:
    store(FIRST)

    assert store(FIRST + "\n").revision == 2


def test_going_back_to_older_content_is_a_new_revision() -> None:
    for text in (FIRST, SECOND, FIRST):
        store(text)

    assert revisions() == [("tally", 1), ("tally", 2), ("tally", 3)]
    assert catalog.latest("tally").title == "Tally"


def test_a_definition_with_faults_stores_nothing() -> None:
    with pytest.raises(DefinitionInvalid):
        store(FIRST.replace("quorum = 2", "quorum = 0"))

    assert revisions() == []
    assert not PolicyVersion.objects.exists()


def test_warnings_are_told_and_refuse_nothing() -> None:
    stored = store(FIRST.replace("increment", 'params.step = { field = "count" }\nincrement'))

    assert stored.created
    assert [(warning.pointer, warning.code) for warning in stored.warnings] == [
        ("commands.count.params.step", "param-unused")
    ]


def test_a_plan_says_what_would_be_stored_and_stores_nothing() -> None:
    planned = [catalog.plan_workflow(FIRST)]
    store(FIRST)
    planned += [catalog.plan_workflow(FIRST), catalog.plan_workflow(SECOND)]

    assert [(plan.revision, plan.created) for plan in planned] == [(1, True), (1, False), (2, True)]
    assert revisions() == [("tally", 1)]


# ---- reading ---------------------------------------------------------------------------------------------


def test_every_revision_is_read_back_as_it_was_stored() -> None:
    store(FIRST)
    store(SECOND)

    first, second = catalog.definition("tally", 1), catalog.definition("tally", 2)

    assert (first.revision, first.title) == (1, "Tally")
    assert (second.revision, second.title) == (2, "Tally sheet")
    assert catalog.latest("tally") is second


def test_a_revision_is_loaded_once(django_assert_num_queries: object) -> None:
    store(FIRST)
    loaded = catalog.definition("tally", 1)

    with django_assert_num_queries(0):  # type: ignore[operator]  # the plugin's type is not public
        assert catalog.definition("tally", 1) is loaded


@pytest.mark.parametrize("revision", [0, 2, 2**53 - 1])
def test_a_revision_that_is_not_stored_is_not_found(revision: int) -> None:
    store(FIRST)

    with pytest.raises(NotFound):
        catalog.definition("tally", revision)


def test_an_unknown_workflow_is_not_found() -> None:
    with pytest.raises(NotFound):
        catalog.latest("tally")


def test_a_revision_is_found_as_soon_as_it_is_stored() -> None:
    with pytest.raises(NotFound):
        catalog.definition("tally", 1)

    store(FIRST)

    assert catalog.definition("tally", 1).title == "Tally"


def test_workflows_are_listed_by_slug_in_their_newest_revision() -> None:
    store(FIRST)
    store(SECOND)
    store(FIRST.replace('slug = "tally"', 'slug = "abacus"'))

    assert [(item.slug, item.revision) for item in catalog.list_workflows()] == [("abacus", 1), ("tally", 2)]


def test_revisions_are_listed_newest_first() -> None:
    store(FIRST)
    store(SECOND)

    assert [(row.revision, row.title) for row in catalog.list_revisions("tally")] == [(2, "Tally sheet"), (1, "Tally")]
