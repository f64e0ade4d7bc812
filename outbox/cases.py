"""An effect that a person has to find out about: what is known, and which findings and repairs are legal now.

Reads and judges; writes nothing. Findings and repairs act on what is said here.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from math import ceil
from typing import Any

from approvals.models import DestinationRevision
from outbox.bearings import Bearing, bearings_of
from outbox.errors import Quarantined, TooEarly
from outbox.models import Attempt, Effect, Lookup, Verdict
from outbox.retry import Capabilities, Position, replayable_until
from outbox.states import Answer, EffectState, Finding, Outcome, RepairKind
from runs import authority, store
from runs.chain import rfc3339
from runs.errors import ClearanceError, InvalidTransition, NotFound
from runs.moved import version_conflict
from runs.permissions import may_see
from runs.store import Found
from runs.values import Principal, RunReading

JSON = Any


@dataclass(frozen=True)
class Case:
    """An effect with everything that judging it needs, read in one transaction."""

    effect: Effect
    found: Found
    run: RunReading
    principal: Principal

    @cached_property
    def _bearing(self) -> Bearing:
        (found,) = bearings_of([(self.effect, self.run)])
        return found

    @property
    def destination(self) -> DestinationRevision:
        return self._bearing.destination

    @property
    def can(self) -> Capabilities:
        return self._bearing.can

    @property
    def position(self) -> Position:
        return self._bearing.position(self.found.now, may_have_left=self.effect.may_have_left)

    @cached_property
    def attempts(self) -> list[Attempt]:
        return list(self.effect.attempts.order_by("number"))

    @cached_property
    def lookups(self) -> list[Lookup]:
        return list(self.effect.lookups.order_by("at", "id"))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return list(self.effect.verdicts.order_by("at", "id"))

    @property
    def is_revoked(self) -> bool:
        return self._bearing.revoked is not None

    @property
    def replay_is_safe(self) -> bool:
        """Whether the provider would still recognise a repeat of what was tried."""
        until = replayable_until(self.can, self.tried_since)
        return self.can.recognises_repeats and (until is None or self.found.now < until)

    @cached_property
    def tried_since(self) -> datetime | None:
        """Since when something may have left under the key; a finding that it did not happen changes nothing of it."""
        resends = self.effect.repairs.filter(repair=RepairKind.RESEND).order_by("-at").values_list("at", flat=True)
        since = resends.first()
        return min((item.started_at for item in self.attempts if _may_have_left(item, since)), default=None)

    @property
    def settles_at(self) -> datetime | None:
        """From when on a negative finding means something: the last lease's end and then the settling time."""
        ends = [attempt.send_by + timedelta(seconds=self.effect.timeout_seconds) for attempt in self.attempts]
        return max(ends) + self.can.settle_after if ends else None

    @property
    def evidence_it_happened(self) -> bool:
        """Whether the provider itself ever said that it happened."""
        was_accepted = any(item.outcome == Outcome.ACCEPTED for item in self.attempts)
        was_found = any(item.answer == Answer.FOUND for item in self.lookups)
        return was_accepted or self._bearing.was_accepted_late or was_found

    @property
    def evidence_it_did_not_happen(self) -> bool:
        """Whether the provider ever said, late enough to prove it, that it does not know the key."""
        return any(item.answer == Answer.NOT_FOUND and item.proves for item in self.lookups)


def _may_have_left(attempt: Attempt, since: datetime | None) -> bool:
    is_counted = since is None or attempt.started_at >= since
    return is_counted and not (attempt.outcome and Outcome(attempt.outcome).proves_nothing_happened)


def load_case(principal: Principal, operation_id: str) -> Case:
    """An effect as `principal` sees it. Raises `NotFound` when there is none or it may not be seen."""
    effect = Effect.objects.select_related("run", "snapshot").filter(pk=operation_id).first()
    if effect is None:
        raise NotFound
    found = store.read(effect.run.key)
    assert found.run is not None
    principal = authority.current(principal, found.authority_epoch, found.now)
    policy = authority.policy_of(found.run.workflow, found.authority_epoch)
    if not may_see(principal, found.run.workflow, policy):
        raise NotFound
    return Case(effect, found, found.run, principal)


def require_version(case: Case, seen: int, *, name: str, command_id: str) -> None:
    """Raise `VersionConflict` unless the effect is at the version that the request `name` saw.

    It has the members of every version conflict; the versions in it are those of the effect.
    """
    effect, run = case.effect, case.run
    if effect.version == seen:
        return
    words = f"The effect moved since you looked; its state now: {effect.get_state_display()}."
    policy = authority.policy_of(run.workflow, case.found.authority_epoch)
    refusal = version_conflict(words, case.found, run, policy, command_id=command_id, name=name, seen=run.version)
    refusal.members |= {"effect": effect.pk, "base_version": seen, "current_version": effect.version}
    raise refusal


