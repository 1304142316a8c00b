"""Where everything answers."""

from django.contrib import admin
from django.urls import include, path

from retrycontract.api.routes import api

handler400 = "dashboard.shared.forms.unreadable"
handler500 = "dashboard.shared.forms.failed"

urlpatterns = [
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls")),
]
