"""The pages of the desk."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard import agent_responses, views

app_name = "dashboard"
urlpatterns = [
    path("", views.inbox, name="inbox"),
    path("calls/<slug:public_id>/", views.call, name="call"),
    path("calls/<slug:public_id>/preview/", views.preview, name="preview"),
    path("agent-responses/", agent_responses.log, name="agent_responses"),
    path("login/", views.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("favicon.svg", views.favicon, name="favicon"),
]