def next_steps(case: Case) -> list[str]:
    """What an admin may do about the effect now: `verdict:…` and `repair:…`, by what is found or ordered."""
    found = [f"verdict:{finding}" for finding in Finding if _against_finding(case, finding) is None]
    return found + [f"repair:{repair}" for repair in RepairKind if _against_repair(case, repair) is None]


def _not_legal(case: Case, words: str, expected: str, actual: str | None = None) -> InvalidTransition:
    """That a fact stands against it: what it would have to be, and what it is, by default the effect's state."""
    state = case.effect.state
    return InvalidTransition(words, status=state, expected=expected, actual=actual or state)


def _raised(case: Case, refusal: ClearanceError | None) -> None:
    """Raise what stands against it, naming what is legal instead."""
    if isinstance(refusal, InvalidTransition):
        refusal.members["next"] = next_steps(case)
    if refusal is not None:
        raise refusal


def require_finding(case: Case, finding: Finding) -> None:
    """Raise unless a person may give this finding now."""
    _raised(case, _against_finding(case, finding))


def _against_finding(case: Case, finding: Finding) -> ClearanceError | None:
    if case.effect.quarantined:
        return Quarantined(expected="released", actual="quarantined")
    if case.effect.state != EffectState.NEEDS_RECONCILIATION:
        words = "Only an effect that needs reconciliation takes a verdict."
        return _not_legal(case, words, EffectState.NEEDS_RECONCILIATION)
    settles_at = case.settles_at
    if finding is Finding.DID_NOT_HAPPEN and settles_at is not None and case.found.now < settles_at:
        return TooEarly(
            "The provider may still be working on it.",
            retry_after=ceil((settles_at - case.found.now).total_seconds()),
            expected=rfc3339(settles_at),
            actual=rfc3339(case.found.now),
        )
    return None


def second_person_for_finding(case: Case, finding: Finding, provider_request_id: str | None) -> str | None:
    """Why a second admin has to confirm this finding; None when it stands by itself."""
    earlier = [item.verdict for item in case.verdicts if item.verdict != Finding.CANNOT_TELL]
    if earlier and earlier[-1] != finding and finding is not Finding.CANNOT_TELL:
        return f"it contradicts the earlier verdict {earlier[-1]}"
    against = {
        Finding.HAPPENED: case.evidence_it_did_not_happen,
        Finding.DID_NOT_HAPPEN: case.evidence_it_happened,
    }
    if against.get(finding):
        return "it contradicts what the provider said"
    if finding is Finding.HAPPENED and not provider_request_id:
        return "there is no provider id"
    if finding is Finding.DID_NOT_HAPPEN and case.is_revoked and not case.replay_is_safe:
        return "it ends the run as revoked, and a repeat would not have been safe"
    return None


def require_repair(case: Case, repair: RepairKind) -> None:
    """Raise unless an admin may order this repair now."""
    _raised(case, _against_repair(case, repair))


def _against_repair(case: Case, repair: RepairKind) -> ClearanceError | None:
    effect = case.effect
    if repair is RepairKind.RELEASE:
        return None if effect.quarantined else _not_legal(case, "It is not in quarantine.", "quarantined")
    if effect.quarantined:
        return Quarantined(expected="released", actual="quarantined")
    if effect.state != EffectState.NEEDS_RECONCILIATION:
        words = "Only an effect that needs reconciliation is repaired."
        return _not_legal(case, words, EffectState.NEEDS_RECONCILIATION)
    latest = case.verdicts[-1].verdict if case.verdicts else "no verdict"
    if effect.may_have_left or latest != Finding.DID_NOT_HAPPEN:
        words = "First somebody has to find out that it did not happen."
        return _not_legal(case, words, Finding.DID_NOT_HAPPEN, latest)
    if repair is RepairKind.RESEND and case.is_revoked:
        words = "Its approval was revoked: it is never sent again."
        return _not_legal(case, words, "approved", "revoked")
    return None


def second_person_for_repair(case: Case, repair: RepairKind) -> str | None:
    """Why a second admin has to confirm this repair; None when it stands by itself."""
    if repair is RepairKind.RESEND and not case.can.recognises_repeats:
        return "the provider does not recognise repeats"
    if repair is RepairKind.MARK_FAILED and not case.replay_is_safe:
        return "a replay was not safe, so nothing but the finding proves it"
    return None
