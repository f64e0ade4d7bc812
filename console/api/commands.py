"""`/runs/{key}/commands/`: the one way to change a run, and what became of a command.

Sending is a plain Django view: it is the hot path, and DRF would double its cost. It makes one call; whoever
may see the run and do the command is judged there, in the same transaction.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated

import structlog
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from rest_framework.request import Request

from console import metrics
from console.access import access_run
from console.answers import answer
from console.api.authentication import admit
from console.api.base import ApiView
from console.api.openapi import documented, ref
from console.api.waiting import ASK_AGAIN_SECONDS, read_wait, wait_for
from console.inputs import check_idempotency_key, read_body, read_if_match
from console.problems import problem_response
from console.rules import Flag
from console.shapes import Evidence, Id, Name, Params, Reason, read_shape
from outbox.receipts import command_as_it_stands
from runs import actions, cases
from runs.authority import presume_agent
from runs.cases import as_it_stands
from runs.errors import ClearanceError, NotFound, VersionConflict, WeakPrecondition
from runs.outcomes import Outcome
from runs.queries import represent
from runs.values import WEAK_BASE, CommandRequest, Principal, version_tag

log = structlog.get_logger(__name__)

_PRINCIPAL = re.compile(r"[!-~]{1,170}")
_COMMAND_ID = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandBody:
    """One intended change."""

    id: Id
    name: Name
    params: Params = field(default_factory=dict)
    reason: Reason
    evidence: Evidence = ()
    intent: Name | None = None
    branch: Name | None = None
    on_behalf_of: Name | None = None
    hand_over: Annotated[bool, Flag()] = False

    def request(self) -> CommandRequest:
        return CommandRequest(
            id=self.id,
            name=self.name,
            params=self.params,
            reason=self.reason,
            evidence=self.evidence,
            intent=self.intent,
            branch=self.branch,
            on_behalf_of=self.on_behalf_of,
            hand_over=self.hand_over,
        )


# ---- sending a command -----------------------------------------------------------------------------------


@csrf_exempt  # a session's token is checked where the session is accepted; a bearer token needs none
@require_POST
def send(request: HttpRequest, key: str) -> HttpResponse:
    """Apply one command to a run on the version that If-Match names."""
    principal = admit(request, presume_agent)
    try:
        (epoch, version), asked = _read(request)
    except ClearanceError:
        access_run(principal, key)  # where the run may not be seen, that is the answer, whatever else is wrong
        raise
    try:
        outcome = actions.apply_command(principal, key, version, asked, epoch=epoch)
    except ClearanceError as refusal:
        _log(key, version, asked, refusal.code)
        raise
    _log(key, version, asked, outcome.state, outcome)
    metrics.count_outcome(asked.name, outcome)
    return answer_outcome(request, outcome)


def _read(request: HttpRequest) -> tuple[tuple[int | None, int], CommandRequest]:
    """Epoch and version of the tag, and the command. Raises for whatever is not well-formed.

    A weak tag has no epoch and names `WEAK_BASE`: a repeat is answered whatever its tag says.
    """
    asked = read_shape(CommandBody, read_body(request)).request()
    check_idempotency_key(request, asked.id)
    try:
        return read_if_match(request.META.get("HTTP_IF_MATCH")), asked
    except WeakPrecondition:
        return (None, WEAK_BASE), asked


def _log(key: str, version: int, asked: CommandRequest, outcome: str, judged: Outcome | None = None) -> None:
    """One line per command: ids, versions and the outcome; nothing of its content."""
    known = {} if judged is None else judged.answer
    log.info(
        "command",
        run=key,
        command=asked.name,
        command_id=asked.id,
        branch=asked.branch,
        base_version=version,
        current_version=known.get("current_version") or known.get("version"),
        outcome=outcome,
        replayed=judged is not None and judged.is_replay,
    )


def answer_outcome(request: HttpRequest, outcome: Outcome) -> HttpResponse:
    """The answer to whatever became of a command, also one of another action."""
    if outcome.is_replay:
        return _replay(request, outcome)
    if outcome.is_refusal:
        return problem_response(VersionConflict(problem=outcome.answer), request)
    assert outcome.run is not None and outcome.workflow is not None
    return answer(
        {**outcome.answer, "run": represent(outcome.run, outcome.workflow)},
        status=200 if outcome.state == "unchanged" else 201,
        tag=version_tag(outcome.ledger_epoch, outcome.run.version),
    )


def _replay(request: HttpRequest, outcome: Outcome) -> HttpResponse:
    """What was answered first, as it stands now: without a run and without a tag, which would be of another time."""
    told = as_it_stands(outcome.state, outcome.answer, outcome.resolution)
    if not outcome.is_refusal:
        return answer(told, replayed=True)
    response = problem_response(VersionConflict(problem=told), request)
    response.headers["Idempotent-Replayed"] = "true"
    return response


class CommandsView(ApiView):
    """Stands for `send` in the OpenAPI document, which is made from DRF views."""

    @documented("commands", body=CommandBody, precondition=True, answers={201: ref("Outcome"), 200: ref("Outcome")})
    def post(self, request: Request, key: str) -> HttpResponse:
        """Apply one command to a run on the version that If-Match names."""
        return send(request._request, key)


# ---- what became of it -----------------------------------------------------------------------------------


class CommandView(ApiView):
    """What became of a command."""

    @documented(
        "commands",
        answers={200: ref("CommandRecord")},
        query={
            "principal": "Whose command, such as `agent:pricing`; the caller's own by default",
            "wait": "Seconds to wait for an operator while the command is escalated, at most 20",
        },
    )
    def get(self, request: Request, key: str, command_id: str) -> HttpResponse:
        """The recorded outcome of a command as it stands now; 404 when its id was never seen here."""
        seconds = read_wait(request.GET.get("wait"))
        run = access_run(self.principal, key).run
        name = _named(request, self.principal)
        if not _COMMAND_ID.fullmatch(command_id):
            raise NotFound
        waited = wait_for(
            lambda: cases.get_command(run.id, name, command_id), lambda record: not record.is_waiting, seconds
        )
        response = answer(command_as_it_stands(waited.value).as_json())
        if waited.is_turned_away:
            response.headers["Retry-After"] = str(ASK_AGAIN_SECONDS)
        return response


def _named(request: Request, caller: Principal) -> str:
    name: str = request.GET.get("principal") or caller.actor
    if not _PRINCIPAL.fullmatch(name):
        raise NotFound
    return name
