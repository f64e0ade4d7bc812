"""Drills in which the provider answers badly, late, or not at all."""

from console.drills.catalogue import Drill
from console.drills.observing import require, seen
from console.drills.stage import Stage

_THROTTLED_PAYMENTS = 4
_THROTTLINGS = 6
#: Past the time limit of an attempt, and before a look-up could prove that nothing happened.
_LATE_MS = 5000
#: Room for one replay: what an attempt may take, the margin that is kept, and a little more.
_REMEMBERS_SECONDS = 4 + 120 + 5


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


def late(stage: Stage) -> str:
    """The provider applies a payment after it was given up, and nothing is sent again."""
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=_LATE_MS)
    stage.installation.start_worker()

    operation = stage.authorize()
    effect = stage.await_state(operation, "succeeded")

    (attempt,) = stage.attempts(operation)
    require(attempt.outcome == "unknown", f"the attempt was taken for {attempt.outcome}")
    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return f"given up in time, found by look-up number {effect.lookups.count()}; one request"


def away(stage: Stage) -> str:
    """Nobody listens: certainly nothing was sent, so that sending again is safe everywhere."""
    door = stage.installation.start_proxy("door", stage.provider.port)
    stage.provider_can(recognise_repeats=False, look_up=False)
    stage.declare(recognise_repeats=False, look_up=False, base=door.base)
    stage.installation.kill(door.name)
    stage.installation.start_worker()
    operation = stage.authorize()
    seen(lambda: [attempt.outcome for attempt in stage.attempts(operation)] == ["never-left"], "an attempt in vain")
    stage.installation.start_proxy(door.name, stage.provider.port, port=door.port)
    stage.await_state(operation, "succeeded")

    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return f"sent in attempt {len(stage.attempts(operation))}; one request, though repeats are not recognised"


def forgetful(stage: Stage) -> str:
    """Whoever will have forgotten the key by then is not sent it again."""
    stage.provider_can(recognise_repeats=True, look_up=False, mode="apply-then-drop")
    stage.declare(recognise_repeats=True, look_up=False, remembers_seconds=_REMEMBERS_SECONDS)
    stage.installation.start_worker()

    operation = stage.authorize()
    effect = stage.await_state(operation, "needs_reconciliation")
    sent = len(stage.requests())
    stage.provider.behave(dedupe=False, lookup=False)
    stage.ring(operation, 5)
    stage.await_sweeps()

    require(sent > 1, "it was not sent again while the provider knew the key")
    require(len(stage.requests()) == sent, "it was sent again after the provider had forgotten the key")
    return f"{sent} requests under one key while it was known, then none; a person's: {effect.because}"


DRILLS = (
    Drill("answer-dropped", "The provider applies a payment and cuts the connection.", dropped),
    Drill(
        "answer-halved", "The provider applies a payment and cuts the connection in the middle of its answer.", halved
    ),
    Drill("answer-late", "The provider applies a payment only after the time limit.", late),
    Drill("provider-away", "Nobody listens where a payment is to be sent.", away),
    Drill("provider-forgets", "The provider remembers a key for little longer than a replay takes.", forgetful),
    Drill("no-answer", "The provider takes a payment, does nothing and never answers.", hanging),
    Drill("throttled", "The provider keeps asking everybody to wait.", throttled),
)
