"""Every URL of the console; each screen and each resource brings its own list."""

from django.urls import include, path

from console import health, metrics
from console.admin import records
from console.api.schema import docs

handler400 = handler403 = handler404 = "console.refusals.not_accepted"
handler500 = "console.refusals.failed"

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
    path("api/v1/", include("console.api.urls")),
    path("api/docs/", docs),
    path("problems/", include("console.web.problems")),
    path("accounts/", include("allauth.urls")),
    path("admin/", records.urls),
    path("", include("console.web.urls")),
]
