"""The sandbox provider as the drills see it: over HTTP alone, like everybody else."""

import json
import urllib.request
from typing import Any

from console.drills.agreement import Theirs

JSON = Any

_AS_NEW: dict[str, JSON] = {"mode": "ok", "dedupe": True, "lookup": True, "delay_ms": 0, "retry_after": 1}
_TIMEOUT_SECONDS = 10


class Provider:
    """The running sandbox."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base = f"http://127.0.0.1:{port}"

    def behave(self, *, count: int | None = None, **control: JSON) -> None:
        """Behave like this, and otherwise as new: from now on, or for the next `count` deliveries."""
        if count is None:
            self._control(_AS_NEW | control)
        else:
            self._control(_AS_NEW)
            self._control({**control, "count": count})

    def _control(self, given: dict[str, JSON]) -> None:
        body = json.dumps(given).encode()
        with urllib.request.urlopen(f"{self.base}/control", data=body, timeout=_TIMEOUT_SECONDS) as answer:
            answer.read()

    def requests(self) -> list[Theirs]:
        """Everything it was ever sent, in order."""
        with urllib.request.urlopen(f"{self.base}/ledger", timeout=_TIMEOUT_SECONDS) as answer:
            rows = json.load(answer)["requests"]
        return [Theirs(row["key"], f"sha256:{row['body_sha256']}", row["applied"]) for row in rows]
