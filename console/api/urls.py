"""The addresses of the API. Each resource brings its own list; ids that cannot be one are not found."""

from django.urls import path, register_converter

from console.api import (
    commands,
    conflicts,
    escalations,
    events,
    ledger,
    runs,
    schema,
    sessions,
    workflows,
)


class RunKey:
    """The key of a run."""

    regex = r"[A-Za-z0-9._-]{1,64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(RunKey, "run")

app_name = "api"
urlpatterns = [
    path("schema/", schema.schema, name="schema"),
    path("session/", sessions.SessionView.as_view()),
    path("session/reauthentication/", sessions.ReauthenticationView.as_view()),
    path("workflows/", workflows.WorkflowsView.as_view()),
    path("workflows/<slug:slug>/", workflows.WorkflowView.as_view()),
    path("workflows/<slug:slug>/dry-runs/", workflows.DryRunsView.as_view()),
    path("runs/", runs.RunsView.as_view()),
    path("runs/<run:key>/", runs.RunView.as_view()),
    path("runs/<run:key>/next/", runs.NextView.as_view()),
    path("runs/<run:key>/ledger/", ledger.LedgerView.as_view()),
    path("runs/<run:key>/commands/", commands.send),
    path("runs/<run:key>/commands/<path:command_id>/", commands.CommandView.as_view()),
    path("events/", events.EventsView.as_view()),
    path("conflicts/", conflicts.ConflictsView.as_view()),
    path("conflicts/<str:conflict>/", conflicts.ConflictView.as_view()),
    path("escalations/", escalations.EscalationsView.as_view()),
    path("escalations/<str:escalation>/", escalations.EscalationView.as_view()),
]
