"""`/halt/`: stopping everything that could lead to an effect, and letting it go on."""

from dataclasses import dataclass
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, ref
from console.halt import in_flight, tell_halt
from console.rules import Flag
from console.shapes import Evidence, Id, Reason
from runs.halting import HaltRequest, read_halt, switch_halt
from runs.permissions import require_admin


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltBody:
    """Whether the halt should be on, and why."""

    id: Id
    on: Annotated[bool, Flag()]
    reason: Reason
    evidence: Evidence = ()


class HaltView(ApiView):
    """The halt of the installation."""

    @documented("halt", answers={200: ref("HaltState")})
    def get(self, request: Request) -> HttpResponse:
        """Whether the halt is on, since when, by whom and why."""
        return answer(tell_halt(read_halt()))

    @documented("halt", body=HaltBody, answers={200: ref("HaltAnswer")})
    def post(self, request: Request) -> HttpResponse:
        """Switch the halt. In force with this answer; what was under way outside before is counted, not stopped."""
        body = self.read(HaltBody, allowed=require_admin)
        given = switch_halt(self.principal, HaltRequest(body.id, body.on, body.reason, body.evidence))
        told = {"on": body.on, "in_force": True, "in_flight": in_flight()}
        return answer(told, replayed=given.is_replay)
