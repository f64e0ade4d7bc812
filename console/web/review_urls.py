"""The addresses of the screens about consent and effects: each with a namespace of its own name."""

from django.urls import URLPattern, URLResolver, include, path

from console.web import effect_list, effects, freezes, frozen_bytes, remediations, repair_plans, snapshots, standing

SNAPSHOTS = [
    path("<str:number>/", snapshots.detail, name="detail"),
    path("<str:number>/decisions/", snapshots.decide, name="decide"),
    path("<str:number>/decisions/<str:ref>/revocations/", snapshots.revoke, name="revoke"),
    path("<str:number>/authorizations/", snapshots.authorize, name="authorize"),
    path("<str:number>/payload/", frozen_bytes.payload, name="payload"),
    path("<str:number>/manifest/", frozen_bytes.manifest, name="manifest"),
    path("<str:number>/download/<str:what>/", frozen_bytes.download, name="download"),
    path("<str:number>/artifacts/<str:slot>/", frozen_bytes.artifact, name="artifact"),
]

EFFECTS = [
    path("", effect_list.list_effects, name="list"),
    path("<str:number>/", effects.detail, name="detail"),
    path("<str:number>/lookups/", effects.look_up, name="look-up"),
    path("<str:number>/verdicts/", effects.give_verdict, name="verdict"),
    path("<str:number>/repairs/", effects.order_repair, name="repair"),
    path("<str:number>/confirmations/<str:ref>/", effects.confirm, name="confirm"),
]

REPAIR_PLANS = [
    path("", repair_plans.create, name="create"),
    path("<str:ref>/", repair_plans.detail, name="detail"),
    path("<str:ref>/applications/", repair_plans.apply, name="apply"),
]

REMEDIATIONS = [
    path("", remediations.list_remediations, name="list"),
    path("<str:ref>/", remediations.detail, name="detail"),
    path("<str:ref>/steps/", remediations.take_step, name="step"),
]

STANDING = [
    path("", standing.list_standing, name="list"),
    path("given/", standing.give, name="give"),
    path("<str:ref>/revocations/", standing.revoke, name="revoke"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/", include(([path("<str:key>/freezes/<str:action>/", freezes.freeze, name="detail")], "freezes"))),
    path("snapshots/", include((SNAPSHOTS, "snapshots"))),
    path("standing-approvals/", include((STANDING, "standing"))),
    path("effects/", include((EFFECTS, "effects"))),
    path("repair-plans/", include((REPAIR_PLANS, "repair-plans"))),
    path("remediations/", include((REMEDIATIONS, "remediations"))),
]
