"""What a drill acts with: people who authorize payments, the provider's ledger, the worker's processes, the queue."""

import io
import os
import random
import signal
from itertools import count
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.core.cache import cache
from django.core.management import CommandError, call_command

from approvals.deciding import DecisionRequest, record_shown
from approvals.destinations import Terms, register_destination
from approvals.models import Snapshot
from approvals.states import Verdict
from approvals.values import FreezeRequest
from console.drills.agreement import Ours, Theirs, disagreements
from console.drills.harness import Installation
from console.drills.observing import Broken, require, seen
from console.drills.provider import JSON
from outbox import authorization, bell, pulse
from outbox.models import Attempt, Effect
from runs import actions, authority, catalog, store
from runs.administration import By, create_person
from runs.models import Person
from runs.states import Role
from runs.values import CommandRequest, Principal

DRILL = By("cli:drill", "A recovery drill.", without_second_person=True)
WORKFLOW = Path(__file__).with_name("drill.toml")
DESTINATION = "drill-provider"
OPERATOR, REVIEWER = "drill-operator", "drill-reviewer"

_numbers = count(1)


def prepare() -> None:
    """The workflow of the drills and the two people in it, made once."""
    catalog.store_workflow(WORKFLOW.read_text(encoding="utf-8"), DRILL.actor)
    for name, role, group in (
        (OPERATOR, Role.OPERATOR, "drill-operators"),
        (REVIEWER, Role.REVIEWER, "drill-reviewers"),
    ):
        if not Person.objects.filter(username=name).exists():
            create_person(name, os.urandom(24).hex(), [role], [group], DRILL)


