"""Drills in which a worker stands still while it sends, or is replaced."""

import os
import signal

from console.drills.catalogue import Drill
from console.drills.observing import require
from console.drills.stage import Stage

#: Long enough to stop a process while the provider has not answered yet.
_THINKING_MS = 1500


def late_result(stage: Stage) -> str:
    """A process that stood still past its lease brings a result that nobody waits for any more."""
    stage.provider_can(recognise_repeats=False, look_up=False, delay_ms=_THINKING_MS)
    stage.installation.start_worker()

    operation = stage.authorize()
    pid = stage.stop_holder(operation)
    closed = stage.await_state(operation, "needs_reconciliation")
    os.kill(pid, signal.SIGCONT)
    stage.await_late(operation)

    (attempt,) = stage.attempts(operation)
    effect = stage.effect(operation)
    require(attempt.outcome == "unknown", f"the late result made the outcome {attempt.outcome}")
    require((effect.state, effect.fence) == (closed.state, closed.fence), f"the late result made it {effect.state}")
    return "kept as evidence on its attempt; the effect still waits for a person"


def paused_before_sending(stage: Stage) -> str:
    """Processes stand still between the last check of their lease and the first byte, until it is over."""
    door = stage.installation.start_proxy("door", stage.provider.port, queue=0)
    stage.installation.start_worker("--concurrency", "4")
    stage.provider_can(recognise_repeats=True, look_up=True)
    with door.shut():
        stage.declare(recognise_repeats=True, look_up=True, base=door.base)
        recognised = stage.authorize()
        stage.declare(recognise_repeats=False, look_up=False, base=door.base)
        unrecognised = stage.authorize()
        paused = [stage.await_started(operation) for operation in stage.operations]
        for pid in paused:
            os.kill(pid, signal.SIGSTOP)
        require(not stage.requests(), "something was sent through a shut door")
    stage.await_state(recognised, "succeeded")
    stage.await_state(unrecognised, "needs_reconciliation")
    for pid in paused:
        os.kill(pid, signal.SIGCONT)
    for operation in stage.operations:
        stage.await_late(operation)

    sent = len(stage.sent(recognised)), len(stage.sent(unrecognised))
    require(sent[0] <= 2 and sent[1] <= 1, f"sent {sent[0]} and {sent[1]} times")
    return (
        f"with repeats recognised {sent[0]} requests, applied once; without, {sent[1]}, and a person has to find out; "
        "what the paused processes brought in the end is kept as evidence"
    )


_DEPLOYMENTS = (signal.SIGTERM, signal.SIGQUIT, signal.SIGTERM)
_LOAD = 16


def deployed(stage: Stage) -> str:
    """Workers are replaced again and again in the middle of their work, politely and less so."""
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=700)
    stage.installation.start_worker()
    for _ in range(_LOAD):
        stage.authorize()
    for number in _DEPLOYMENTS:
        before = len(stage.requests())
        stage.await_requests(before + 1)
        stage.installation.stop("worker", number)
        stage.installation.start_worker()

    for operation in stage.operations:
        stage.await_state(operation, "succeeded")
    require(not stage.claimed(), f"still claimed: {', '.join(stage.claimed())}")
    lost = sum(attempt.outcome == "unknown" for operation in stage.operations for attempt in stage.attempts(operation))
    return f"{len(_DEPLOYMENTS)} workers replaced, all {_LOAD} payments sent, {lost} of them asked about, none claimed"


DRILLS = (
    Drill(
        "late-result",
        "A worker stands still until its lease is over and closed, and then brings its result.",
        late_result,
    ),
    Drill(
        "paused-before-sending",
        "Processes stand still after the last check of their lease and before the first byte, until it is over.",
        paused_before_sending,
    ),
    Drill("deployed", "Workers are replaced in the middle of their work, by SIGTERM and SIGQUIT.", deployed),
)
