"""The sandbox provider over HTTP, as everybody meets it: what it can do, each fault, and for how long."""

import hashlib
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from console import sandbox

JSON = Any


@dataclass
class Caller:
    """Somebody who calls a provider, on a new connection every time."""

    port: int

    def call(
        self, method: str, path: str, body: bytes | None = None, key: str = ""
    ) -> tuple[int, JSON, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request(method, path, body, {"Idempotency-Key": key} if key else {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), dict(answer.getheaders())
        finally:
            connection.close()

    def deliver(self, body: bytes = b"{}", key: str = "k") -> tuple[int, JSON]:
        return self.call("POST", "/deliver", body, key)[:2]

    def control(self, **given: JSON) -> tuple[int, JSON]:
        return self.call("POST", "/control", json.dumps(given).encode())[:2]

    def look_up(self, key: str = "k") -> tuple[int, JSON]:
        return self.call("GET", f"/lookup?key={key}")[:2]

    def ledger(self) -> list[JSON]:
        rows: list[JSON] = self.call("GET", "/ledger")[1]["requests"]
        return rows

    def applied(self) -> list[bool]:
        return [row["applied"] for row in self.ledger()]


@pytest.fixture
def provider() -> Iterator[Caller]:
    server = sandbox.serve(0, None)
    thread = Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield Caller(server.server_address[1])
    server.RequestHandlerClass.provider.stopping.set()  # type: ignore[attr-defined]  # set by `serve`
    server.shutdown()
    server.server_close()
    thread.join()


# ---- what it can do --------------------------------------------------------------------------------------


def test_what_is_delivered_is_written_down_and_applied(provider: Caller) -> None:
    assert provider.deliver(b'{"amount":1}', "k-1") == (200, {"id": "sandbox-1"})

    (row,) = provider.ledger()
    assert row.pop("received_at").endswith("Z")
    assert row == {
        "n": 1,
        "key": "k-1",
        "body_sha256": hashlib.sha256(b'{"amount":1}').hexdigest(),
        "applied": True,
        "duplicate_of": None,
    }


def test_a_key_with_the_same_body_gets_the_first_answer_again_and_with_another_is_refused(provider: Caller) -> None:
    first = provider.deliver(b"a")

    again = provider.deliver(b"a")
    other = provider.deliver(b"b")

    assert again == first
    assert (other[0], other[1]["code"]) == (422, "idempotency-key-reused")
    assert [row["duplicate_of"] for row in provider.ledger()] == [None, 1, 1]
    assert provider.applied() == [True, False, False]


def test_what_it_can_do_can_be_taken_away(provider: Caller) -> None:
    provider.deliver(b"a")
    provider.control(match_payload=False)
    assert provider.deliver(b"b")[0] == 200

    provider.control(dedupe=False)
    provider.deliver(b"a")
    assert provider.applied() == [True, False, True]

    assert provider.look_up()[0] == 200
    provider.control(lookup=False)
    assert provider.look_up()[0] == 501


def test_it_knows_what_it_applied(provider: Caller) -> None:
    provider.deliver(b"a")

    known = {"found": True, "provider_request_id": "sandbox-1", "body_sha256": hashlib.sha256(b"a").hexdigest()}
    assert provider.look_up() == (200, known)
    assert provider.look_up("other") == (404, {"found": False})


def test_it_takes_back_once_what_it_applied(provider: Caller) -> None:
    provider.deliver(b"a")

    told = [provider.call("POST", "/cancel", json.dumps({"key": key}).encode())[0] for key in ("k", "k", "other")]

    assert told == [200, 409, 409]


# ---- faults ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "applies"), [("apply-then-drop", True), ("drop-before-apply", False), ("half-response", True)]
)
def test_no_whole_answer_comes_whether_it_was_applied_or_not(provider: Caller, mode: str, applies: bool) -> None:
    provider.control(mode=mode)

    with pytest.raises((http.client.HTTPException, ConnectionError)):
        provider.deliver()

    assert provider.applied() == [applies]


@pytest.mark.parametrize(("mode", "status"), [("refuse", 400), ("throttle", 429), ("error-5xx", 500)])
def test_what_is_answered_so_is_not_applied(provider: Caller, mode: str, status: int) -> None:
    provider.control(mode=mode, retry_after=7)

    answered, _, headers = provider.call("POST", "/deliver", b"{}", "k")

    assert (answered, provider.applied()) == (status, [False])
    assert headers.get("Retry-After") == ("7" if mode == "throttle" else None)


def test_a_hanging_provider_says_nothing(provider: Caller) -> None:
    provider.control(mode="hang")
    connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=0.2)
    connection.request("POST", "/deliver", b"{}")

    with pytest.raises(TimeoutError):
        connection.getresponse()

    connection.close()
    assert provider.applied() == [False]


# ---- for how long ----------------------------------------------------------------------------------------


def statuses(provider: Caller, count: int) -> list[int]:
    return [provider.deliver(key=f"k-{number}")[0] for number in range(count)]


def test_a_conduct_holds_until_it_is_changed(provider: Caller) -> None:
    provider.control(mode="refuse")
    assert statuses(provider, 3) == [400, 400, 400]

    provider.control(mode="ok")
    assert statuses(provider, 1) == [200]


def test_a_conduct_with_a_count_holds_for_so_many_deliveries_and_then_what_held_before(provider: Caller) -> None:
    assert provider.control(mode="refuse", count=2)[1]["count"] == 2
    assert statuses(provider, 3) == [400, 400, 200]

    provider.control(mode="error-5xx")
    provider.control(mode="throttle", retry_after=9, count=1)
    assert statuses(provider, 2) == [429, 500]
    assert provider.control()[1] == {
        "dedupe": True, "lookup": True, "match_payload": True,
        "mode": "error-5xx", "delay_ms": 0, "retry_after": 2, "count": None,
    }  # fmt: skip


def test_what_it_can_do_outlasts_a_count_and_leaves_it_alone(provider: Caller) -> None:
    provider.control(mode="refuse", lookup=False, count=2)
    provider.control(dedupe=False)

    assert statuses(provider, 3) == [400, 400, 200]
    assert provider.look_up()[0] == 501


@pytest.mark.parametrize(
    "given",
    [{"mode": "sleep"}, {"mode": []}, {"count": 0}, {"count": True}, {"count": "2"}, {"delay_ms": -1},
     {"dedupe": "yes"}, {"speed": 1}],
)  # fmt: skip
def test_what_it_does_not_understand_changes_nothing(provider: Caller, given: dict[str, JSON]) -> None:
    before = provider.control()[1]

    assert provider.control(**({"lookup": False} | given))[0] == 422
    assert provider.control()[1] == before


@pytest.mark.parametrize("path", ["/control", "/cancel"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_what_is_no_object_is_refused(provider: Caller, path: str, body: bytes) -> None:
    assert provider.call("POST", path, body)[0] == 400


def test_there_is_nothing_else(provider: Caller) -> None:
    assert provider.call("GET", "/other")[0] == provider.call("POST", "/other", b"{}")[0] == 404


def test_its_memory_outlasts_its_process(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    first = sandbox.Provider(file)
    applied, _ = first.receive("k", b"a")
    first.apply(applied)
    first.receive("k", b"b")

    again = sandbox.Provider(file)

    assert [item.as_json() for item in again.deliveries] == [item.as_json() for item in first.deliveries]
    repeated, _ = again.receive("k", b"a")
    assert again.apply(repeated) is again.deliveries[0]