class Stage:
    """One drill's view of the installation: what was there before it is no concern of its checks."""

    def __init__(self, name: str, installation: Installation, chance: random.Random) -> None:
        self.installation = installation
        self.provider = installation.provider
        self.operations: list[str] = []
        #: Approved bytes that a restore took out of our ledger, while the provider still has them.
        self.forgotten: set[str] = set()
        self._name = name
        self._chance = chance
        self.provider.behave()
        self._earlier = len(self.provider.requests())

    # ---- people ----------------------------------------------------------------------------------------------

    def provider_can(self, *, recognise_repeats: bool, look_up: bool, **manner: JSON) -> None:
        """Register the provider as one that declares, and has, these abilities; `manner` is how it behaves."""
        self.provider.behave(dedupe=recognise_repeats, lookup=look_up, **manner)
        terms = Terms(
            adapter="sandbox",
            url=f"{self.provider.base}/deliver",
            lookup_url=f"{self.provider.base}/lookup" if look_up else "",
            recognises_repeats=recognise_repeats,
            key_retention_seconds=24 * 60 * 60 if recognise_repeats else None,
            settle_after_seconds=1,
            max_in_flight=20,
        )
        register_destination(DESTINATION, terms, DRILL)

    def authorize(self) -> str:
        """A payment of its own run, frozen by the operator and approved by the reviewer; gives the operation."""
        number = next(_numbers)
        key, amount = f"{self._name}-{number}", f"{self._chance.randint(1, 99999)}.00"
        operator = authority.current(Principal("person", OPERATOR))
        actions.create_run(operator, actions.RunRequest(f"new-{number}", "drill", key, {}, DRILL.reason))
        request = CommandRequest(f"set-{number}", "set-amount", {"amount": amount}, DRILL.reason)
        actions.apply_command(operator, key, _version(key), request)
        freezing = FreezeRequest(f"freeze-{number}", "pay", DRILL.reason)
        frozen = authorization.freeze_snapshot(operator, key, _version(key), freezing)
        _approve(f"approve-{number}", frozen.answer["snapshot"])
        operation_id = Effect.objects.get(run__key=key).pk
        self.operations.append(operation_id)
        return operation_id

    # ---- what can be observed --------------------------------------------------------------------------------

    def requests(self) -> list[Theirs]:
        """What the provider was sent during this drill."""
        return self.provider.requests()[self._earlier :]

    def effect(self, operation_id: str) -> Effect:
        """The effect as it is now."""
        return Effect.objects.get(pk=operation_id)

    def await_state(self, operation_id: str, state: str) -> Effect:
        """Wait until an effect is in this state."""
        seen(lambda: self.effect(operation_id).state == state, f"{operation_id} {state}")
        return self.effect(operation_id)

    def await_requests(self, number: int) -> None:
        """Wait until the provider was sent so many requests."""
        seen(lambda: len(self.requests()) >= number, f"{number} requests at the provider")

    def await_applied(self, number: int = 1) -> None:
        """Wait until the provider applied so many requests."""
        seen(lambda: sum(request.applied for request in self.requests()) >= number, f"{number} applied by the provider")

    def await_sweeps(self, number: int = 2) -> None:
        """Wait until the sweep has passed so often from now on."""
        for _ in range(number):
            cache.delete(pulse.KEY)
            seen(pulse.is_beating, "a pass of the sweep")

    def waiting_bells(self) -> int:
        """How many messages wait in the broker."""
        with _broker() as client:
            return int(client.llen("celery"))

    def await_quiet(self) -> None:
        """Wait until no message waits and none is being worked on."""

        def is_quiet() -> bool:
            with _broker() as client:
                return not client.llen("celery") and not client.hlen("unacked")

        seen(is_quiet, "an empty queue")

    def flush_broker(self) -> None:
        """Empty the broker of everything."""
        with _broker() as client:
            client.flushall()

    def ring(self, operation_id: str, times: int) -> None:
        """Have workers told so often that an effect is due."""
        for _ in range(times):
            bell.ring(bell.DISPATCH, operation_id)

    # ---- the process that holds a lease ----------------------------------------------------------------------

    def stop_holder(self, operation_id: str) -> int:
        """Stop (not end) the process that is sending an effect, before it learns the answer. Gives its pid."""
        self.await_requests(1)
        pid = int((self.effect(operation_id).lease_owner or "none:0").rpartition(":")[2])
        require(self.installation.is_ours(pid), f"{operation_id} is held by a process that is not the worker's")
        os.kill(pid, signal.SIGSTOP)
        require(self.effect(operation_id).lease_owner, "the answer was recorded before the worker could be stopped")
        return pid

    # ---- after every drill -----------------------------------------------------------------------------------

    def check(self) -> None:
        """Both ledgers agree, every invariant holds, nothing is left halfway. Raises `Broken`."""
        effects = list(Effect.objects.filter(pk__in=self.operations))
        ours = [Ours(row.idempotency_key, row.state, row.payload_sha256, row.quarantined) for row in effects]
        theirs = [request for request in self.requests() if request.body_sha256 not in self.forgotten]
        if found := list(disagreements(ours, theirs)):
            raise Broken("; ".join(found))
        left = [row.pk for row in effects if row.state == "dispatching" and not row.quarantined]
        require(not left, f"left halfway: {', '.join(left)}")
        try:
            call_command("verify", stdout=(said := io.StringIO()))
        except CommandError as error:
            raise Broken(f"verify: {error} {said.getvalue().strip()}") from error

    def attempts(self, operation_id: str) -> list[Attempt]:
        """The attempts at an effect, in order."""
        return list(Attempt.objects.filter(effect_id=operation_id).order_by("number"))


def _approve(number: str, snapshot: str) -> None:
    """As the reviewer: look at what is frozen, and approve exactly that."""
    reviewer = authority.current(Principal("person", REVIEWER))
    row = Snapshot.objects.select_related("run").get(pk=snapshot)
    record_shown(reviewer.id, snapshot, row.manifest_sha256)
    epoch = authority.current_epoch()
    request = DecisionRequest(number, Verdict.APPROVE, row.manifest_sha256, row.run.version, epoch, DRILL.reason)
    authorization.decide(reviewer, snapshot, request)


def _version(key: str) -> int:
    run = store.read(key).run
    assert run is not None
    return run.version


def _broker() -> Any:
    return redis.Redis.from_url(settings.REDIS_URL)
