"""`manage.py erase`, and every screen and answer that shows what it erased: each says so, and none fails."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from approvals.models import Snapshot
from outbox import erasure
from runs.administration import By
from runs.escalations import ResolutionRequest, resolve
from runs.models import Conflict, Escalation, LedgerEntry
from runs.refusals import conflict_ref, escalation_ref
from runs.states import Role
from runs.verbs import Verb
from tests import cast, review
from tests.console.api.caller import as_person, problem
from tests.console.web.visitor import visit
from tests.outbox import settling
from tests.review import REFUND

pytestmark = pytest.mark.django_db

BY = By("cli:mara", "the customer asked for it")
REASON = "--reason=the customer asked for it"


def run(*arguments: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("erase", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def sent() -> str:
    """A refund that went out; gives its snapshot."""
    return settling.succeed(review.refund_approved()).snapshot_id


def payloads() -> int:
    return Snapshot.objects.filter(payload__isnull=False).count()


# ---- the command ---------------------------------------------------------------------------------------------


def test_everything_of_a_run_is_erased_for_a_reason(sent: str) -> None:
    printed = run("--run", REFUND, REASON)

    assert printed.startswith("Erased of R-7: payloads: 1, ledger bodies: ")
    assert payloads() == 0
    entry = LedgerEntry.objects.get(kind="content.erased")
    assert entry.actor.startswith("cli:") and b"the customer asked for it" in bytes(entry.body or b"")


@pytest.mark.parametrize("options", [("--run", REFUND, REASON), ("--due",)])
def test_trying_it_out_says_what_would_go_and_changes_nothing(sent: str, options: tuple[str, ...]) -> None:
    cast.policy(retention={"payload": 0})

    printed = run(*options, "--dry-run")

    assert printed.startswith("Would erase of") and "R-7: payloads: 1" in printed
    assert payloads() == 1


def test_what_is_due_is_erased_without_a_reason_and_once(sent: str) -> None:
    cast.policy(retention={"payload": 0})

    first, second = run("--due"), run("--due")

    assert first == "Erased of 1 runs what is past its term\n  R-7: payloads: 1\n"
    assert second == "Erased of 0 runs what is past its term\n"


def test_a_run_is_not_erased_without_a_reason(sent: str) -> None:
    with pytest.raises(CommandError, match="Say why"):
        run("--run", REFUND)

    assert payloads() == 1


def test_a_run_at_work_is_refused_in_words() -> None:
    review.refund_ready_for_review()

    with pytest.raises(CommandError, match="only of a run that has come to rest"):
        run("--run", REFUND, REASON)


@pytest.mark.parametrize("options", [(), ("--due", "--run", REFUND)])
def test_exactly_one_of_both_is_asked_for(options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*options)


# ---- what is shown of erased content -------------------------------------------------------------------------


def test_an_artifact_keeps_its_hash_and_says_that_its_content_is_gone() -> None:
    settling.succeed(review.report_approved())
    erasure.erase_run(review.REPORT, BY)
    ben = as_person(cast.ben())
    path = f"/artifacts/{review.REPORT}:research:6:a/"

    assert ben.get(path).json()["sha256"] == review.tagged(review.RESEARCH)
    assert problem(ben.get(f"{path}content/"), 404, "not-found")["erased"] is True


@pytest.fixture
def case() -> Escalation:
    """The settled case of a run that ended and was erased."""
    cast.run_with_open_case()
    nia = cast.person("nia", Role.OPERATOR, groups=("refund-operators",))
    found = Escalation.objects.get()
    resolve(nia, escalation_ref(found.pk), ResolutionRequest("r-1", Verb.KEEP, "the photos are clear", 2, 1))
    cast.command(cast.ada(), "R-42", "cancel")
    erasure.erase_run("R-42", BY)
    return Escalation.objects.get()


def test_the_api_shows_an_erased_snapshot_and_effect_without_their_bytes(sent: str) -> None:
    erasure.erase_run(REFUND, BY)
    ben = as_person(cast.ben())

    snapshot = ben.get(f"/snapshots/{sent}/")
    effect = ben.get(f"/effects/{review.effect_of().pk}/")
    bodies = [entry["body"] for entry in ben.get(f"/runs/{REFUND}/ledger/").json()["items"]]

    assert (snapshot.status_code, snapshot.json()["payload_base64"]) == (200, None)
    assert (effect.status_code, effect.json()["payload_base64"]) == (200, None)
    assert bodies[:-1] == [None] * (len(bodies) - 1) and bodies[-1]["erased"]["payloads"] == 1


@pytest.mark.parametrize("path", ["/snapshots/{snapshot}/", "/effects/{effect}/", "/runs/R-7/ledger/"])
def test_the_pages_of_an_erased_run_say_so(sent: str, path: str) -> None:
    erasure.erase_run(REFUND, BY)

    page = visit(cast.ben()).get(path.format(snapshot=sent, effect=review.effect_of().pk))

    assert page.status == 200
    assert "erased" in page.html


@pytest.mark.parametrize("path", ["/runs/R-7/", "/runs/R-7/json/", "/runs/R-7/chain/", "/runs/R-7/ledger/1/"])
def test_the_other_pages_of_an_erased_run_still_show(sent: str, path: str) -> None:
    erasure.erase_run(REFUND, BY)

    assert visit(cast.ben()).get(path).status == 200


def test_an_erased_conflict_says_so(case: Escalation) -> None:
    ref = conflict_ref(Conflict.objects.get().pk)

    told = as_person(cast.ada()).get(f"/conflicts/{ref}/").json()
    page = visit(cast.ada()).get(f"/runs/R-42/conflicts/{ref}/")

    assert (told["erased"], told["base"], told["proposal"], told["changed_fields"]) == (True, None, None, [])
    assert page.status == 200 and "erased" in page.html


def test_an_erased_case_says_so(case: Escalation) -> None:
    ref = escalation_ref(case.pk)

    told = as_person(cast.ada()).get(f"/escalations/{ref}/")
    page = visit(cast.ada()).get(f"/escalations/{ref}/")
    listed = visit(cast.ada()).get("/runs/R-42/")

    answer = problem(told, 404, "not-found")
    assert (answer["detail"], answer["erased"]) == ("What was proposed has been erased.", True)
    assert page.status == 404 and "What was proposed has been erased" in page.html
    assert listed.status == 200


def test_what_became_of_an_erased_command_is_still_told(case: Escalation) -> None:
    record = as_person(cast.ada()).get("/runs/R-42/commands/c-stale/", {"principal": case.principal})

    told = json.loads(record.content)
    assert (told["state"], told["resolution"]["verb"], told["outcome"]["erased"]) == ("rejected", "keep", True)
