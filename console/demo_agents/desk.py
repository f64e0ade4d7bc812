"""The way to the API: credentials, tags, and sending again what nobody answered.

A request keeps its id however often it is sent, so sending it again is safe: what took effect is answered from
the record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

JSON = Any

#: How often one request is sent before the desk counts as closed, and how long is waited before the second time.
TRIES = 5
FIRST_WAIT_SECONDS = 0.5
#: Answers that say "later": limits, a busy record, the first delivery still running.
LATER = {429, 503}
TIMEOUT_SECONDS = 30


class DeskClosed(Exception):
    """Nobody answered, however often it was tried, or nobody lets this principal in."""


class Clock(Protocol):
    """What waits, and stops waiting when the process is to end."""

    def wait(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, body, and the tag of the version it shows."""

    status: int
    body: Mapping[str, JSON] = field(default_factory=dict)
    tag: str | None = None

    @property
    def is_done(self) -> bool:
        return self.status < 300

    @property
    def code(self) -> str:
        return str(self.body.get("code", ""))

    @property
    def disposition(self) -> str | None:
        """What a stale command met: retry, reject or escalate."""
        return self.body.get("disposition") if self.status == 412 else None


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, or a username with its password."""

    token: str = ""
    username: str = ""
    password: str = ""


class Desk:
    """One principal at the desk."""

    def __init__(self, url: str, credential: Credential, clock: Clock) -> None:
        self._credential = credential
        self._clock = clock
        headers = {"Authorization": f"Bearer {credential.token}"} if credential.token else {}
        self._http = httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=TIMEOUT_SECONDS)

    def get(self, path: str, **query: str) -> Answer:
        """Read something. Raises `DeskClosed`."""
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: Mapping[str, JSON], tag: str | None = None) -> Answer:
        """Ask for something, on the version of a tag where there is one. Raises `DeskClosed`."""
        return self._ask("POST", path, json=dict(body), headers={"If-Match": tag} if tag else {})

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, **request: Any) -> Answer:
        wait = FIRST_WAIT_SECONDS
        for _ in range(TRIES):
            answer = self._try(method, path, **request)
            if answer is not None:
                return answer
            self._clock.wait(wait)
            wait *= 2
        raise DeskClosed(f"{method} {path}")

    def _try(self, method: str, path: str, **request: Any) -> Answer | None:
        """Send once; None where it should be sent again."""
        try:
            response = self._http.request(method, path, **request)
            if response.status_code == 401 and self._credential.username:
                self._sign_in()
                return None
        except httpx.TransportError:
            return None
        answer = _read(response)
        is_later = answer.status in LATER or answer.code == "command-in-progress"
        return None if is_later else answer

    def _sign_in(self) -> None:
        """Open a session; every request after it carries its CSRF token."""
        self._http.cookies.clear()
        said = {"username": self._credential.username, "password": self._credential.password}
        answer = _read(self._http.post("/session/", json=said))
        if not answer.is_done:
            raise DeskClosed(f"{self._credential.username} cannot sign in: {answer.code}")
        self._http.headers["X-CSRFToken"] = answer.body["csrf_token"]


def _read(response: httpx.Response) -> Answer:
    is_json = response.headers.get("Content-Type", "").split(";")[0] in ("application/json", "application/problem+json")
    return Answer(response.status_code, response.json() if is_json else {}, response.headers.get("ETag"))
