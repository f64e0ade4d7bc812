"""The frozen values of review: what is asked to be frozen, and what is compensated. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.values import CommandRequest

JSON = Any


@dataclass(frozen=True, slots=True)
class FreezeRequest:
    """A candidate to be put under review."""

    id: str
    action: str
    reason: str
    artifacts: Mapping[str, str] = field(default_factory=dict)  # slot -> artifact id
    payload: Mapping[str, JSON] | None = None  # only for actions whose payload the request supplies
    of: str | None = None  # the operation to be compensated
    evidence: tuple[str, ...] = ()
    intent: str | None = None
    hand_over: bool = False

    def as_command(self) -> CommandRequest:
        """The freeze as a command, which is how conflicts and repeats know it."""
        params = {
            "action": self.action,
            "artifacts": dict(self.artifacts),
            "payload": None if self.payload is None else dict(self.payload),
            "of": self.of,
        }
        return CommandRequest(
            id=self.id,
            name=f"freeze:{self.action}",
            params=params,
            reason=self.reason,
            evidence=self.evidence,
            intent=self.intent,
            hand_over=self.hand_over,
        )


@dataclass(frozen=True, slots=True)
class Compensated:
    """The effect that a compensation is about."""

    operation_id: str
    action: str
    payload: Mapping[str, JSON]

    def as_source(self) -> dict[str, JSON]:
        return {"operation_id": self.operation_id, "payload": dict(self.payload)}
