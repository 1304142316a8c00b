"""Every place that an agent, an author of tools or an operator can write to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"region": {"enum": ["eu", "us"]}}, "required": ["region"]}
WRITTEN: dict[str, Any] = {"type": "string", "x-language": "python"}


def canary(place: str) -> str:
    """Make the secret of a place: a GitHub token that no other place has."""
    digest = hashlib.sha256(place.encode()).digest() * 2
    return "ghp_" + "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:36])


def sent(**fields: Any) -> Callable[[str], dict[str, Any]]:
    """Describe a submission; `@@` in a text stands for the secret."""
    return lambda secret: json.loads(json.dumps(fields).replace("@@", secret))


# What an agent submits, each in a call of its own that is Blocked at once.
SUBMITTED: dict[str, Callable[[str], dict[str, Any]]] = {
    "a value": sent(arguments={"region": "@@"}),
    "a value deep inside": sent(arguments={"region": [{"a": ["-@@-"]}]}),
    "a key": sent(arguments={"@@": 1}),
    "a pointer": sent(arguments={"region": {"@@": {"@@": 1}}}),
    "broken text": sent(raw='{"region": "@@'),
    "text around JSON": sent(raw='My key @@ says {"region": "eu"}'),
    "the agent's rejection": sent(arguments={"region": "eu"}, callback_error="@@ is refused"),
    "a value of the context": sent(arguments={}, context={"goal": "use @@"}),
    "a key of the context": sent(arguments={}, context={"@@": 1}),
    "the session": sent(arguments={}, session_id="s-@@"),
    "the task": sent(arguments={}, task_id="@@"),
    "the correlation": sent(arguments={}, correlation_id="@@"),
    "the model's name": sent(arguments={}, model="@@"),
    "what the model read": sent(arguments={}, prompt="The key is @@."),
    "what the model said": sent(arguments={}, said="I take @@ for it."),
    "the provider's id": sent(arguments={}, tool_call_id="@@"),
    "a response": sent(kind="agent_response", tool="reply", raw='{"region": "@@', task_id="t", turn=1),
    "what was extracted": sent(kind="extraction", tool="extract", arguments={"region": ["@@"]}),
    "a source file": sent(kind="source_file", tool="write", raw='key = "@@"\nif:\n'),
    "the reason for the end": sent(arguments={}, finish_reason="@@"),
    "an unknown tool": sent(arguments={}, tool="note-@@"),
}
# What an author of tools registers, with what is then submitted.
REGISTERED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a tool's name": ("tool-@@", {}, {}),
    "a tool's description": ("described", {"description": "Send @@ along."}, {}),
    "an allowed value": ("allowed", {"input_schema": {"properties": {"a": {"enum": ["@@", "b"]}}}}, {"a": "c"}),
    "a constant": ("constant", {"input_schema": {"properties": {"a": {"const": "@@"}}}}, {"a": "c"}),
    "a default": ("default", {"input_schema": {"properties": {"a": {"default": "@@", "type": "null"}}}}, {"a": 1}),
    "a pattern": ("pattern", {"input_schema": {"properties": {"a": {"pattern": "^@@$"}}}}, {"a": "c"}),
    "a hint": ("hint", {"input_schema": {"properties": {"a": {"type": "null", "x-hint": "try @@"}}}}, {"a": "c"}),
    "a description inside": (
        "inside", {"input_schema": {"properties": {"a": {"description": "@@"}}, "required": ["a"]}}, {}),
    "a title": ("titled", {"input_schema": {"title": "@@", "required": ["a"]}}, {}),
    "an example": ("example", {"input_schema": {"examples": [{"a": "@@"}], "required": ["a"]}}, {}),
    "a definition's name": ("defined", {"input_schema": {"$defs": {"@@": {"const": 1}}, "$ref": "#/$defs/@@"}}, {}),
    "a field's name": ("named", {"input_schema": {"properties": {"@@": {}}, "required": ["@@"]}}, {}),
}  # fmt: skip
# What an operator types.
ANSWERED: dict[str, dict[str, str]] = {
    "a hint for the agent": {"decision": "hint", "text": "Use @@."},
    "a reason to reject": {"decision": "reject", "text": "Not with @@."},
    "a reason to accept": {"decision": "accept", "text": "As @@ says."},
    "corrected arguments": {"decision": "corrected", "arguments": '{"region": "eu", "note": "@@"}'},
    # The last: it answers the agents that come after.
    "a hint that stands": {"decision": "hint", "text": "Next time @@.", "standing": "on", "lasts": "30"},
}
# What an operator types into forms of pages and is kept; `{call}` is Blocked, `{tool}` is registered.
# Place -> page, a field of its form (none where a page offers no such field), what is typed.
TYPED: dict[str, tuple[str, str, dict[str, str]]] = {
    "a reply's title": ("/settings/replies/", "title", {"title": "My @@", "text": "Use eu."}),
    "a reply": ("/settings/replies/", "title", {"title": "Mine", "text": "Use @@."}),
    "a schema at the desk": (
        "/tools/{tool}/schema/", "schema", {"schema": '{"properties": {"a": {"const": "@@"}}}', "step": "save"}),
    "a new tool's name": ("/tools/new/", "schema", {"name": "new-@@", "agent": "1", "kind": "tool_call"}),
    "a new tool's description": (
        "/tools/new/", "schema", {"name": "new 1", "agent": "1", "kind": "tool_call", "description": "Send @@."}),
    "a new tool's schema": (
        "/tools/new/", "schema", {"name": "new 2", "agent": "1", "kind": "tool_call", "schema": '{"title": "@@"}'}),
    "a reason to put off": ("/calls/{call}/snooze/", "", {"until": "tomorrow", "reason": "Ask @@."}),
    "an answer to a group": (
        "/calls/{call}/group/", "text", {"decision": "hint", "text": "All use @@.", "call": "{call}"}),
}  # fmt: skip
# What an operator types and is refused, or not kept: the page gives it back to who typed it, and nobody else sees it.
NOT_KEPT: dict[str, tuple[str, dict[str, str]]] = {
    "an agent's name": ("/admin/retrycontract/agent/add/", {"name": "@@"}),
    "an agent's namespace": ("/admin/retrycontract/agent/add/", {"name": "fine", "namespace": "@@"}),
    "an agent's new name": ("/admin/retrycontract/agent/1/change/", {"name": "@@", **{
        f"keys-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS")}}),
    "a key's scopes": ("/admin/retrycontract/apikey/add/", {"agent": "1", "scopes": "@@", "expires_at_0": "@@"}),
    "an operator's name": ("/admin/auth/user/add/", {
        "username": "@@", "role": "viewer", "usable_password": "true", "password1": "h4rd-to-guess",
        "password2": "h4rd-to-guess"}),
    "an operator's person": ("/admin/auth/user/{user}/change/", {
        "username": "eve", "first_name": "@@", "last_name": "@@", "email": "@@@desk.example"}),
    "an operator's new name": ("/admin/auth/user/{user}/change/", {"username": "@@"}),
    "a tool's patience": ("/admin/retrycontract/tool/{tool}/change/", {"expires_after": "@@", "mode": "@@"}),
    "a webhook's address": ("/admin/retrycontract/webhookendpoint/add/", {
        "agent": "", "address": "{receiver}/@@?key=@@-", "events": "call.cancelled"}),
    "a webhook's event": ("/admin/retrycontract/webhookendpoint/add/", {
        "address": "https://a.example", "events": "@@"}),
    "a time zone": ("/settings/", {"time_zone": "@@"}),
    "a new password": ("/settings/password/", {
        "old_password": "@@", "new_password1": "@@", "new_password2": "@@-"}),
    "a code": ("/settings/second-factor/", {"code": "@@"}),
    "a time to come back": ("/calls/{call}/snooze/", {"until": "@@", "at": "@@", "action": "@@"}),
    "a key of a reply": ("/settings/replies/", {"title": "t", "text": "t", "position": "@@"}),
    "a refused schema of the desk": ("/tools/{tool}/schema/", {"schema": '{"type": "@@"}', "base": "@@"}),
    "a schema that is tried": ("/tools/{tool}/schema/", {"schema": '{"const": "@@"}', "step": "try"}),
    "an answer that is looked at": ("/calls/{call}/preview/", {
        "decision": "hint", "text": "@@", "arguments": "@@", "escalation": "@@"}),
    "a refused answer": ("/calls/{call}/", {"decision": "@@", "text": "@@", "grant": "@@", "then": "@@"}),
    "a call of a group": ("/calls/{call}/group/", {"decision": "hint", "text": "t", "call": "@@"}),
    "a mistake of a group": ("/calls/{call}/group/", {
        "decision": "hint", "text": "t", "mistake": "@@", "call": "{call}"}),
    "a fix of a group": ("/calls/{call}/group/", {"decision": "corrected", "fix": "@@", "call": "{call}"}),
    "an agent of the desk": ("/agents/new/", {"name": "@@", "namespace": "@@"}),
    "a tool that is tried": ("/playground/", {"name": "@@", "schema": "@@", "output": "@@", "base": "@@"}),
    "an output that is tried": ("/playground/", {"schema": '{"enum": ["@@"]}', "output": '{"@@": "@@"}', "name": "t"}),
    "a webhook of the desk": (
        "/settings/webhooks/new/", {"address": "{receiver}/@@?key=@@-", "events": "call.cancelled"}),
    "a webhook's new address": ("/settings/webhooks/{endpoint}/", {"address": "@@", "events": "@@"}),
    "a state of a webhook": ("/settings/webhooks/@@/switch/", {"switch": "@@"}),
    "a call beside": ("/next/", {"beside": "@@"}),
    "what to do with a claim": ("/calls/{call}/claim/", {"action": "@@"}),
}  # fmt: skip
# What stands in addresses of pages; the pages are looked at, too.
OPENED: dict[str, tuple[str, ...]] = {
    "a search": ("/?q=@@", "/?show=all&q=@@"),
    "a filter of the inbox": ("/?tool=@@&agent=@@&kind=@@&code=@@&age=@@&show=@@&after=@@&seen=@@",),
    "a mistake": ("/?like=@@",),
    "a search of the tools": ("/tools/?q=@@&range=@@",),
    "a task of the log": ("/agent-responses/?task=@@&status=@@&period=@@",),
    "a page of the log": ("/agent-responses/?after=@@.1",),
    "a range": (
        "/insights/?tool=@@&range=@@&by=@@&agent=@@&model=@@&version=@@&@@=@@",
        "/insights/failures.csv?range=@@&tool=@@", "/tools/{tool}/?range=@@"),
    "a line of a schema": ("/tools/{tool}/schema/?field=@@&back=tool%3D@@",),
    "a list of hints": ("/hints/?show=@@&after=@@",),
    "a look for news": (
        "/calls/{call}/?seen=@@&form=@@&whole=@@&beside=@@&attempt=@@&after=@@", "/calls/{call}/claim/?seen=@@",),
    "a search of the calls": (
        "/calls/?q=@@&tool=@@&namespace=@@&agent=@@&model=@@&version=@@&field=@@&state=@@&kind=@@&code=@@&course=@@&since=@@&until=@@",
        "/calls/?counted_since=@@&counted_until=@@&nameless=@@&course=failing&code=VAL-008&field=@@&model=@@",),
    "a search of the trail": ("/audit/?actor=@@&event=@@&door=@@&call=@@&since=@@&until=@@",),
    "a search of the agents": ("/agents/?q=@@",),
    "an example of the playground": ("/playground/?tool=@@&example=@@",),
    "an address of the desk": ("/@@/", "/calls/@@/", "/tools/@@/"),
}  # fmt: skip
SEARCHED = ("agent", "apikey", "tool", "toolversion", "call", "event", "webhookendpoint", "outboxmessage", "savedreply")
ONE: dict[str, Any] = {"tool": "deploy", "tool_call_id": "passing", "arguments": {"region": "eu"}}
UNASKED: dict[str, Any] = {"tool": "deploy", "tool_call_id": "unasked", "api_error": "401: @@ is no key."}
DRY: dict[str, Any] = {"input_schema": SCHEMA, "arguments": {"region": "@@"}, "tool": "@@"}
UNUSABLE: dict[str, Any] = {"type": "@@", "properties": {"@@": {"type": "no"}}}
# What an agent sends that is read, or refused, and not kept: place, method, path, body, headers.
SENT: tuple[tuple[str, str, str, Any, dict[str, str]], ...] = (
    ("an idempotency key", "POST", "/calls", ONE, {"Idempotency-Key": "@@"}),
    ("a trace", "POST", "/calls", ONE | {"tool_call_id": "traced"}, {"traceparent": "@@"}),
    ("why no model was asked", "POST", "/calls", UNASKED, {}),
    ("a version", "POST", "/calls", ONE | {"version": "@@"}, {}),
    ("a field of a request", "POST", "/calls", ONE | {"@@": 1, "turn": "@@"}, {}),
    ("a form of feedback", "POST", "/calls", ONE | {"feedback": {"form": "@@", "@@": 1}, "seconds": "@@"}, {}),
    ("a kind", "POST", "/calls", ONE | {"kind": "@@", "render": "@@", "max_attempts": "@@"}, {}),
    ("a call's id", "POST", "/calls", ONE | {"call_id": "@@"}, {}),
    ("a body that is no JSON", "POST", "/calls", b'{"tool": "@@', {}),
    ("a preference", "GET", "/calls", None, {"Prefer": "@@"}),
    ("a cursor", "GET", "/calls?cursor=@@", None, {}),
    ("a cursor", "GET", "/tools?cursor=@@", None, {}),
    ("a cursor", "GET", "/agent-responses?cursor=@@.1", None, {}),
    ("a cursor", "GET", "/events?cursor=@@", None, {}),
    ("the last event", "GET", "/events", None, {"Last-Event-ID": "@@"}),
    ("a type of events", "GET", "/events?types=@@", None, {}),
    ("an address", "GET", "/calls/@@", None, {}),
    ("an address", "GET", "/events?call_id=@@", None, {}),
    ("an address", "GET", "/agent-responses?call_id=@@", None, {}),
    ("an address", "GET", "/tools/@@", None, {}),
    ("an address", "GET", "/@@/@@", None, {}),
    ("a filter", "GET", "/calls?session_id=@@&task_id=@@&correlation_id=@@&model=@@&tool=@@", None, {}),
    ("a filter", "GET", "/agent-responses?task_id=@@&tool=@@", None, {}),
    ("a wrong filter", "GET", "/calls?state=@@&limit=@@&@@=@@", None, {}),
    ("a wrong filter", "GET", "/agent-responses?status=@@&since=@@&until=@@&turn=@@", None, {}),
    ("a wrong filter", "GET", "/tools?kind=@@", None, {}),
    ("a dry run", "POST", "/check", DRY, {"Idempotency-Key": "@@"}),
    ("a refused schema", "POST", "/tools/import", [{"name": "@@", "input_schema": UNUSABLE}], {}),
    ("a refused schema", "PUT", "/tools/@@", {"input_schema": UNUSABLE}, {}),
    ("a refused duration", "PUT", "/tools/lasting", {"input_schema": SCHEMA, "expires_after": "@@", "mode": "@@"}, {}),
    ("a precondition", "PUT", "/tools/deploy", {"input_schema": SCHEMA}, {"If-Match": '"@@"'}),
    ("a precondition", "GET", "/tools/deploy", None, {"If-None-Match": '"@@"'}),
    ("a wrong key", "GET", "/calls", None, {"Authorization": "Bearer @@"}),
    ("a host", "GET", "/calls", None, {"Host": "@@.example"}),
    ("a header", "GET", "/calls", None, dict.fromkeys(
        ("User-Agent", "Referer", "Cookie", "Accept", "Origin", "X-Request-ID", "X-Forwarded-For"), "@@")),
)  # fmt: skip
PASSING = (
    *dict.fromkeys(place for place, *_ in SENT), *NOT_KEPT, *OPENED, "a search of the admin", "a user's name",
    "a password", "where to go after the login", "an acknowledgement", "a reason to cancel",
)  # fmt: skip
PLACES = (*SUBMITTED, *REGISTERED, *ANSWERED, "words that are kept", *TYPED, *PASSING)


def filled(value: Any, place: str, **names: str) -> Any:
    """Put a place's secret, and what else is named, into texts."""
    text = json.dumps(value).replace("@@", canary(place))
    for name, word in names.items():
        text = text.replace(f"{{{name}}}", word)
    return json.loads(text)
