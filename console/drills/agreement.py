"""Whether the provider's ledger and ours tell the same story. Pure: it compares what was read from both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: The only states that what happened outside may be in here; the second says that a person finds out.
_MAY_HAVE_HAPPENED = ("succeeded", "needs_reconciliation")


@dataclass(frozen=True, slots=True)
class Ours:
    """An effect as our ledger has it, with the number of its attempts that started to send."""

    operation_id: str
    state: str
    payload_sha256: str
    attempts: int
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class Theirs:
    """A request as the provider wrote it down. The key is empty where it recognises no repeats."""

    key: str
    body_sha256: str
    applied: bool


def disagreements(ours: Sequence[Ours], theirs: Sequence[Theirs]) -> Iterator[str]:
    """Each point on which the two differ, in words. A request belongs to the effect whose approved bytes it carries."""
    approved = {effect.payload_sha256: effect for effect in ours}
    for request in theirs:
        effect = approved.get(request.body_sha256)
        if effect is None:
            yield f"the provider was sent bytes that nobody approved (key {request.key or 'none'})"
        elif request.key not in ("", effect.operation_id):
            yield f"the bytes of {effect.operation_id} were sent under the key {request.key}"
    for effect in ours:
        yield from _about(effect, [request for request in theirs if request.body_sha256 == effect.payload_sha256])


def _about(effect: Ours, requests: Sequence[Theirs]) -> Iterator[str]:
    times = sum(request.applied for request in requests)
    if len(requests) > effect.attempts:
        yield f"{effect.operation_id} was sent {len(requests)} times in {effect.attempts} attempts"
    if times > 1:
        yield f"{effect.operation_id} happened {times} times"
    if effect.state == "succeeded" and not times:
        yield f"{effect.operation_id} is called succeeded and never happened"
    if times and effect.state not in _MAY_HAVE_HAPPENED and not effect.quarantined:
        yield f"{effect.operation_id} happened and is called {effect.state}"
