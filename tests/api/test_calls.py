"""Submitting, reading, waiting, guidance, giving up: what each route answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Event, Guidance, Tool
from retrycontract.usecases.answers.give_guidance import give_guidance
from retrycontract.usecases.calls.sweep import expire_overdue, judge_waiting
from retrycontract.usecases.tools.register_tool import register_tool
from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, WRONG, answer, make_tool, make_user

PASSWORD = "quiet-harbour-42-lantern"


@pytest.fixture(autouse=True)
def _tool(door: Door) -> None:
    make_tool(door.agent)


def call_of(body: dict[str, Any]) -> Call:
    return Call.objects.select_related("agent", "tool", "version").get(public_id=body["call_id"])


def block(door: Door, **fields: Any) -> Call:
    for _ in range(3):
        reply = door.submit(WRONG, session_id="s", **fields)
    assert reply.body["state"] == "blocked"
    return call_of(reply.body)


def test_a_valid_attempt_is_answered_with_the_go_ahead(door: Door) -> None:
    reply = door.submit(RIGHT)
    assert reply.status == 200
    assert reply.body | {"call_id": "", "links": {}} == {
        "call_id": "", "tool": "deploy", "state": "valid", "status": "valid",
        "attempt": 1, "max_attempts": 3, "attempt_number": 1,
        "errors": [], "warnings": [], "errors_left_out": 0, "tool_result": None, "rendered": None,
        "traceparent": None, "links": {},
    }  # fmt: skip
    assert reply.body["links"]["self"] == f"/api/v1/calls/{reply.body['call_id']}"


def test_a_failed_attempt_is_answered_with_the_text_for_the_model(door: Door) -> None:
    reply = door.submit(WRONG, tool_call_id="toolu_7")
    result = reply.body["tool_result"]
    assert (reply.status, reply.body["status"], reply.body["state"]) == (200, "retry", "retrying")
    assert (result["role"], result["tool_call_id"], result["is_error"]) == ("tool", "toolu_7", True)
    assert result["content"].startswith("Validation failed for tool 'deploy' (attempt 1/3):")
    assert [error["field_path"] for error in reply.body["errors"]] == ["/region"]
    assert result["metadata"]["errors"] == reply.body["errors"]
    assert result["metadata"]["call_id"] == reply.body["call_id"]


def test_a_near_miss_comes_with_its_patch_and_is_still_a_failure(door: Door) -> None:
    reply = door.submit(RIGHT | {"replicas": "3"})
    (error,) = reply.body["errors"]
    assert (reply.body["status"], error["hint"]) == ("retry", "send 'replicas' as integer: 3")
    assert error["patch"] == [{"op": "replace", "path": "/replicas", "value": 3}]
    assert door.send("GET", f"/calls/{reply.body['call_id']}").body["attempts"][0]["errors"] == [error]


def test_the_third_failure_says_where_to_wait(door: Door) -> None:
    call = block(door)
    verdict = door.get(f"/calls/{call.public_id}/wait?for=verdict").body
    assert (verdict["status"], verdict["attempt"], verdict["max_attempts"]) == ("blocked", 3, 3)
    assert verdict["tool_result"]["metadata"]["wait"] == f"/api/v1/calls/{call.public_id}/wait?for=guidance"


RENDERED: dict[str, Any] = {
    "openai": lambda text, _: {"role": "tool", "tool_call_id": "id_1", "content": text},
    "openai_responses": lambda text, _: {"type": "function_call_output", "call_id": "id_1", "output": text},
    "anthropic": lambda text, _: {
        "type": "tool_result", "tool_use_id": "id_1", "content": text, "is_error": True,
    },
    "gemini": lambda text, _: {
        "functionResponse": {"id": "id_1", "name": "deploy", "response": {"error": text}},
    },
    "langchain": lambda text, metadata: {
        "type": "tool", "status": "error", "tool_call_id": "id_1", "name": "deploy", "content": text,
        "artifact": metadata,
    },
    "pydantic_ai": lambda text, _: {
        "part_kind": "retry-prompt", "tool_name": "deploy", "content": text, "tool_call_id": "id_1",
    },
    "mcp": lambda text, metadata: {
        "content": [{"type": "text", "text": text}], "isError": True, "_meta": {"retrycontract/feedback": metadata},
    },
}  # fmt: skip


@pytest.mark.parametrize("provider", RENDERED)
def test_a_result_is_rendered_as_the_provider_takes_it(door: Door, provider: str) -> None:
    body = door.submit(WRONG, render=provider).body
    result = body["tool_result"]
    assert body["rendered"] == RENDERED[provider](result["content"], result["metadata"])
    again = door.get(f"/calls/{body['call_id']}/wait?for=verdict&render={provider}").body
    assert again["rendered"] == body["rendered"]


def test_a_valid_attempt_has_nothing_to_render(door: Door) -> None:
    assert door.submit(RIGHT, render="openai").body["rendered"] is None


def test_raw_text_is_read_as_the_model_wrote_it(door: Door) -> None:
    assert door.submit(None).status == 200
    body = {"tool": "deploy", "tool_call_id": "id_2", "raw": '{"service": "web", "region": "eu-west-1"}'}
    assert door.post("/calls", body).body["status"] == "valid"
    assert door.post("/calls", body | {"raw": '{"service": '}).body["errors"][0]["error_code"] == "VAL-004"


def test_an_apology_before_the_value_is_words_around_it_at_each_door(door: Door) -> None:
    assert door.submit(None).status == 200
    sorry = 'I\'m sorry for the confusion. Here is the corrected call:\n{"service": "web", "region": "eu-west-1"}'
    call = door.post("/calls", {"tool": "deploy", "tool_call_id": "id_2", "raw": sorry})
    check = door.post("/check", {"raw": sorry, "input_schema": {"type": "object"}})
    assert [[error["keyword"] for error in reply.body["errors"]] for reply in (call, check)] == [["prose"], ["prose"]]


def test_every_field_of_an_attempt_is_kept(door: Door) -> None:
    version = Tool.objects.get().current_version
    assert version is not None
    fields = {
        "kind": "tool_call", "tool_call_id": "id_9", "session_id": "s", "turn": 7, "task_id": "t",
        "correlation_id": "c", "finish_reason": "stop", "version": version.schema_hash, "context": {"goal": "deploy"},
    }  # fmt: skip
    call = door.get(f"/calls/{door.submit(WRONG, **fields).body['call_id']}").body
    shown = {name: call[name] for name in ("kind", "session_id", "task_id", "correlation_id", "context", "version")}
    assert shown == {
        "kind": "tool_call", "session_id": "s", "task_id": "t", "correlation_id": "c", "context": {"goal": "deploy"},
        "version": 1,
    }  # fmt: skip
    assert (call["schema_hash"], call["attempts"][0]["turn"]) == (version.schema_hash, 7)
    assert call["attempts"][0]["tool_call_id"] == "id_9"


def test_an_agents_rejection_is_told_to_its_model(door: Door) -> None:
    body = door.submit(RIGHT, callback_error="the cluster is frozen").body
    assert body["status"] == "retry"
    assert "the cluster is frozen" in body["tool_result"]["content"]


def test_an_unknown_tool_is_the_models_mistake(door: Door) -> None:
    reply = door.submit(RIGHT, tool="deplyo")
    assert (reply.status, reply.body["status"]) == (200, "retry")
    assert "'deploy'" in reply.body["tool_result"]["content"]


@pytest.mark.parametrize(
    "name", ["a/b c", "ünï/✓", "files.read", "mcp__server__tool", "import", "a//b", "%2F", "a?b#c"]
)
def test_a_tool_may_have_any_printable_name(door: Door, name: str) -> None:
    reply = door.put(f"/tools/{quote(name)}", {"input_schema": DEPLOY})
    assert (reply.status, reply.body["name"]) == (201, name)
    assert door.submit(RIGHT, tool=name).body["status"] == "valid"


@pytest.mark.usefixtures("by_a_worker")
def test_what_is_queued_is_answered_with_the_place_to_ask_again(door: Door) -> None:
    reply = door.submit(WRONG, render="openai")
    call = call_of(reply.body)
    ask_again = f"/api/v1/calls/{call.public_id}/wait?for=verdict&attempt=1&render=openai"
    assert (reply.status, reply.body["status"], reply.body["state"]) == (202, None, "pending")
    assert (reply.body["attempt"], reply.body["max_attempts"], reply.body["tool_result"]) == (1, 3, None)
    assert (reply.headers["Location"], reply.headers["Retry-After"]) == (ask_again, "1")
    assert reply.headers["Retrycontract-Pending"] == f"{call.public_id}; {ask_again}"
    waiting = door.get(ask_again.removeprefix("/api/v1"))
    assert (waiting.status, waiting.headers["Location"]) == (202, ask_again)
    judge_waiting(clock=timezone.now)
    done = door.get(ask_again.removeprefix("/api/v1"))
    assert (done.status, done.body["status"]) == (200, "retry")
    assert done.body["rendered"]["content"] == done.body["tool_result"]["content"]
    assert "Location" not in done.headers
    assert "Retrycontract-Pending" not in done.headers


@pytest.mark.usefixtures("by_a_worker")
def test_each_attempt_has_its_own_verdict(door: Door) -> None:
    first = door.submit(WRONG).body
    door.submit(RIGHT, call_id=first["call_id"])
    judge_waiting(clock=timezone.now)
    path = f"/calls/{first['call_id']}/wait?for=verdict"
    assert door.get(f"{path}&attempt=1").body["status"] == "retry"
    assert door.get(f"{path}&attempt=2").body["status"] == "valid"
    assert door.get(path).body["attempt_number"] == 2
    assert door.get(f"{path}&attempt=3").status == 404


@pytest.mark.usefixtures("by_a_worker")
def test_an_attempt_that_was_discarded_says_how_its_call_ended(door: Door) -> None:
    body = door.submit(WRONG).body
    assert door.post(f"/calls/{body['call_id']}/cancel").body["state"] == "cancelled"
    reply = door.get(f"/calls/{body['call_id']}/wait?for=verdict&attempt=1")
    assert (reply.status, reply.body["status"], reply.body["state"]) == (200, None, "cancelled")


def test_a_call_is_read_with_its_history_and_without_its_secrets(door: Door) -> None:
    schema = DEPLOY | {"properties": DEPLOY["properties"] | {"password": {"type": "string"}}}
    register_tool(door.agent, "deploy", schema, now=timezone.now())
    for _ in range(3):
        body = door.submit(WRONG | {"password": PASSWORD}, session_id="s").body
    reply = door.get(f"/calls/{body['call_id']}")
    assert reply.status == 200
    assert PASSWORD not in reply.text
    assert [attempt["status"] for attempt in reply.body["attempts"]] == ["retry", "retry", "blocked"]
    assert reply.body["attempts"][0]["output"]["service"] == "web"
    assert "[REDACTED" in reply.body["attempts"][0]["output"]["password"]
    assert [(e["round"], e["state"]) for e in reply.body["escalations"]] == [(1, "open")]


def test_waiting_for_guidance_is_answered_when_it_is_there(door: Door) -> None:
    call = block(door)
    path = f"/calls/{call.public_id}/wait?for=guidance"
    pending = door.get(path)
    assert (pending.status, pending.body["guidance"], pending.body["state"]) == (202, None, "blocked")
    assert pending.headers["Retrycontract-Pending"] == f"{call.public_id}; /api/v1{path}"
    assert (pending.headers["Location"], pending.headers["Retry-After"]) == (f"/api/v1{path}", "1")
    given = answer(call, make_user(), Decision.HINT, grant=2)
    done = door.get(path)
    assert (done.status, done.body["state"]) == (200, "guided")
    assert done.body["guidance"] == door.get(f"/calls/{call.public_id}/guidance").body
    assert done.body["guidance"] | {"given_at": ""} == {
        "id": given.pk, "decision": "hint", "text": given.rendered, "operator_text": "Use eu-west-1.",
        "arguments": None, "patch": None, "base": {"attempt": 3, "hash": call.attempts.get(number=3).output_hash},
        "granted": 2, "next_attempt": 4, "max_attempts": 5, "given_at": "", "acknowledged": False,
    }  # fmt: skip


def test_guidance_is_the_default_wait(door: Door) -> None:
    call = block(door)
    assert door.get(f"/calls/{call.public_id}/wait").status == 202


@pytest.mark.parametrize(
    ("decision", "state"),
    [(Decision.CORRECTED, "guided"), (Decision.ACCEPT, "accepted"), (Decision.REJECT, "rejected")],
)
def test_every_decision_reaches_the_agent(door: Door, decision: Decision, state: str) -> None:
    call = block(door)
    answer(call, make_user(), decision, arguments=RIGHT)
    body = door.get(f"/calls/{call.public_id}/wait").body
    assert (body["state"], body["guidance"]["decision"]) == (state, decision.value)
    assert body["guidance"]["arguments"] == (RIGHT if decision is Decision.CORRECTED else None)


def test_guidance_that_failed_is_not_offered_again(door: Door) -> None:
    call = block(door)
    answer(call, make_user(), Decision.HINT, grant=1, is_read=True)
    door.submit(WRONG, call_id=call.public_id)
    assert door.get(f"/calls/{call.public_id}/wait").status == 202
    assert door.get(f"/calls/{call.public_id}/guidance").code == "no-guidance"


def test_an_expired_call_is_no_persons_no_and_a_late_answer_is_offered(door: Door) -> None:
    call = block(door)
    answer(call, make_user(), Decision.HINT, grant=1, is_read=True)
    door.submit(WRONG, call_id=call.public_id)
    expire_overdue(now=timezone.now() + timedelta(days=8))
    reply = door.get(f"/calls/{call.public_id}/wait")
    assert (reply.status, reply.body["state"], reply.body["guidance"]) == (200, "expired", None)
    assert door.submit(RIGHT, call_id=call.public_id).code == "call-ended"
    escalation = call.escalations.get(round=2)
    give_guidance(escalation, make_user("tom"), Decision.HINT, now=timezone.now(), text="Sorry for the wait.")
    assert door.get(f"/calls/{call.public_id}/wait").body["guidance"]["operator_text"] == "Sorry for the wait."
    assert door.submit(RIGHT, call_id=call.public_id).body["status"] == "valid"


def test_who_waits_is_told_that_nobody_answered_in_time(door: Door) -> None:
    call = block(door)
    assert door.get(f"/calls/{call.public_id}/wait").body["expiry"] is None
    expire_overdue(now=timezone.now() + timedelta(days=8))
    told = door.get(f"/calls/{call.public_id}/wait").body["expiry"]
    assert told.startswith("No one answered your Blocked call of tool 'deploy' within 7 days. This is not a rejection")
    answer_late = give_guidance(
        call.escalations.get(), make_user(), Decision.HINT, now=timezone.now(), text="Use eu-west-1."
    )
    reply = door.get(f"/calls/{call.public_id}/wait")
    assert (reply.body["expiry"], reply.body["guidance"]["id"]) == (None, answer_late.pk)


def test_a_rejection_by_policy_is_told_as_such_and_offers_no_earlier_guidance(door: Door) -> None:
    call = block(door)
    door.put("/tools/deploy", {"input_schema": DEPLOY, "on_expiry": "reject"})
    answer(call, make_user(), Decision.HINT, grant=1, is_read=True)
    door.submit(WRONG, call_id=call.public_id)
    expire_overdue(now=timezone.now() + timedelta(days=8))
    reply = door.get(f"/calls/{call.public_id}/wait")
    assert (reply.status, reply.body["state"], reply.body["guidance"]) == (200, "rejected", None)
    assert "No person has said no." in reply.body["expiry"]
    assert door.get(f"/calls/{call.public_id}/guidance").code == "no-guidance"


def test_a_persons_rejection_bears_no_word_of_a_policy(door: Door) -> None:
    call = block(door)
    answer(call, make_user(), Decision.REJECT)
    reply = door.get(f"/calls/{call.public_id}/wait")
    assert (reply.body["expiry"], reply.body["guidance"]["decision"]) == (None, "reject")


def test_reading_guidance_notes_its_delivery_and_acknowledging_it_is_idempotent(door: Door) -> None:
    call = block(door)
    answer(call, make_user(), Decision.HINT)
    assert Guidance.objects.get().delivered_at is None
    assert not door.get(f"/calls/{call.public_id}/guidance").body["acknowledged"]
    assert Guidance.objects.get().delivered_at is not None
    acknowledged = [door.post(f"/calls/{call.public_id}/guidance/ack").body["acknowledged"] for _ in range(2)]
    assert acknowledged == [True, False]
    assert door.get(f"/calls/{call.public_id}/guidance").body["acknowledged"]


def test_without_guidance_there_is_nothing_to_read_or_acknowledge(door: Door) -> None:
    call = block(door)
    assert door.get(f"/calls/{call.public_id}/guidance").code == "no-guidance"
    assert door.post(f"/calls/{call.public_id}/guidance/ack").code == "no-guidance"


def test_a_call_can_be_given_up_once(door: Door) -> None:
    call = block(door)
    for _ in range(2):
        reply = door.post(f"/calls/{call.public_id}/cancel")
        assert (reply.status, reply.body["state"], reply.body["guidance"]) == (200, "cancelled", None)
    assert Event.objects.filter(name="call.cancelled").count() == 1
    assert call.escalations.get().state == "cancelled"


def test_giving_up_a_call_that_ended_well_leaves_it_so(door: Door) -> None:
    body = door.submit(RIGHT).body
    assert door.post(f"/calls/{body['call_id']}/cancel").body["state"] == "valid"


def test_several_calls_that_could_be_meant_are_listed(door: Door) -> None:
    ids = [door.submit(WRONG, session_id="s", turn=1, tool_call_id=f"id_{number}").body["call_id"] for number in (1, 2)]
    reply = door.submit(WRONG, session_id="s", turn=2, tool_call_id="id_3")
    assert (reply.status, reply.code, reply.body["candidates"]) == (409, "ambiguous-call", ids)
    assert door.submit(RIGHT, session_id="s", turn=2, tool_call_id="id_3", call_id=ids[0]).body["call_id"] == ids[0]


def test_an_attempt_at_an_ended_call_says_how_it_ended(door: Door) -> None:
    body = door.submit(RIGHT).body
    reply = door.submit(RIGHT, call_id=body["call_id"])
    assert (reply.status, reply.code, reply.body["state"]) == (409, "call-ended", "valid")
    assert reply.body["call_id"] == body["call_id"]


def test_an_attempt_at_a_call_of_another_tool_is_refused(door: Door) -> None:
    make_tool(door.agent, "other")
    body = door.submit(WRONG).body
    reply = door.submit(WRONG, call_id=body["call_id"], tool="other")
    assert (reply.status, reply.code) == (409, "other-tool")


def test_a_version_that_the_tool_does_not_have_is_refused(door: Door) -> None:
    assert door.submit(RIGHT, version="0" * 64).code == "version-not-found"
    assert not Call.objects.exists()


MARKED = {"type": "object", "properties": {"note": {"type": "string", "x-sensitive": True}}, "required": ["note"]}


@pytest.mark.parametrize("text", ['{"note": "%"', "{'note': '%'}", "note: %", '[{"note": "%"}]', '"%"', "%"])
def test_what_a_schema_marks_is_neither_stored_nor_shown_whatever_the_output_looks_like(door: Door, text: str) -> None:
    make_tool(door.agent, "marked", MARKED)
    word = "plain" + "word"
    fields = {"raw": text.replace("%", word), "session_id": "s", "said": f"I wrote it. note: {word}!"}
    told = [door.post("/calls", {"tool": "marked", "tool_call_id": "id_1"} | fields) for _ in range(3)]
    call = call_of(told[-1].body)
    shown = door.get(f"/calls/{call.public_id}").body
    assert shown["state"] == "blocked"
    assert word not in str([reply.body for reply in told]) + str(shown)
    assert word not in str([*call.attempts.values(), *Event.objects.values(), *Call.objects.values()])
