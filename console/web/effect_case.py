"""What the page of an effect shows, read for one person: what was approved, what was tried, what came back, what is
known, and what may be found and ordered now.

What may be done is judged by the checks that judge the press of a button; a missing verb is told in their words.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from approvals.models import Decision
from console import stories
from console.access import access_effect
from console.lookalikes import Host, inspect_host
from console.payloads import Fact, Payload, first_facts
from console.sentences import Word, said_of, words_of
from console.stories import Story
from console.templatetags.console_ui import STATUS_LOOKS
from console.web.effect_choices import Choices, read_choices
from console.web.effect_timeline import Event, Late, events_of, late_results
from console.web.effect_words import Stage, Standing, standing_of
from console.web.review_card import duration, host_of, payload_of
from outbox import queries
from outbox.cases import Case
from outbox.models import Effect, Remediation, Repair
from outbox.remediations import remediation_ref
from outbox.retry import replayable_until
from outbox.states import EffectState
from outbox.targets import declares
from runs import authority, catalog, history
from runs.definitions import Action, Workflow
from runs.digest import tagged
from runs.permissions import is_admin, is_reviewer
from runs.states import RunStatus
from runs.values import Principal

JSON = Any

#: Facts of the payload that stand first; entries of the ledger on the page itself.
FACTS, ENTRIES = 3, 8


@dataclass(frozen=True, slots=True)
class RemediationLine:
    """A remediation with its steps so far."""

    ref: str
    row: Remediation


@dataclass(frozen=True)
class EffectPage:
    """An effect as its page shows it."""

    case: Case
    workflow: Workflow
    manifest: JSON
    payload: Payload | None  # None: erased
    standing: Standing
    approvals: tuple[Decision, ...]
    repairs: tuple[Repair, ...]
    remediations: tuple[RemediationLine, ...]
    choices: Choices
    events: tuple[Event, ...]
    timeline: tuple[Story, ...]

    @property
    def effect(self) -> Effect:
        return self.case.effect

    @property
    def action(self) -> Action:
        return self.workflow.actions[self.effect.action]

    @cached_property
    def sentence(self) -> tuple[Word, ...]:
        value = self.payload.value if self.payload else None
        return words_of(said_of(self.action, self.case.run.key, self.manifest, value))

    @property
    def sent_label(self) -> str:
        """What the status of a run is called once this is confirmed."""
        status = self.case.run.state.status if self.effect.compensates else RunStatus.SENT
        return self.workflow.label(status)

    @property
    def run_label(self) -> str:
        """What the status of the run is called."""
        status = self.case.run.state.status
        return self.workflow.labels.get(status) or STATUS_LOOKS[status].label

    @property
    def key_facts(self) -> list[Fact]:
        return first_facts(self.payload, self.action.payload, FACTS) if self.payload else []

    @cached_property
    def host(self) -> Host:
        return inspect_host(host_of(self.case.destination.url))

    # ---- the bytes -------------------------------------------------------------------------------------------

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What of the bytes is not what was approved; empty when all of it is."""
        effect, row = self.effect, self.effect.snapshot
        found = {
            "the manifest": not tagged(bytes(row.manifest)) == row.manifest_sha256 == effect.manifest_sha256,
            "the payload": self.payload is not None
            and not tagged(self.payload.body) == self.manifest["payload"]["sha256"] == effect.payload_sha256,
            "an approval": any(item.manifest_sha256 != effect.manifest_sha256 for item in self.approvals),
        }
        return tuple(what for what, is_wrong in found.items() if is_wrong)

    @property
    def was_sent(self) -> bool:
        """Whether an attempt ever began to send these bytes."""
        return any(attempt.send_started_at for attempt in self.case.attempts)

    @property
    def answers(self) -> list[Any]:
        """The attempts of which something came back."""
        return [attempt for attempt in self.case.attempts if attempt.response or attempt.http_status]

    @cached_property
    def late(self) -> tuple[Late, ...]:
        return late_results(self.case.attempts)

    @property
    def known_id(self) -> str:
        """An id that the provider itself gave for it: in a late answer or a look-up."""
        late = [item.told.get("provider_request_id") for item in self.late if item.outcome == "accepted"]
        found = [item.provider_request_id for item in self.case.lookups if item.answer == "found"]
        return next((number for number in [*found[::-1], *late[::-1]] if number), "")

    # ---- the provider ----------------------------------------------------------------------------------------

    @property
    def can_cancel(self) -> bool:
        return declares(self.case.destination, "cancel_url")

    @property
    def remembers_for(self) -> str:
        retention = self.case.can.key_retention
        return "" if retention is None else duration(int(retention.total_seconds()))

    @property
    def settles_after(self) -> str:
        return duration(int(self.case.can.settle_after.total_seconds()))

    @property
    def replayable_until(self) -> datetime | None:
        return replayable_until(self.case.can, self.effect.key_clock_started_at)

    @property
    def clock_has_ended(self) -> bool:
        until = self.replayable_until
        return until is not None and until <= self.now

    @property
    def clock_percent(self) -> int:
        """How much of the provider's memory of the key is over."""
        started, until = self.effect.key_clock_started_at, self.replayable_until
        if started is None or until is None:
            return 0
        return max(0, min(100, round((self.now - started) / (until - started) * 100)))

    # ---- what this person may do -----------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        return self.case.found.now

    @property
    def is_admin(self) -> bool:
        return is_admin(self.case.principal)

    @property
    def is_open(self) -> bool:
        return not EffectState(self.effect.state).is_end

    @property
    def boundary(self) -> str:
        return queries.boundary(self.effect)

    @property
    def may_revoke(self) -> bool:
        """Whether there is an approval that this person may revoke."""
        policy = authority.policy_of(self.effect.workflow, self.case.found.authority_epoch)
        allowed = self.is_admin or is_reviewer(self.case.principal, policy)
        return allowed and any(given.revoked_at is None for given in self.approvals)

    @property
    def may_look_up(self) -> bool:
        return self.is_admin and self.is_open and self.case.can.has_lookup and self.effect.lease_owner is None

    @property
    def wants_verdict(self) -> bool:
        return self.effect.state == EffectState.NEEDS_RECONCILIATION

    @property
    def is_found_not(self) -> bool:
        """Whether repairs come before another verdict."""
        return self.standing.stage is Stage.FOUND_NOT

    @property
    def tag(self) -> str:
        """What the page depends on: while it is the same, nothing on it has changed for this person."""
        found, run = self.case.found, self.case.run
        waiting = "-".join(f"{line.ref}{bool(line.cannot_confirm)}" for line in self.choices.waiting)
        parts = (found.ledger_epoch, found.authority_epoch, found.is_halted, run.version, run.head_seq)
        clock = self.clock_percent // 5
        return ".".join(
            str(part) for part in (*parts, self.effect.version, waiting, self.choices.offers, clock)
        ).replace(" ", "_")


def read_effect_page(principal: Principal, operation_id: str) -> EffectPage:
    """Read the page of an effect for a person. Raises `NotFound`."""
    case = access_effect(principal, operation_id)
    effect = case.effect
    manifest = json.loads(bytes(effect.snapshot.manifest))
    workflow = catalog.definition(effect.workflow, manifest["workflow_revision"])
    repairs = list(effect.repairs.order_by("at", "id"))
    remediations = list(effect.remediations.prefetch_related("steps").order_by("opened_at", "id"))
    waiting = queries.open_steps_of(effect)
    entries = history.list_backwards(effect.run_id, ENTRIES)
    return EffectPage(
        case=case,
        workflow=workflow,
        manifest=manifest,
        payload=payload_of(effect.snapshot),
        standing=standing_of(case),
        approvals=tuple(queries.approvals_of(effect)),
        repairs=tuple(repairs),
        remediations=tuple(RemediationLine(remediation_ref(row.pk), row) for row in remediations),
        choices=read_choices(case, waiting),
        events=events_of(case, repairs, remediations, waiting),
        timeline=tuple(stories.tell(entry, workflow) for entry in entries),
    )
