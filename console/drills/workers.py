"""Drills in which a worker dies or stands still while it sends."""

import os
import signal

from console.drills.catalogue import Drill
from console.drills.observing import require, seen
from console.drills.stage import Stage

#: Long enough to stop a process while the provider has not answered yet.
_THINKING_MS = 1500


def _lose_worker_after_applied(stage: Stage) -> str:
    """Send one effect, and kill its process after the provider applied it and before it can be recorded."""
    operation = stage.authorize()
    pid = stage.stop_holder(operation)
    stage.await_applied()
    os.kill(pid, signal.SIGKILL)
    return operation


def killed_and_asked(stage: Stage) -> str:
    """The provider recognises repeats and can be asked: settled without a person."""
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=_THINKING_MS)
    stage.installation.start_worker()

    effect = stage.await_state(_lose_worker_after_applied(stage), "succeeded")

    require(effect.lookups.count() == 1, f"the provider was asked {effect.lookups.count()} times")
    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return "settled by one look-up; one request, applied once"


def killed_and_nobody_to_ask(stage: Stage) -> str:
    """The provider neither recognises repeats nor can be asked: a person, and no second request."""
    stage.provider_can(recognise_repeats=False, look_up=False, delay_ms=_THINKING_MS)
    stage.installation.start_worker()

    operation = _lose_worker_after_applied(stage)
    stage.await_state(operation, "needs_reconciliation")
    stage.ring(operation, 5)
    stage.await_sweeps()
    stage.await_quiet()

    require(stage.effect(operation).state == "needs_reconciliation", "it left the desk of a person by itself")
    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return "waits for a person; five more bells and two sweeps sent nothing"


def late_result(stage: Stage) -> str:
    """A process that stood still past its lease brings a result that nobody waits for any more."""
    stage.provider_can(recognise_repeats=False, look_up=False, delay_ms=_THINKING_MS)
    stage.installation.start_worker()

    operation = stage.authorize()
    pid = stage.stop_holder(operation)
    closed = stage.await_state(operation, "needs_reconciliation")
    os.kill(pid, signal.SIGCONT)
    seen(lambda: stage.attempts(operation)[0].late, "the late result on its attempt")

    (attempt,) = stage.attempts(operation)
    effect = stage.effect(operation)
    require(attempt.outcome == "unknown", f"the late result made the outcome {attempt.outcome}")
    require((effect.state, effect.fence) == (closed.state, closed.fence), f"the late result made it {effect.state}")
    return "kept as evidence on its attempt; the effect still waits for a person"


DRILLS = (
    Drill(
        "killed-and-asked",
        "A worker is killed after the provider applied a payment, before it is recorded; the provider can be asked.",
        killed_and_asked,
    ),
    Drill(
        "killed-and-nobody-to-ask",
        "A worker is killed after a payment was applied; the provider neither recognises repeats nor can be asked.",
        killed_and_nobody_to_ask,
    ),
    Drill(
        "late-result",
        "A worker stands still until its lease is over and closed, and then brings its result.",
        late_result,
    ),
)
