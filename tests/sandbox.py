"""The sandbox provider, stood up for a test; at the end what it was sent is held against what was approved."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from console import sandbox
from console.sandbox import Control, Delivery
from outbox.models import Effect
from tests import review


@dataclass(frozen=True)
class Sandbox:
    """A running provider with its own ledger."""

    memory: sandbox.Provider
    url: str
    _of_others: list[Delivery] = field(default_factory=list, init=False)

    @property
    def deliveries(self) -> list[Delivery]:
        """Everything it was ever sent, in order."""
        return self.memory.deliveries

    @property
    def control(self) -> Control:
        return self.memory.control

    @property
    def applied(self) -> int:
        """How many of its deliveries it applied."""
        return sum(item.applied for item in self.deliveries)

    def register(self, *, dedupe: bool = True, lookup: bool = True, name: str = "payments", **terms: Any) -> None:
        """Register it as what it can do, and let it be no more than that."""
        self.control.dedupe, self.control.lookup = dedupe, lookup
        declared: dict[str, Any] = {
            "adapter": "sandbox",
            "url": f"{self.url}/deliver",
            "lookup_url": f"{self.url}/lookup" if lookup else "",
            "recognises_repeats": dedupe,
            "key_retention_seconds": 86400 if dedupe else None,
        }
        review.destination(name, **declared | terms)

    def fails_once(self, mode: str) -> None:
        """Let its next delivery meet this fault."""
        self.control.change({"mode": mode, "count": 1})

    def applies_for_others(self, key: str, body: bytes) -> None:
        """Let it have applied what somebody else sent under this key."""
        item, _ = self.memory.receive(key, body)
        self.memory.apply(item)
        self._of_others.append(item)

    @property
    def ours(self) -> list[Delivery]:
        """What was not sent by others."""
        return [item for item in self.deliveries if item not in self._of_others]


@contextmanager
def running_sandbox() -> Iterator[Sandbox]:
    """A provider on a port of its own. Needs the database of the test: at the end nothing but approved bytes came."""
    server = sandbox.serve(0, None)
    memory: sandbox.Provider = server.RequestHandlerClass.provider  # type: ignore[attr-defined]  # set by `serve`
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        provider = Sandbox(memory, f"http://127.0.0.1:{server.server_address[1]}")
        yield provider
        require_approved(provider.ours)
    finally:
        memory.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def require_approved(deliveries: Iterable[Delivery]) -> None:
    """Fail unless each body is exactly the approved payload of the effect whose key it came with.

    Where a destination recognises nothing there is no key: then it is the approved payload of some effect.
    """
    approved = dict(Effect.objects.values_list("idempotency_key", "payload_sha256"))
    for item in deliveries:
        expected = [approved.get(item.key)] if item.key else approved.values()
        assert f"sha256:{item.body_sha256}" in expected, f"delivery {item.n} under {item.key!r} was never approved"
