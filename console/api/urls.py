"""The addresses of the API. Each resource brings its own list; ids that cannot be one are not found."""

from django.urls import include, path, register_converter

from console.api import (
    artifacts,
    commands,
    conflicts,
    effects,
    escalations,
    events,
    ledger,
    repair_plans,
    runs,
    schema,
    sessions,
    snapshots,
    standing,
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
    path("escalations/<str:escalation>/claims/", escalations.ClaimsView.as_view()),
    path("escalations/<str:escalation>/resolutions/", escalations.ResolutionsView.as_view()),
    path("runs/<run:key>/artifacts/", artifacts.ArtifactsView.as_view()),
    path("artifacts/<str:artifact>/", artifacts.ArtifactView.as_view()),
    path("artifacts/<str:artifact>/content/", artifacts.ArtifactContentView.as_view()),
    path("runs/<run:key>/snapshots/", snapshots.SnapshotsView.as_view()),
    path("snapshots/<str:snapshot>/", snapshots.SnapshotView.as_view()),
    path("snapshots/<str:snapshot>/decisions/", snapshots.DecisionsView.as_view()),
    path("decisions/<str:decision>/revocations/", snapshots.RevocationsView.as_view()),
    path("runs/<run:key>/authorizations/", snapshots.AuthorizationsView.as_view()),
    path("standing-approvals/", standing.StandingApprovalsView.as_view()),
    path("standing-approvals/<str:standing_approval>/revocations/", standing.StandingRevocationsView.as_view()),
    path("effects/", effects.EffectsView.as_view()),
    path("effects/<str:operation_id>/", effects.EffectView.as_view()),
    path("effects/<str:operation_id>/lookups/", effects.LookupsView.as_view()),
    path("effects/<str:operation_id>/verdicts/", effects.VerdictsView.as_view()),
    path("effects/<str:operation_id>/repairs/", effects.RepairsView.as_view()),
    path("repair-plans/", repair_plans.RepairPlansView.as_view()),
    path("repair-plans/<str:plan>/", repair_plans.RepairPlanView.as_view()),
    path("repair-plans/<str:plan>/applications/", repair_plans.ApplicationsView.as_view()),
    path("remediations/", effects.RemediationsView.as_view()),
    path("remediations/<str:remediation>/steps/", effects.RemediationStepsView.as_view()),
    path("", include("console.api.admin_urls")),
]
