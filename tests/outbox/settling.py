"""Bringing effects to where a test begins, over the real claim and the real record, without any provider."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import connection

from outbox.leases import Claimed, claim, start_sending
from outbox.models import Effect
from outbox.providers.base import Result
from outbox.recording import record
from outbox.states import Outcome

ACCEPTED = Result(Outcome.ACCEPTED, "answered 200", "p-1", 200)
REFUSED = Result(Outcome.REFUSED, "answered 400", None, 400)
THROTTLED = Result(Outcome.THROTTLED, "answered 429", None, 429, timedelta(minutes=3))
NEVER_LEFT = Result(Outcome.NEVER_LEFT, "ConnectError: nobody listens")
UNKNOWN = Result(Outcome.UNKNOWN, "ReadTimeout: no answer")

RESULTS = {result.outcome: result for result in (ACCEPTED, REFUSED, THROTTLED, NEVER_LEFT, UNKNOWN)}


def claimed(effect: Effect, worker: str = "worker-1") -> Claimed:
    """Claim exactly this effect, which has to be due, and commit the intent to send where that is needed."""
    (held,) = claim(worker, only=effect.pk)
    if held.records_intent:
        assert start_sending(held)
    return held


def late(held: Claimed) -> Claimed:
    """A lease as its process finds it after a long stop: the time to begin is over."""
    return replace(held, sending=replace(held.sending, start_before=0.0))


def attempt(effect: Effect, result: Result) -> Effect:
    """One attempt that came to `result`; gives the effect after it."""
    record(claimed(effect), result)
    effect.refresh_from_db()
    return effect


def succeed(effect: Effect) -> Effect:
    """The effect after the provider accepted it."""
    return attempt(effect, ACCEPTED)


def change(effect: Effect, **columns: Any) -> Effect:
    """Change columns that may move, as some earlier moment would have."""
    Effect.objects.filter(pk=effect.pk).update(version=effect.version + 1, **columns)
    effect.refresh_from_db()
    return effect


_FROZEN_TIMES = {
    "outbox_effect": ("operation_id", ("next_at", "lease_expires_at", "key_clock_started_at", "authorized_at")),
    "outbox_attempt": ("effect_id", ("started_at", "send_by", "send_started_at", "finished_at")),
    "outbox_lookup": ("effect_id", ("at",)),
    "outbox_verdict": ("effect_id", ("at",)),
    "outbox_repair": ("effect_id", ("at",)),
}


def let_pass(effect: Effect, **duration: float) -> Effect:
    """As if so much time had passed: everything that is stored of the effect is that much older.

    The owner of the tables takes the guards away for it, in the transaction of the test.
    """
    given: dict[str, Any] = {"by": timedelta(**duration), "key": effect.pk}
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table, (key, columns) in _FROZEN_TIMES.items():
            moved = ", ".join(f"{name} = {name} - %(by)s" for name in columns)
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(f"UPDATE {table} SET {moved} WHERE {key} = %(key)s", given)
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    effect.refresh_from_db()
    return effect
