"""The sandbox provider: a small separate process that effects are sent to, with a ledger of its own and faults to set.

It shares no code with dispatch and imports the standard library only: what it recorded is independent evidence.
"""

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

JSON = Any

MODES = ("ok", "apply-then-drop", "drop-before-apply", "hang", "refuse", "throttle", "error-5xx", "half-response")

ABILITIES = frozenset({"dedupe", "lookup", "match_payload"})

#: How long `hang` keeps a caller waiting, in seconds.
HANG_SECONDS = 600


@dataclass(frozen=True)
class Conduct:
    """How a delivery is met."""

    mode: str = "ok"
    delay_ms: int = 0
    retry_after: int = 2


@dataclass
class Control:
    """What the provider can do, until changed; and how it meets deliveries: the next `count`, and those after them."""

    dedupe: bool = True
    lookup: bool = True
    match_payload: bool = True
    ever: Conduct = Conduct()
    next: Conduct = Conduct()
    count: int | None = None

    def change(self, given: Mapping[str, JSON]) -> None:
        """Change what is given. With a `count`, how deliveries are met changes for so many of them alone."""
        for name in ABILITIES & given.keys():
            setattr(self, name, given[name])
        conduct = {name: given[name] for name in vars(Conduct()).keys() & given.keys()}
        count = given.get("count")
        if count is not None:
            self.next, self.count = replace(self.ever, **conduct), count
        elif conduct:
            self.ever = replace(self.ever, **conduct)
            self.count = None

    def meet(self) -> Conduct:
        """How the delivery that has just come is met."""
        met = self.next if self.count else self.ever
        self.count = self.count - 1 if self.count and self.count > 1 else None
        return met

    def as_json(self) -> dict[str, JSON]:
        able = {name: getattr(self, name) for name in sorted(ABILITIES)}
        return able | vars(self.next if self.count else self.ever) | {"count": self.count}


@dataclass
class Delivery:
    """One request as the provider saw it."""

    n: int
    key: str
    body_sha256: str
    received_at: str
    applied: bool = False
    duplicate_of: int | None = None
    cancelled: bool = False

    def as_json(self) -> dict[str, JSON]:
        names = ("n", "key", "body_sha256", "received_at", "applied", "duplicate_of")
        return {name: getattr(self, name) for name in names}

    @property
    def request_id(self) -> str:
        return f"sandbox-{self.n}"


@dataclass
class Provider:
    """The provider's memory, kept in an append-only file so that it survives the process."""

    ledger: Path | None = None
    control: Control = field(default_factory=Control)
    deliveries: list[Delivery] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        if self.ledger is not None and self.ledger.exists():
            for line in self.ledger.read_text().splitlines():
                self._remember(Delivery(**json.loads(line)))

    def _remember(self, item: Delivery) -> None:
        """The last line about a delivery is what became of it."""
        if item.n <= len(self.deliveries):
            self.deliveries[item.n - 1] = item
        else:
            self.deliveries.append(item)

    def receive(self, key: str, body: bytes) -> tuple[Delivery, Conduct]:
        """Write down that a request came, and how it is met."""
        with self.lock:
            item = Delivery(len(self.deliveries) + 1, key, hashlib.sha256(body).hexdigest(), _now())
            self._remember(item)
            self._append(item)
            return item, self.control.meet()

    def apply(self, item: Delivery) -> Delivery | None:
        """Apply a delivery. Returns the earlier one it repeats, or None when it is applied itself."""
        with self.lock:
            earlier = self.applied(item.key) if self.control.dedupe and item.key else None
            item.applied = earlier is None
            item.duplicate_of = None if earlier is None else earlier.n
            self._append(item)
            return earlier

    def applied(self, key: str) -> Delivery | None:
        """The first applied delivery of a key."""
        return next((item for item in self.deliveries if item.key == key and item.applied), None)

    def cancel(self, key: str) -> bool:
        """Take back what was applied; False when there is nothing to take back."""
        with self.lock:
            item = self.applied(key)
            if item is None or item.cancelled:
                return False
            item.cancelled = True
            self._append(item)
            return True

    def _append(self, item: Delivery) -> None:
        if self.ledger is not None:
            with self.ledger.open("a") as file:
                file.write(json.dumps(vars(item)) + "\n")


