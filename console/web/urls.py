"""The addresses of the screens. Each screen has a namespace of its own name."""

from django.urls import URLPattern, URLResolver, include, path

from console.web import escalations, inbox, runs, sending

RUNS = [
    path("", runs.list_runs, name="list"),
    path("<str:key>/", runs.detail, name="detail"),
    path("<str:key>/json/", runs.raw, name="raw"),
    path("<str:key>/ledger/", runs.ledger, name="ledger"),
    path("<str:key>/ledger/<int:seq>/", runs.raw_entry, name="entry"),
    path("<str:key>/chain/", runs.chain, name="chain"),
    path("<str:key>/conflicts/<str:ref>/", runs.raw_conflict, name="conflict"),
    path("<str:key>/commands/<str:name>/", runs.command, name="command"),
]

ESCALATIONS = [
    path("<str:ref>/", escalations.detail, name="detail"),
    path("<str:ref>/json/", escalations.raw, name="raw"),
    path("<str:ref>/resolutions/", escalations.resolve, name="resolve"),
    path("<str:ref>/claims/", escalations.claim, name="claim"),
    path("<str:ref>/claims/release/", escalations.release, name="release"),
    path("<str:ref>/claims/hand-over/", escalations.hand_over, name="hand-over"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(([path("", inbox.show, name="list")], "inbox"))),
    path("runs/", include((RUNS, "runs"))),
    path("escalations/", include((ESCALATIONS, "escalations"))),
    path("sending/", include(([path("", sending.banner, name="banner")], "sending"))),
    path("", include("console.web.review_urls")),
    path("", include("console.web.admin_urls")),
]
