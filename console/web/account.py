"""One's own account: who one is here, and where one wants to be told of what waits."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.rendering import render_screen
from console.web.gate import signed_in
from console.web.paging import see_other
from runs.errors import InvalidParams
from runs.preferences import Choice, choose, read_choice
from runs.states import Role
from runs.values import Principal


class ChoiceForm(forms.Form):
    """Whether to be told of new cases and reviews by e-mail, and where."""

    by_email = forms.BooleanField(
        required=False, label="Tell me once, by e-mail, of each new case or review that waits for me"
    )
    address = forms.EmailField(
        required=False,
        label="Address",
        help_text="Used for nothing else. The message holds a link and no value of any record.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


@require_GET
@signed_in
def overview(request: HttpRequest, principal: Principal) -> HttpResponse:
    choice = read_choice(principal.id)
    return _page(request, principal, ChoiceForm(initial={"by_email": choice.by_email, "address": choice.address}))


@require_POST
@signed_in
def change_choice(request: HttpRequest, principal: Principal) -> HttpResponse:
    form = ChoiceForm(request.POST)
    if form.is_valid():
        try:
            choose(principal, Choice(form.cleaned_data["address"], form.cleaned_data["by_email"]))
        except InvalidParams as refusal:
            form.add_error("address", refusal.errors[0].detail)
    if form.errors:
        return _page(request, principal, form, status=422)
    messages.success(request, "Kept.")
    return see_other(reverse("account:overview"))


def _page(request: HttpRequest, principal: Principal, form: ChoiceForm, status: int = 200) -> HttpResponse:
    context = {
        "roles": sorted(role.value for role in principal.roles),
        "groups": sorted(principal.groups),
        "is_told": not principal.roles.isdisjoint({Role.OPERATOR, Role.REVIEWER}),
        "form": form,
    }
    return render_screen(request, "account/overview.html", context, status=status)
