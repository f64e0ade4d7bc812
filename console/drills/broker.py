"""Drills in which the broker loses messages, or delivers them far too often."""

from console.drills.catalogue import Drill
from console.drills.observing import require
from console.drills.stage import Stage

_PAYMENTS = 5
_BELLS = 50


def flushed(stage: Stage) -> str:
    """Every message is lost under a running worker: the sweep finds what is due."""
    stage.provider_can(recognise_repeats=True, look_up=True)
    stage.installation.start_worker()
    with stage.installation.worker_standing_still():
        for _ in range(_PAYMENTS):
            stage.authorize()
        lost = stage.waiting_bells()
        stage.flush_broker()
    require(lost, "no message was in the broker to be lost")

    for operation in stage.operations:
        stage.await_state(operation, "succeeded")

    require(len(stage.requests()) == _PAYMENTS, f"the provider was sent {len(stage.requests())} requests")
    return f"{lost} messages lost, all {_PAYMENTS} payments found by the sweep and sent once"


def bell_repeated(stage: Stage) -> str:
    """One bell fifty times is still one request."""
    stage.provider_can(recognise_repeats=False, look_up=False, delay_ms=300)
    stage.installation.start_worker()
    with stage.installation.worker_standing_still():
        operation = stage.authorize()
        stage.ring(operation, _BELLS)
        rung = stage.waiting_bells()
    require(rung >= _BELLS, f"only {rung} messages were in the broker")

    stage.await_state(operation, "succeeded")
    stage.await_quiet()

    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return f"{rung} messages taken by the worker, one attempt, one request"


DRILLS = (
    Drill("broker-flushed", "The broker is emptied while payments are due.", flushed),
    Drill("bell-repeated", f"The message for one payment is delivered {_BELLS} times.", bell_repeated),
)
