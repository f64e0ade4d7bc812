"""The effect a snapshot was authorized as, on which side of the boundary it is, and its receipt. Reads only."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from approvals import freezing
from approvals.deciding import decision_ref
from approvals.errors import ApprovalRevoked
from approvals.models import Decision, Snapshot
from approvals.reviewing import Review
from approvals.standing import standing_ref
from approvals.states import Boundary, SnapshotState, snapshot_state
from approvals.values import Compensated
from outbox.models import Effect
from outbox.states import ENDS, EffectState
from runs.cases import CommandRecord, as_it_stands
from runs.errors import Fault, InvalidParams
from runs.outcomes import Outcome

JSON = Any


def effect_of(snapshot: str) -> Effect | None:
    """The effect that was authorized from a snapshot."""
    return Effect.objects.filter(snapshot_id=snapshot).first()


def state_of(review: Review) -> SnapshotState:
    """What state the snapshot is in; it has none of its own."""
    return snapshot_state(
        has_effect=effect_of(review.row.pk) is not None,
        is_pointed_at=review.is_active,
        has_deny=any(row.verdict == "deny" for row in review.decisions),
    )


def boundary_of(review: Review, effect: Effect | None) -> Boundary:
    """What revoking an approval of this snapshot does now."""
    if effect is None:
        return Boundary.BEFORE_AUTHORIZATION if review.is_active else Boundary.NONE
    return side_of(effect)


def side_of(effect: Effect) -> Boundary:
    """On which side of the boundary an effect is. What is in quarantine may long have been sent."""
    if effect.state == EffectState.SUCCEEDED:
        return Boundary.SENT
    if effect.state in ENDS:
        return Boundary.NONE
    return Boundary.IN_FLIGHT if effect.may_have_left or effect.quarantined else Boundary.REVOCABLE


def receipt(effect: Effect) -> dict[str, JSON]:
    """The answer to whoever authorizes what is authorized already.

    Raises `ApprovalRevoked` when the authorization was withdrawn since.
    """
    if effect.state == EffectState.CANCELLED:
        differs = {"expected": "authorized", "actual": effect.state}
        raise ApprovalRevoked("The authorization was withdrawn.", effect=effect.operation_id, **differs)
    return {"effect": effect.operation_id, "effect_state": effect.state}


def freeze_told(answer: Mapping[str, JSON]) -> dict[str, JSON]:
    """The answer of a freeze with the effect and the standing approval that it has by now."""
    snapshot = answer["snapshot"]
    effect = effect_of(snapshot)
    spent = Decision.objects.filter(snapshot_id=snapshot, standing_approval__isnull=False).first()
    standing = None
    if spent is not None and spent.standing_approval is not None:
        standing = {"standing_approval": standing_ref(spent.standing_approval.pk), "decision": decision_ref(spent.pk)}
    return {**answer, "standing": standing, "effect": effect.operation_id if effect else None}


def freeze_as_it_stands(run_id: int, replay: Outcome) -> dict[str, JSON]:
    """What became of a freeze by now: its candidate; or how an operator settled it, and the candidate of that."""
    if replay.resolution is None:
        return freeze_told(replay.answer)
    told = as_it_stands(replay.state, replay.answer, replay.resolution)
    if replay.state != "committed":
        return told
    row = Snapshot.objects.get(run_id=run_id, run_version=replay.resolution["version"])
    return told | freeze_told(freezing.told(row))


def command_as_it_stands(record: CommandRecord) -> CommandRecord:
    """What became of an id, with what an effect made of it since."""
    answer = record.answer
    if "snapshot" in answer:
        answer = freeze_told(answer)
    elif record.name == "authorize":
        answer = {**answer, "effect_state": Effect.objects.get(pk=answer["effect"]).state}
    return replace(record, answer=answer)


def compensated(run_id: int, operation_id: str | None) -> Compensated | None:
    """The succeeded effect that a compensation names. Raises `InvalidParams` when there is none on this run."""
    if operation_id is None:
        return None
    row = (
        Effect.objects.select_related("snapshot")
        .filter(run_id=run_id, pk=operation_id, state=EffectState.SUCCEEDED)
        .first()
    )
    if row is None or row.snapshot.payload is None:
        words = f"{operation_id} is no succeeded operation of this run whose payload is still kept."
        raise InvalidParams(words, errors=[Fault("/of", "unacceptable", words)])
    return Compensated(row.operation_id, row.action, json.loads(bytes(row.snapshot.payload)))
