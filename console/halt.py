"""The halt as pages and the API tell it: whether it is on, whether it is in force, and what is still under way outside.

What was begun before a halt cannot be stopped, only counted. Each part that has something under way counts its own.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from outbox.models import Effect
from outbox.states import EffectState
from runs.chain import rfc3339
from runs.halting import Halt, read_halt
from runs.models import Person
from runs.states import Role

JSON = Any


def _effects_in_flight() -> int:
    """Effects of which something may have left and whose outcome is not known."""
    return Effect.objects.filter(state=EffectState.DISPATCHING, may_have_left=True).count()


#: Counts of what is under way outside.
IN_FLIGHT: list[Callable[[], int]] = [_effects_in_flight]


def in_flight() -> int:
    """How much is under way outside and will end as it ends."""
    return sum(count() for count in IN_FLIGHT)


def tell_halt(halt: Halt | None) -> dict[str, JSON]:
    """The halt as the API shows it."""
    if halt is None:
        return {"on": False, "in_force": True, "since": None, "by": None, "reason": None, "in_flight": in_flight()}
    return {
        "on": True,
        "in_force": halt.in_force,
        "since": rfc3339(halt.since),
        "by": halt.by,
        "reason": halt.reason,
        "in_flight": in_flight(),
    }


def banner(request: HttpRequest) -> Mapping[str, Any]:
    """Context processor for whoever is signed in: `halt`, while one is on; `halt_switch`, its address, for admins."""
    person = getattr(request, "user", None)  # a request refused early has none
    if not isinstance(person, Person):
        return {}
    switch = {"halt_switch": reverse("halt:switch")} if Role.ADMIN in person.roles else {}
    halt = read_halt()
    if halt is None:
        return switch
    told = {"since": halt.since, "by": halt.by, "reason": halt.reason, "in_force": halt.in_force}
    return {**switch, "halt": {**told, "in_flight": in_flight()}}
