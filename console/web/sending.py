"""The banner by itself, asked for again by every page that shows it: so it goes away when sending goes on."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from console.rendering import render_screen
from console.web.gate import signed_in
from runs.values import Principal


@require_GET
@signed_in
def banner(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The banner while something is missing, else nothing."""
    return render_screen(request, "components/_not_sending.html", {})
