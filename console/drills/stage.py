"""What a drill acts with: people who authorize payments, the provider's ledger, the worker's processes, the queue."""

import os
import random
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.cache import cache

from approvals.deciding import DecisionRequest, record_shown
from approvals.destinations import Terms, register_destination
from approvals.models import Snapshot
from approvals.states import Verdict
from approvals.values import FreezeRequest
from console.drills.agreement import Theirs
from console.drills.checking import unverified, wrong
from console.drills.harness import Installation
from console.drills.observing import PATIENCE_SECONDS, Broken, require, seen
from console.drills.provider import JSON
from console.home import APP_ROLE
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
#: For what comes at once, or never.
_SOON_SECONDS = 10
_LAST_WORDS_SECONDS = 30


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
        self.flush_broker()  # a worker that was killed leaves messages that nobody takes for minutes
        self._earlier = len(self.provider.requests())

    # ---- people ----------------------------------------------------------------------------------------------

    def provider_can(self, *, recognise_repeats: bool, look_up: bool, **manner: JSON) -> None:
        """Register the provider as one that declares, and has, these abilities; `manner` is how it behaves."""
        self.provider.behave(dedupe=recognise_repeats, lookup=look_up, **manner)
        self.declare(recognise_repeats=recognise_repeats, look_up=look_up)

    def declare(
        self, *, recognise_repeats: bool, look_up: bool, base: str | None = None, remembers_seconds: int = 24 * 60 * 60
    ) -> None:
        """Register the provider anew for payments from now on; `base` is its address for sending."""
        terms = Terms(
            adapter="sandbox",
            url=f"{base or self.provider.base}/deliver",
            lookup_url=f"{self.provider.base}/lookup" if look_up else "",
            recognises_repeats=recognise_repeats,
            key_retention_seconds=remembers_seconds if recognise_repeats else None,
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

    def sent(self, operation_id: str) -> list[Theirs]:
        """What the provider was sent for one effect."""
        approved = self.effect(operation_id).payload_sha256
        return [request for request in self.requests() if request.body_sha256 == approved]

    def effect(self, operation_id: str) -> Effect:
        """The effect as it is now."""
        return Effect.objects.get(pk=operation_id)

    def await_state(self, operation_id: str, state: str) -> Effect:
        """Wait until an effect is in this state."""
        seen(lambda: self.effect(operation_id).state == state, f"{operation_id} {state}")
        return self.effect(operation_id)

    def claimed(self) -> list[str]:
        """The effects of this drill that a process holds."""
        return list(
            Effect.objects.filter(pk__in=self.operations, lease_owner__isnull=False).values_list("pk", flat=True)
        )

    def await_settled(self, operation_id: str) -> Effect:
        """Wait until an effect has succeeded or waits for a person."""
        settled = ("succeeded", "needs_reconciliation")
        seen(lambda: self.effect(operation_id).state in settled, f"{operation_id} settled")
        return self.effect(operation_id)

    def await_started(self, operation_id: str) -> int:
        """Wait until a process may be sending an effect. Gives its pid."""
        seen(lambda: self.effect(operation_id).lease_owner, f"{operation_id} claimed")
        seen(lambda: self.attempts(operation_id)[-1].send_started_at, f"{operation_id} about to be sent")
        return self.holder(operation_id)

    def await_sent(self, operation_id: str) -> None:
        """Wait until the provider was sent an effect."""
        seen(lambda: self.sent(operation_id), f"{operation_id} at the provider")

    def await_late(self, operation_id: str) -> None:
        """Wait until the first attempt at an effect carries what came too late."""
        seen(lambda: self.attempts(operation_id)[0].late, f"the late result of {operation_id}", _SOON_SECONDS)

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

    def sweep_or_end(self) -> bool:
        """Wait until the sweep passes or the worker ends; whether it ended. A worker that only hangs is broken.

        A worker that ends waits for its processes, which give it half a minute to read what they have done.
        """
        cache.delete(pulse.KEY)
        ended, patience = self.installation.has_ended, PATIENCE_SECONDS + _LAST_WORDS_SECONDS
        seen(lambda: ended("worker") or pulse.is_beating(), "a pass of the sweep, or the end of the worker", patience)
        return ended("worker")

    def hears_sweep(self) -> bool:
        """Whether the sweep passes within twice its interval, counted from now."""
        cache.delete(pulse.KEY)
        try:
            return seen(pulse.is_beating, "a pass of the sweep", 2 * settings.CLEARANCE_SWEEP_SECONDS)
        except Broken:
            return False

    def is_ready(self) -> bool:
        """Whether the console calls itself and everything it needs ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{settings.CLEARANCE_PORT}/readyz", timeout=5) as answer:
                return bool(answer.status == HTTPStatus.OK)
        except urllib.error.HTTPError as refusal:
            require(refusal.code == HTTPStatus.SERVICE_UNAVAILABLE, f"the console answered {refusal.code}")
            return False

    def taken_bells(self) -> int:
        """How often the worker wrote down that it took a message; it does where its level of logging is INFO."""
        return len(re.findall(rf"Task {re.escape(bell.DISPATCH)}\[\S+\] received", self.installation.log("worker")))

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
        self.await_sent(operation_id)
        pid = self.holder(operation_id)
        os.kill(pid, signal.SIGSTOP)
        require(self.effect(operation_id).lease_owner, "the answer was recorded before the worker could be stopped")
        return pid

    def holder(self, operation_id: str) -> int:
        """The process of the worker that holds an effect."""
        pid = int((self.effect(operation_id).lease_owner or "none:0").rpartition(":")[2])
        require(self.installation.is_ours(pid), f"{operation_id} is held by a process that is not the worker's")
        return pid

    @contextmanager
    def recording_held_up(self, *operations: str) -> Iterator[None]:
        """Wait until the provider has these effects, and keep what it answers from being recorded.

        Inside, every one of them was answered and its process waits for the lock that is held here.
        """
        for operation in operations:
            self.await_sent(operation)
        keys = list(Effect.objects.filter(pk__in=operations).values_list("run__key", flat=True))
        with psycopg.connect(self.installation.home.database_url(APP_ROLE)) as connection:
            connection.execute("SELECT FROM runs_run WHERE key = ANY(%s) FOR NO KEY UPDATE", [keys])
            seen(lambda: _waiting_for(connection) >= len(operations), f"{len(operations)} processes that would record")
            yield

    # ---- after every drill -----------------------------------------------------------------------------------

    def check(self) -> None:
        """Both ledgers agree, every invariant holds, nothing is left halfway. Raises `Broken`."""
        theirs = [request for request in self.requests() if request.body_sha256 not in self.forgotten]
        if found := [*wrong(self.operations, theirs), *unverified()]:
            raise Broken("; ".join(found))

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


def _waiting_for(connection: psycopg.Connection) -> int:
    """How many sessions of the database wait for a lock of this one."""
    found = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    ).fetchone()
    assert found is not None
    return int(found[0])


def _broker() -> Any:
    return redis.Redis.from_url(settings.REDIS_URL)
