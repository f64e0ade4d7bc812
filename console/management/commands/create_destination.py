"""`manage.py create_destination`: a place effects may go to, or a new revision of one; unchanged, nothing happens."""

from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import replace
from typing import Any

from approvals.adapters import ABILITIES
from approvals.destinations import Terms, newest_revision, register_destination, require_acceptable, terms_of
from console.management.acting import ActingCommand, Plan
from runs.administration import By
from runs.loading.forms import DURATION, seconds_of

#: Options that are on or off, with the column each sets.
SWITCHES = {
    "--idempotency-key": ("recognises_repeats", "the provider recognises a repeated idempotency key"),
    "--matches-payload": ("compares_payloads", "it refuses a known key with another payload"),
    "--unavailable-means-throttled": ("unavailable_means_throttled", "503 with Retry-After means nothing was done"),
}


class Command(ActingCommand):
    help = "Register a destination, or a new revision of one. What is not given stays as it is, or has its default."
    needs_reason = False

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--adapter", required=True, choices=list(ABILITIES))
        parser.add_argument("--url", required=True, help="where effects are sent")
        parser.add_argument("--lookup-url", help="asked whether a key happened")
        parser.add_argument("--cancel-url", help="asked to take an effect back")
        for option, (column, help) in SWITCHES.items():
            parser.add_argument(option, dest=column, type=_switch, metavar="on|off", help=help)
        parser.add_argument("--key-retention", dest="key_retention_seconds", type=_seconds, metavar="24h")
        parser.add_argument("--settle-after", dest="settle_after_seconds", type=_seconds, metavar="10m")
        parser.add_argument("--max-in-flight", type=int, metavar="N")
        parser.add_argument("--signing-secret-env", metavar="VAR", help="the variable that holds the signing secret")

    def plan(self, options: dict[str, Any]) -> Plan:
        name = options["name"]
        given = {column: options[column] for column in Terms.__dataclass_fields__ if options[column] is not None}
        newest = newest_revision(name)
        terms = replace(terms_of(newest), **given) if newest else Terms(**given)
        require_acceptable(name, terms)

        def act(by: By) -> str:
            registered = register_destination(name, terms, by)
            return f"{name} revision {registered.revision}{'' if registered.created else ', unchanged'}"

        if newest is not None and terms_of(newest) == terms:
            return Plan(f"leave {name} as it is", [], act)
        what = f"change {name}" if newest else f"register {name}"
        return Plan(what, [f"effects may go to {terms.url}"], act)


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ArgumentTypeError("write on or off")
    return text == "on"


def _seconds(text: str) -> int:
    if not DURATION.fits(text):
        raise ArgumentTypeError(f"write {DURATION.words}")
    return seconds_of(text)
