"""Drills in which the provider answers badly, late, or not at all."""

from console.drills.catalogue import Drill
from console.drills.observing import require
from console.drills.stage import Stage

_THROTTLED_PAYMENTS = 4
_THROTTLINGS = 6


def _lost(stage: Stage, mode: str) -> str:
    """The provider applies a payment, and its answer does not arrive whole."""
    stage.provider_can(recognise_repeats=True, look_up=True, mode=mode, count=1)
    stage.installation.start_worker()

    operation = stage.authorize()
    stage.await_state(operation, "succeeded")

    (attempt,) = stage.attempts(operation)
    require(attempt.outcome == "unknown", f"the attempt was taken for {attempt.outcome}")
    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return "taken for unknown, settled by a look-up; one request"


def dropped(stage: Stage) -> str:
    """The connection is cut instead of an answer."""
    return _lost(stage, "apply-then-drop")


def halved(stage: Stage) -> str:
    """The connection is cut in the middle of the answer."""
    return _lost(stage, "half-response")


def hanging(stage: Stage) -> str:
    """No answer and nothing applied: sent again under the same key, once that is known to be safe."""
    stage.provider_can(recognise_repeats=True, look_up=True, mode="hang", count=1)
    stage.installation.start_worker()

    operation = stage.authorize()
    stage.await_state(operation, "succeeded")

    first, second = stage.attempts(operation)
    keys = {request.key for request in stage.requests()}
    require((first.outcome, second.outcome) == ("unknown", "accepted"), f"{first.outcome}, then {second.outcome}")
    require(len(keys) == 1, f"sent under {len(keys)} keys")
    return "given up at the time limit, not known at the look-up, sent again under the same key"


def throttled(stage: Stage) -> str:
    """Waiting as told uses up no attempts."""
    stage.provider_can(recognise_repeats=True, look_up=True, mode="throttle", count=_THROTTLINGS)
    stage.installation.start_worker()

    for _ in range(_THROTTLED_PAYMENTS):
        stage.authorize()
    used = [stage.await_state(operation, "succeeded").attempts_used for operation in stage.operations]

    require(used == [1] * _THROTTLED_PAYMENTS, f"attempts used: {used}")
    sent, expected = len(stage.requests()), _THROTTLED_PAYMENTS + _THROTTLINGS
    require(sent == expected, f"the provider was sent {sent} requests, not {expected}")
    return f"{_THROTTLINGS} refusals waited out, all {_THROTTLED_PAYMENTS} payments sent, one attempt used for each"


DRILLS = (
    Drill("answer-dropped", "The provider applies a payment and cuts the connection.", dropped),
    Drill(
        "answer-halved", "The provider applies a payment and cuts the connection in the middle of its answer.", halved
    ),
    Drill("no-answer", "The provider takes a payment, does nothing and never answers.", hanging),
    Drill("throttled", "The provider keeps asking everybody to wait.", throttled),
)
