"""The addresses of the screens about rules, authority and what happened: each with a namespace of its own name."""

from django.urls import URLPattern, URLResolver, include, path

from console import saved_filters
from console.web import (
    account,
    agents,
    audit,
    confirmations,
    destinations,
    dry_runs,
    halt,
    insights,
    people,
    policies,
    workflows,
)

WORKFLOWS = [
    path("", workflows.list_workflows, name="list"),
    path("<slug:slug>/", workflows.detail, name="detail"),
    path("<slug:slug>/policy/", policies.show, name="policy"),
    path("<slug:slug>/policy/change/", policies.change, name="policy-change"),
    path("<slug:slug>/dry-run/", dry_runs.show, name="dry-run"),
    path("<slug:slug>/revisions/", workflows.revisions, name="revisions"),
    path("<slug:slug>/revisions/<int:number>/", workflows.revision, name="revision"),
]

CONFIRMATIONS = [
    path("", confirmations.list_waiting, name="list"),
    path("<str:ref>/confirm/", confirmations.confirm_step, name="confirm"),
    path("<str:ref>/withdraw/", confirmations.withdraw_step, name="withdraw"),
]

ACCOUNT = [
    path("", account.overview, name="overview"),
    path("notifications/", account.change_choice, name="notifications"),
]

AUDIT = [
    path("", audit.list_lines, name="list"),
    path("audit.csv", audit.export_csv, name="csv"),
    path("audit.jsonl", audit.export_jsonl, name="jsonl"),
]

FILTERS = [
    path("save/", saved_filters.save, name="save"),
    path("remove/", saved_filters.remove, name="remove"),
]

# No name of anything begins with a plus sign.
PEOPLE = [
    path("", people.list_all, name="list"),
    path("+new/", people.create, name="create"),
    path("<str:username>/", people.detail, name="detail"),
    path("<str:username>/change/", people.change, name="change"),
    path("<str:username>/suspension/", people.suspend, name="suspend"),
    path("<str:username>/password/", people.new_password, name="password"),
]

AGENTS = [
    path("", agents.list_all, name="list"),
    path("+new/", agents.create, name="create"),
    path("<str:name>/", agents.detail, name="detail"),
    path("<str:name>/change/", agents.change, name="change"),
    path("<str:name>/suspension/", agents.suspend, name="suspend"),
    path("<str:name>/token/", agents.rotate, name="rotate"),
]

DESTINATIONS = [
    path("", destinations.list_all, name="list"),
    path("+new/", destinations.create, name="create"),
    path("<str:name>/", destinations.detail, name="detail"),
    path("<str:name>/change/", destinations.change, name="change"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("confirmations/", include((CONFIRMATIONS, "confirmations"))),
    path("people/", include((PEOPLE, "people"))),
    path("agents/", include((AGENTS, "agents"))),
    path("destinations/", include((DESTINATIONS, "destinations"))),
    path("halt/", include(([path("", halt.switch, name="switch")], "halt"))),
    path("insights/", include(([path("", insights.overview, name="overview")], "insights"))),
    path("account/", include((ACCOUNT, "account"))),
    path("audit/", include((AUDIT, "audit"))),
    path("saved-filters/", include((FILTERS, "saved-filters"))),
    path("workflows/", include((WORKFLOWS, "workflows"))),
]
