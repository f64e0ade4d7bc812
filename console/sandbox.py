"""The sandbox provider: a small separate process that effects are sent to, with a ledger of its own and faults to set.

It shares no code with dispatch and imports the standard library only: what it recorded is independent evidence.
"""

import hashlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

JSON = Any

MODES = ("ok", "apply-then-drop", "drop-before-apply", "hang", "refuse", "throttle", "error-5xx", "half-response")

#: How long `hang` keeps a caller waiting, in seconds.
HANG_SECONDS = 600


@dataclass
class Control:
    """How the provider behaves; the mode holds for `count` deliveries, or until changed."""

    dedupe: bool = True
    lookup: bool = True
    match_payload: bool = True
    mode: str = "ok"
    delay_ms: int = 0
    retry_after: int = 2
    count: int | None = None


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

    def receive(self, key: str, body: bytes) -> tuple[Delivery, str]:
        """Write down that a request came, and which mode it meets."""
        with self.lock:
            item = Delivery(len(self.deliveries) + 1, key, hashlib.sha256(body).hexdigest(), _now())
            self._remember(item)
            self._append(item)
            mode = self.control.mode
            if self.control.count is not None:
                self.control.count -= 1
                if self.control.count <= 0:
                    self.control.mode, self.control.count = "ok", None
            return item, mode

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
            case "/cancel":
                cancelled = self.provider.cancel(json.loads(body).get("key", ""))
                self._answer(200 if cancelled else 409, {"cancelled": cancelled})
            case "/control":
                self._control(json.loads(body))
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
        known = set(Control.__dataclass_fields__)
        if unknown := sorted(set(given) - known):
            self._answer(422, {"error": f"unknown: {', '.join(unknown)}"})
            return
        if given.get("mode", "ok") not in MODES:
            self._answer(422, {"error": f"mode is one of {', '.join(MODES)}"})
            return
        with self.provider.lock:
            for name, value in ({"count": None} | given if "mode" in given else given).items():
                setattr(self.provider.control, name, value)
            self._answer(200, vars(self.provider.control))

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
        item, mode = self.provider.receive(key, body)
        if self.provider.control.delay_ms:
            time.sleep(self.provider.control.delay_ms / 1000)
        match mode:
            case "drop-before-apply":
                self._drop()
            case "hang":
                self.provider.stopping.wait(HANG_SECONDS)
                self._drop()
            case "refuse":
                self._answer(400, {"error": "refused"})
            case "throttle":
                after = str(self.provider.control.retry_after)
                self._answer(429, {"error": "slow down"}, {"Retry-After": after})
            case "error-5xx":
                self._answer(500, {"error": "something broke"})
            case _:
                self._apply(item, mode)

    def _apply(self, item: Delivery, mode: str) -> None:
        earlier = self.provider.apply(item)
        if earlier is not None and self.provider.control.match_payload and earlier.body_sha256 != item.body_sha256:
            self._answer(422, {"type": "/problems/idempotency-key-reused", "code": "idempotency-key-reused"})
            return
        answer = {"id": (earlier or item).request_id, "duplicate": earlier is not None}
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
