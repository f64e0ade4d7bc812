"""Every URL of the console; each screen and each resource brings its own list."""

from django.contrib import admin
from django.urls import include, path

handler400 = handler403 = handler404 = "console.refusals.not_accepted"
handler500 = "console.refusals.failed"

urlpatterns = [
    path("problems/", include("console.web.problems")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("", include("console.web.urls")),
]
