"""Drills in which the broker loses messages, or delivers them far too often."""

from console.drills import impatient
from console.drills.catalogue import Drill
from console.drills.observing import require, seen
from console.drills.stage import Stage

_PAYMENTS = 5
_BELLS = 50
_PROCESSES = 4
_RESTARTS = 20


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
    stage.installation.start_worker("--concurrency", str(_PROCESSES))
    with stage.installation.worker_standing_still():
        operation = stage.authorize()
        stage.ring(operation, _BELLS)
        rung = stage.waiting_bells()
    require(rung >= _BELLS, f"only {rung} messages were in the broker")

    stage.await_state(operation, "succeeded")
    stage.await_quiet()

    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return f"{rung} messages taken by {_PROCESSES} processes, one attempt, one request"


def redelivered(stage: Stage) -> str:
    """The broker hands a message out again while its payment is being sent."""
    stage.provider_can(recognise_repeats=False, look_up=False, delay_ms=3000)
    options = ("--concurrency", str(_PROCESSES), "--loglevel", "INFO")
    stage.installation.start_worker(*options, DJANGO_SETTINGS_MODULE=impatient.__name__)
    earlier = stage.taken_bells()

    operation = stage.authorize()
    stage.await_requests(1)
    seen(lambda: stage.taken_bells() > earlier + 1, "a message that was handed out again")
    require(stage.effect(operation).lease_owner, "it was no longer being sent when the message was handed out again")
    stage.await_state(operation, "succeeded")
    stage.await_sweeps()

    require(len(stage.attempts(operation)) == 1, f"{len(stage.attempts(operation))} attempts")
    require(len(stage.requests()) == 1, f"the provider was sent {len(stage.requests())} requests")
    return "the message was handed out again during the delivery; one attempt, one request"


def killed(stage: Stage) -> str:
    """The broker is killed with all it had, and comes back empty."""
    stage.provider_can(recognise_repeats=True, look_up=True)
    stage.installation.start_worker()
    stage.installation.start_application(["web"])
    with stage.installation.worker_standing_still():
        for _ in range(_PAYMENTS - 1):
            stage.authorize()
        stage.installation.lose_broker()
        require(not stage.is_ready(), "the console calls itself ready without a broker")
        stage.authorize()
    stage.installation.start_services()

    for operation in stage.operations:
        stage.await_state(operation, "succeeded")
    seen(stage.is_ready, "the console ready again")
    require(len(stage.requests()) == _PAYMENTS, f"the provider was sent {len(stage.requests())} requests")
    return (
        f"the console said so, and a payment was authorized all the same; all {_PAYMENTS} payments found and sent once"
    )


def restarted(stage: Stage) -> str:
    """The broker is restarted, and every connection to it reset, again and again: the worker comes back."""
    stage.provider_can(recognise_repeats=True, look_up=True)
    home = stage.installation.home
    proxy = stage.installation.start_proxy("broker-proxy", home.sockets / "valkey.sock")
    through = f"redis://:{home.secrets['valkey']}@127.0.0.1:{proxy.port}/0"
    stage.installation.start_worker(REDIS_URL=through)
    for number in range(_RESTARTS):
        stage.authorize()
        stage.installation.kill("valkey" if number % 2 else proxy.name)
        if number % 2:
            stage.installation.start_services()
        else:
            stage.installation.start_proxy(proxy.name, home.sockets / "valkey.sock", port=proxy.port)

    ended = stage.sweep_or_end()
    if ended:  # as `up` does with what ends
        stage.installation.stop("worker")
        stage.installation.start_worker(REDIS_URL=through)
    stage.await_sweeps()
    for operation in stage.operations:
        stage.await_state(operation, "succeeded")
    require(len(stage.requests()) == _RESTARTS, f"the provider was sent {len(stage.requests())} requests")
    came_back = "ended over it and was started again" if ended else "came back by itself"
    return f"{_RESTARTS} interruptions; the worker {came_back}, and all {_RESTARTS} payments were sent once"


def beats(stage: Stage) -> str:
    """The beat dies; then two of them run."""
    stage.provider_can(recognise_repeats=False, look_up=False)
    stage.installation.start_application(["worker"])
    stage.installation.start_application(["beat"])
    stage.await_sweeps(1)
    stage.installation.kill("beat")
    stage.await_quiet()
    with stage.installation.worker_standing_still():
        for _ in range(_PAYMENTS):
            stage.authorize()
        stage.flush_broker()
    require(not stage.hears_sweep(), "the sweep passed without a beat")
    for name in ("beat", "another-beat"):
        file = str(stage.installation.home.logs / name)
        stage.installation.start_application(["beat"], "--schedule", file, called=name)

    for operation in stage.operations:
        stage.await_state(operation, "succeeded")
    stage.await_sweeps(4)
    require(len(stage.requests()) == _PAYMENTS, f"the provider was sent {len(stage.requests())} requests")
    return f"without a beat the pulse stopped; with two all {_PAYMENTS} payments were found and sent once"


DRILLS = (
    Drill("broker-flushed", "The broker is emptied while payments are due.", flushed),
    Drill("broker-killed", "The broker is killed and comes back without anything it had.", killed),
    Drill(
        "broker-restarted",
        "Ten times each, the broker is killed and started again, and all its connections are reset.",
        restarted,
    ),
    Drill("beats", "The beat is killed; then two beats run.", beats),
    Drill("bell-redelivered", "The broker hands a message out again while its payment is being sent.", redelivered),
    Drill("bell-repeated", f"The message for one payment is delivered {_BELLS} times.", bell_repeated),
)
