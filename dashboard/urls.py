"""The pages of the desk."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard.pages import agent_responses, call, components, group, inbox, live, login, second_factor, settings, work

app_name = "dashboard"
urlpatterns = [
    path("", inbox.inbox, name="inbox"),
    path("calls/<slug:public_id>/", call.call, name="call"),
    path("calls/<slug:public_id>/preview/", call.preview, name="preview"),
    path("calls/<slug:public_id>/claim/", work.claim, name="claim"),
    path("calls/<slug:public_id>/snooze/", work.snooze, name="snooze"),
    path("calls/<slug:public_id>/group/", group.group, name="group"),
    path("next/", work.take_next, name="next"),
    path("agent-responses/", agent_responses.log, name="agent_responses"),
    path("live/", live.live, name="live"),
    path("settings/", settings.settings, name="settings"),
    path("settings/second-factor/", second_factor.second_factor, name="second_factor"),
    path("components/", components.components, name="components"),
    path("login/", login.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("favicon.svg", login.favicon, name="favicon"),
]
