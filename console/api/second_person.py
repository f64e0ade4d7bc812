"""How the API tells what an admin's request came to: in force, or waiting for a second admin."""

from typing import Any

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
    body: dict[str, JSON] = {"waiting": given.waiting, "because": given.because, **shown}
    settled: dict[str, Any] = {} if state == "open" else {"state": state}
    return answer({**body, **settled}, status=200 if settled else 202, replayed=given.is_replay)