def _is_whole(value: JSON, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


#: What may be set, and to what.
ACCEPTED: Mapping[str, Callable[[JSON], bool]] = {
    **dict.fromkeys(ABILITIES, lambda value: isinstance(value, bool)),
    "mode": lambda value: value in MODES,
    "delay_ms": lambda value: _is_whole(value, 0),
    "retry_after": lambda value: _is_whole(value, 0),
    "count": lambda value: value is None or _is_whole(value, 1),
}


def _document(body: bytes) -> dict[str, JSON] | None:
    try:
        given = json.loads(body)
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Handler(BaseHTTPRequestHandler):
    """The provider's HTTP face."""

    protocol_version = "HTTP/1.1"
    provider: Provider

    def do_POST(self) -> None:
        """`/deliver`, `/cancel`, `/control`."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match urlsplit(self.path).path:
            case "/deliver":
                self._deliver(body)
            case "/cancel" | "/control" as call:
                given = _document(body)
                if given is None:
                    self._answer(400, {"error": "no JSON object"})
                elif call == "/control":
                    self._control(given)
                else:
                    cancelled = self.provider.cancel(str(given.get("key", "")))
                    self._answer(200 if cancelled else 409, {"cancelled": cancelled})
            case _:
                self._answer(404, {"error": "no such call"})

    def do_GET(self) -> None:
        """`/lookup`, `/ledger`."""
        url = urlsplit(self.path)
        match url.path:
            case "/lookup":
                self._look_up(parse_qs(url.query).get("key", [""])[0])
            case "/ledger":
                with self.provider.lock:
                    self._answer(200, {"requests": [item.as_json() for item in self.provider.deliveries]})
            case _:
                self._answer(404, {"error": "no such call"})

    def _control(self, given: dict[str, JSON]) -> None:
        wrong = sorted(name for name, value in given.items() if name not in ACCEPTED or not ACCEPTED[name](value))
        if wrong:
            self._answer(422, {"error": f"not understood: {', '.join(wrong)}"})
            return
        with self.provider.lock:
            self.provider.control.change(given)
            self._answer(200, self.provider.control.as_json())

    def _look_up(self, key: str) -> None:
        if not self.provider.control.lookup:
            self._answer(501, {"error": "look-up is off"})
            return
        with self.provider.lock:
            item = self.provider.applied(key)
        if item is None:
            self._answer(404, {"found": False})
        else:
            known = {"provider_request_id": item.request_id, "body_sha256": item.body_sha256}
            self._answer(200, {"found": True, **known})

    # ---- delivering, with the fault that is switched on --------------------------------------------------

    def _deliver(self, body: bytes) -> None:
        key = self.headers.get("Idempotency-Key", "")
        item, met = self.provider.receive(key, body)
        if met.delay_ms:
            time.sleep(met.delay_ms / 1000)
        match met.mode:
            case "drop-before-apply":
                self._drop()
            case "hang":
                self.provider.stopping.wait(HANG_SECONDS)
                self._drop()
            case "refuse":
                self._answer(400, {"error": "refused"})
            case "throttle":
                self._answer(429, {"error": "slow down"}, {"Retry-After": str(met.retry_after)})
            case "error-5xx":
                self._answer(500, {"error": "something broke"})
            case _:
                self._apply(item, met.mode)

    def _apply(self, item: Delivery, mode: str) -> None:
        earlier = self.provider.apply(item)
        if earlier is not None and self.provider.control.match_payload and earlier.body_sha256 != item.body_sha256:
            self._answer(422, {"type": "/problems/idempotency-key-reused", "code": "idempotency-key-reused"})
            return
        answer = {"id": (earlier or item).request_id}
        match mode:
            case "apply-then-drop":
                self._drop()
            case "half-response":
                self._half(json.dumps(answer).encode())
            case _:
                self._answer(200, answer)

    def _drop(self) -> None:
        """Cut the connection without a word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _half(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        self._drop()

    def _answer(self, status: int, document: dict[str, JSON], headers: dict[str, str] | None = None) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # the name is the base class's
        """Say nothing: the ledger is the record."""


def serve(port: int, ledger: Path | None, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """A server on loopback, not yet running. Port 0 takes any free one."""
    provider = Provider(ledger)
    handler = type("SandboxHandler", (Handler,), {"provider": provider})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    return server
