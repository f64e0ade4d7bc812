"""The switch that halts the installation, for admins: in force when the page answers."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.halt import in_flight
from console.people_forms import AskedForm
from console.rendering import render_screen
from console.web.asking import ask, onward
from console.web.gate import signed_in
from runs.halting import HaltRequest, read_halt, switch_halt
from runs.permissions import require_admin
from runs.requests import Answer
from runs.values import Principal


@require_http_methods(["GET", "POST"])
@signed_in
def switch(request: HttpRequest, principal: Principal) -> HttpResponse:
    require_admin(principal)
    form = AskedForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        on = request.POST.get("on") == "yes"

        def act() -> Answer:
            return switch_halt(principal, HaltRequest(form.cleaned_data["id"], on, form.cleaned_data["reason"]))

        asked = ask(form, act)
        words = f"Halted, in force. {in_flight()} in flight will end as they end." if on else "It goes on."
        if onwards := onward(request, asked, words, reverse("halt:switch")):
            return onwards
        status = asked.status
    context = {"form": form, "now": read_halt(), "in_flight": in_flight()}
    return render_screen(request, "halt/switch.html", context, status=status)
