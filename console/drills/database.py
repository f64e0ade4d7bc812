"""Drills in which the database ends at once, or goes back in time."""

import io
import os
import signal

from django.core.management import call_command

from console.drills.catalogue import Drill
from console.drills.observing import require
from console.drills.stage import DRILL, Stage
from console.home import APP_ROLE, DATABASE
from outbox.models import Effect
from runs.models import Installation, LedgerEntry

_PAYMENTS = 3


def crashed(stage: Stage) -> str:
    """The database ends while payments are being sent, and is back only after the provider has applied them."""
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=1000)
    stage.installation.start_worker()
    for _ in range(_PAYMENTS):
        stage.authorize()
    stage.await_requests(2)
    acknowledged = set(LedgerEntry.objects.values_list("pk", flat=True))
    stage.installation.crash_database()
    stage.await_applied(2)
    stage.installation.start_services()

    lost = acknowledged - set(LedgerEntry.objects.values_list("pk", flat=True))
    require(not lost, f"{len(lost)} acknowledged entries are gone")
    for operation in stage.operations:
        stage.await_state(operation, "succeeded")
    return f"{len(acknowledged)} ledger entries all there, all {_PAYMENTS} payments settled"


def result_kept(stage: Stage) -> str:
    """The worker is cut off from the database while it learns two answers; one process lives to record its own."""
    home, name = stage.installation.home, "database-proxy"
    socket = home.sockets / ".s.PGSQL.5432"
    proxy = stage.installation.start_proxy(name, socket)
    through = f"postgres://{APP_ROLE}:{home.secrets[APP_ROLE]}@127.0.0.1:{proxy.port}/{DATABASE}"
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=1500)
    stage.installation.start_worker("--concurrency", "4", DATABASE_URL=through)
    kept, lost = stage.authorize(), stage.authorize()
    stage.await_started(kept)
    victim = stage.await_started(lost)
    stage.await_requests(2)
    stage.installation.kill(name)
    stage.await_applied(2)
    os.kill(victim, signal.SIGKILL)
    require(stage.effect(kept).lease_owner, "the answer was recorded before the database was out of reach")
    stage.installation.start_proxy(name, socket, port=proxy.port)
    for operation in stage.operations:
        stage.await_state(operation, "succeeded")

    outcomes = [attempt.outcome for operation in (kept, lost) for attempt in stage.attempts(operation)]
    require(outcomes == ["accepted", "unknown"], f"the attempts were taken for {' and '.join(map(str, outcomes))}")
    require(len(stage.requests()) == 2, f"the provider was sent {len(stage.requests())} requests")
    return "one result was kept in memory and recorded; the other died with its process, and a look-up settled it"


def restored(stage: Stage) -> str:
    """A backup from the middle of a dispatch is put back after the world went on."""
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=1500)
    stage.installation.start_worker()
    in_flight = stage.authorize()
    pid = stage.stop_holder(in_flight)
    file = str(stage.installation.home.root / "drill.backup")
    _command("backup", file)
    os.kill(pid, signal.SIGCONT)
    stage.await_state(in_flight, "succeeded")
    stage.provider.behave()
    later = stage.authorize()
    stage.forgotten.add(stage.await_state(later, "succeeded").payload_sha256)
    stage.installation.stop("worker")

    _command("restore", file, reason=DRILL.reason)

    require(Installation.objects.get(id=1).is_halted, "the restored installation is not halted")
    require(not Effect.objects.filter(pk=later).exists(), "the backup knows what was done after it")
    _require_quiet_about(stage, in_flight, "while it is halted")
    _command("halt", "off", reason=DRILL.reason)
    _require_quiet_about(stage, in_flight, "after the halt")
    stage.await_state(stage.authorize(), "succeeded")
    return "halted, the payment in flight quarantined and not sent again, not even after the halt; new work goes out"


def _command(*arguments: str, **options: str) -> None:
    """One of the commands an operator gives; what it says to them is no part of the report."""
    call_command(*arguments, **options, stdout=io.StringIO(), stderr=io.StringIO())


def _require_quiet_about(stage: Stage, operation: str, when: str) -> None:
    """Neither bells nor sweeps get a quarantined effect sent."""
    before = len(stage.requests())
    if not stage.installation.has("worker"):
        stage.installation.start_worker()
    stage.ring(operation, 5)
    stage.await_sweeps()
    stage.await_quiet()
    require(stage.effect(operation).quarantined, f"{operation} is not quarantined {when}")
    require(len(stage.requests()) == before, f"something was sent {when}")


DRILLS = (
    Drill("database-crashed", "The database ends at once while payments are being sent.", crashed),
    Drill("result-kept", "A worker is cut off from the database while it learns what the provider did.", result_kept),
    Drill("backup-restored", "A backup with a payment in flight is put back after the world went on.", restored),
)
