"""Django's admin site, for looking at records only: nothing is added, changed or deleted here, by anybody.

Shows the heads of records, never what agents and people wrote into them: content is for the console's own screens,
which make hidden characters visible and ask who may see what.
"""

from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

APPS = ("runs", "approvals", "outbox")
#: What people choose for themselves is no record.
PERSONAL = {"runs.SavedFilter", "runs.NotificationChoice"}
CONTENT = (models.TextField, models.BinaryField)
SECRETS = {"password", "token_sha256"}
#: Columns of a list; the page of one record has all.
LONGEST_LIST = 8


class Records(AdminSite):
    """The site. Admins and auditors may enter; signing in and out is the console's own."""

    site_header = site_title = "Clearance records"
    index_title = "Records, for looking only"
    site_url = "/"

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send strangers to the console's own entrance, which knows second factors. Raises `PermissionDenied`."""
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next", ""), settings.LOGIN_URL)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # type: ignore[override]  # any answer will do
        return redirect("account_logout")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # type: ignore[override]  # as above
        return redirect("account_change_password")


class RecordAdmin(ModelAdmin):  # type: ignore[type-arg]  # cannot be subscripted when it runs
    """One table, for looking only."""

    actions = None
    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


def heads(model: type[models.Model]) -> list[str]:
    """The columns that are shown of a table: neither content nor secrets."""
    return [
        column.name
        for column in model._meta.concrete_fields
        if not isinstance(column, CONTENT) and column.name not in SECRETS
    ]


def _register(site: AdminSite) -> None:
    """Every table of ours, but those whose rows the site cannot address: they have a key of several columns."""
    for label in APPS:
        for model in apps.get_app_config(label).get_models():
            if model._meta.label not in PERSONAL and not isinstance(model._meta.pk, models.CompositePrimaryKey):
                shown = heads(model)
                columns = {"fields": shown, "list_display": shown[:LONGEST_LIST], "ordering": ["-pk"]}
                site.register(model, type(f"{model.__name__}Admin", (RecordAdmin,), columns))


records = Records()
_register(records)
