"""How the API tells what an admin's request came to: in force, or waiting for a second admin."""

from django.http import HttpResponse

from console.answers import answer
from runs.confirmations import get_step
from runs.requests import Answer
from runs.values import JSON


def told(given: Answer, *, status: int = 200, secret: str = "", tag: str | None = None) -> HttpResponse:
    """The answer to a request: 202 while it waits, else `status`; a repeat is told as it stands now.

    `secret` is the member under which a password or token is shown, once.
    """
    shown = {secret: given.shown_once} if given.shown_once else {}
    if given.waiting is None:
        return answer(
            {**given.made, **shown}, status=200 if given.is_replay else status, tag=tag, replayed=given.is_replay
        )
    state = get_step(given.waiting).state if given.is_replay else "open"
    return wait(given.waiting, given.because, state=state, is_replay=given.is_replay, **shown)


def wait(waiting: str, because: str, *, state: str, is_replay: bool, **shown: JSON) -> HttpResponse:
    """That something waits for a second admin; where that is over, how it ended."""
    body = {"waiting": waiting, "because": because, **shown}
    if state == "open":
        return answer(body, status=202, replayed=is_replay)
    return answer({**body, "state": state}, replayed=is_replay)
