"""The pages of the desk."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard.pages import (
    agent_responses,
    call,
    components,
    group,
    inbox,
    insights,
    live,
    login,
    settings,
    tools,
    work,
)

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
    path("insights/", insights.insights, name="insights"),
    path("insights/<slug:table>.<slug:kind>", insights.export_insights, name="export_insights"),
    path("tools/", tools.tools, name="tools"),
    path("tools/new/", tools.new_tool, name="new_tool"),
    path("tools/<int:pk>/", tools.tool, name="tool"),
    path("tools/<int:pk>/schema/", tools.edit_schema, name="edit_schema"),
    path("tools/<int:pk>/versions/<int:number>/release/", tools.release, name="release_version"),
    path("live/", live.live, name="live"),
    path("settings/", settings.settings, name="settings"),
    path("components/", components.components, name="components"),
    path("login/", login.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("favicon.svg", login.favicon, name="favicon"),
]
