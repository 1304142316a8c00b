"""The pages of the desk."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from dashboard import agents, answers, audit, calls, playground, webhooks
from dashboard.account import login, password, provider, settings
from dashboard.call import views as call
from dashboard.call import work
from dashboard.inbox import group_answer as group
from dashboard.inbox import views as inbox
from dashboard.insights import views as insights
from dashboard.shared import components
from dashboard.shared.responses import live
from dashboard.tools import views as tools

app_name = "dashboard"
urlpatterns = [
    path("", inbox.inbox, name="inbox"),
    path("audit/", audit.audit, name="audit"),
    path("audit.<slug:kind>", audit.export_audit, name="export_audit"),
    path("calls/", calls.calls, name="calls"),
    path("find/", calls.find, name="find"),
    path("calls.<slug:kind>", calls.export_calls, name="export_calls"),
    path("calls/<slug:public_id>/", call.call, name="call"),
    path("calls/<slug:public_id>/preview/", call.preview, name="preview"),
    path("calls/<slug:public_id>/claim/", work.claim, name="claim"),
    path("calls/<slug:public_id>/snooze/", work.snooze, name="snooze"),
    path("calls/<slug:public_id>/group/", group.group, name="group"),
    path("undo/<slug:batch>/", call.undo, name="undo"),
    path("next/", work.take_next, name="next"),
    path("calls/<slug:public_id>/keep-reply/", call.keep_reply, name="keep_reply"),
    path("hints/", answers.hints, name="hints"),
    path("hints/<int:hint_id>/off/", answers.switch_off, name="switch_off_hint"),
    path("agent-responses/", agents.log, name="agent_responses"),
    path("insights/", insights.insights, name="insights"),
    path("insights/<slug:table>.<slug:kind>", insights.export_insights, name="export_insights"),
    path("playground/", playground.playground, name="playground"),
    path("tools/", tools.tools, name="tools"),
    path("tools/new/", tools.new_tool, name="new_tool"),
    path("tools/<int:pk>/", tools.tool, name="tool"),
    path("tools/<int:pk>/schema/", tools.edit_schema, name="edit_schema"),
    path("tools/<int:pk>/versions/<int:number>/release/", tools.release, name="release_version"),
    path("agents/", agents.agents, name="agents"),
    path("agents/new/", agents.new_agent, name="new_agent"),
    path("agents/<int:agent_id>/", agents.agent, name="agent"),
    path("agents/<int:agent_id>/keys/", agents.issue, name="issue_key"),
    path("agents/<int:agent_id>/keys/<int:key_id>/revoke/", agents.revoke, name="revoke_key"),
    path("live/", live, name="live"),
    path("settings/", settings.settings, name="settings"),
    path("settings/replies/", answers.replies, name="replies"),
    path("settings/replies/<int:reply_id>/", answers.reply, name="reply"),
    path("settings/replies/<int:reply_id>/delete/", answers.delete, name="delete_reply"),
    path("settings/password/", password.password, name="password"),
    path("settings/second-factor/", settings.second_factor, name="second_factor"),
    path("settings/webhooks/", webhooks.webhooks, name="webhooks"),
    path("settings/webhooks/new/", webhooks.new_webhook, name="new_webhook"),
    path("settings/webhooks/<slug:endpoint_id>/", webhooks.webhook, name="webhook"),
    path("settings/webhooks/<slug:endpoint_id>/switch/", webhooks.switch_webhook, name="switch_webhook"),
    path("settings/webhooks/<slug:endpoint_id>/secret/", webhooks.rotate_webhook, name="rotate_webhook"),
    path("settings/webhooks/<slug:endpoint_id>/messages/<slug:message_id>/", webhooks.redeliver, name="redeliver"),
    path("components/", components.components, name="components"),
    path("login/", login.login, name="login"),
    path("login/provider/", provider.begin, name="provider"),
    path("login/provider/answer/", provider.answer, name="provider_answer"),
    path("login/provider/leave/", provider.leave, name="provider_leave"),
    path("logout/", login_not_required(provider.Logout.as_view()), name="logout"),
    path("favicon.svg", login.favicon, name="favicon"),
]
