"""What the client sends, and what it makes of the answers; both clients do the same."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from retrycontract.client import AsyncClient, Client, CorrectionError, Outcome, TooLargeError, UnexpectedAnswerError
from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import CallState, Status
from tests.client.scripted import ERROR, KEY, PENDING, RETRY, VALID, WAITING, Script, answer, guided, problem

if TYPE_CHECKING:
    from tests.client.conftest import Scripted

ATTEMPT: dict[str, Any] = {"tool_call_id": "t1", "arguments": {"mode": "raed"}}
TOOL = {
    "name": "t",
    "namespace": "n",
    "version": 2,
    "schema_hash": "ab",
    "created": False,
    "changed": True,
    "max_attempts": 3,
}


def test_both_clients_offer_the_same() -> None:
    def offered(kind: type) -> dict[str, list[str]]:
        methods = {name: member for name, member in vars(kind).items() if name[0] != "_" or name == "__init__"}
        return {name: list(inspect.signature(method).parameters) for name, method in methods.items()}

    assert offered(Client) == offered(AsyncClient)


def test_a_submission_carries_what_was_given_and_nothing_else(scripted: Scripted) -> None:
    service = scripted(answer(200, RETRY))
    with service.client() as client:
        client.submit("open", **ATTEMPT, session_id="s", turn=0, correlation_id=None, context={"goal": "read"})
    assert service.lines == ["POST /calls"]
    assert service.bodies == [{"tool": "open", **ATTEMPT, "session_id": "s", "turn": 0, "context": {"goal": "read"}}]
    headers = service.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert headers["prefer"] == "wait=0", "what changes something is never held: its answer could be lost"
    assert len(headers["idempotency-key"]) == 36


@pytest.mark.parametrize(
    ("refusal", "most"),
    [
        (problem(413, "body-too-large", limit=1_000), ", and the service takes at most 1,000"),
        (problem(413, "body-too-large", limit="1000"), ", more than the service takes"),
        (httpx2.Response(413, content=b"<html>"), ", more than the service takes"),
    ],
)
@pytest.mark.parametrize("output", [{"mode": "r" * 2_000}, "{" * 2_000], ids=["parsed", "text"])
def test_what_is_too_large_is_submitted_as_no_output_with_the_reason(
    scripted: Scripted, refusal: httpx2.Response, most: str, output: Any
) -> None:
    service = scripted(refusal, answer(200, RETRY))
    with service.client() as client:
        found = client.submit("open", "t1", output, session_id="s", callback_error="It is odd.", model="m")
    assert found.status == "retry"
    _, told = service.bodies
    size = len(service.requests[0].content)
    assert told == {
        "tool": "open", "tool_call_id": "t1", "session_id": "s", "model": "m", "arguments": None, "callback_error": [{
            "message": f"it is too large to be checked: with what goes along it has {size:,} bytes{most}",
            "hint": "send a shorter one, or several smaller ones",
        }],
    }  # fmt: skip
    keys = {request.headers["idempotency-key"] for request in service.requests}
    assert len(keys) == 2, "a key stands for one body"


def test_what_is_too_large_without_its_output_is_refused(scripted: Scripted) -> None:
    service = scripted(problem(413, "body-too-large", limit=1_000))
    with service.client() as client, pytest.raises(TooLargeError):
        client.submit("open", **ATTEMPT, context={"goal": "x" * 5_000})
    assert len(service.requests) == 2


def test_what_is_told_of_an_attempt_is_short_enough_and_utf_8(scripted: Scripted) -> None:
    service = scripted(answer(200, RETRY))
    told: dict[str, Any] = {"model": "m", "prompt": "a" * 3_000_000, "said": "\ud800", "tokens_in": 0, "seconds": 0.5}
    with service.client() as client:
        client.submit("open", **ATTEMPT, **told, callback_error="b" * 9_000)
    (body,) = service.bodies
    assert (body["model"], body["said"], body["tokens_in"], body["seconds"]) == ("m", "\\ud800", 0, 0.5)
    assert (len(body["prompt"]), len(body["callback_error"])) == (50_000, 4_000)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"a": 1}, b'"arguments": {"a": 1}'),
        (None, b'"arguments": null'),
        ([], b'"arguments": []'),
        (float("nan"), b'"arguments": NaN'),
        ('{"a": 1', b'"raw": "{\\"a\\": 1"'),
        (b'{"a": 1', b'"raw": "{\\"a\\": 1"'),
        ("", b'"raw": ""'),
        ('"\ud800"', rb'"raw": "\"\ud800\""'),
        (b'"\xff"', rb'"raw": "\"\udcff\""'),
    ],
)
def test_arguments_travel_as_text_or_parsed_as_they_were_given(scripted: Scripted, arguments: Any, sent: bytes) -> None:
    service = scripted(answer(200, VALID))
    with service.client() as client:
        client.submit("open", tool_call_id="t1", arguments=arguments)
    assert sent in service.requests[0].content


def test_an_outcome_says_what_the_library_says(scripted: Scripted) -> None:
    with scripted(answer(200, RETRY)).client() as client:
        outcome = client.submit("open", **ATTEMPT)
    assert (outcome.status, outcome.state, outcome.attempt, outcome.max_attempts) == ("retry", "retrying", 1, 3)
    assert [error.to_json() | {"patch": None} for error in outcome.errors[:1]] == [ERROR | {"patch": None}]
    assert [error.field_path for error in outcome.warnings] == ["/old"]
    assert outcome.tool_result.render("anthropic")["tool_use_id"] == "t1"
    assert outcome.arguments is None
    assert not outcome.is_observed


def test_an_observed_failure_says_that_execution_may_proceed(scripted: Scripted) -> None:
    with scripted(answer(200, RETRY | {"status": "valid", "state": "observed"})).client() as client:
        outcome = client.submit("open", **ATTEMPT)
    assert (outcome.status, outcome.is_observed, outcome.arguments) == ("valid", True, ATTEMPT["arguments"])
    assert len(outcome.errors) == 2


@pytest.mark.parametrize("arguments", [{"mode": "read"}, '{"mode": "read"}', b'{"mode": "read"}'])
def test_a_valid_outcome_gives_the_parsed_arguments_back(scripted: Scripted, arguments: Any) -> None:
    with scripted(answer(200, VALID)).client() as client:
        outcome = client.submit("open", tool_call_id="t1", arguments=arguments)
    assert outcome.status is Status.VALID
    assert outcome.arguments == {"mode": "read"}


def test_what_an_agent_changes_after_it_submitted_is_not_what_it_submitted(scripted: Scripted) -> None:
    arguments = {"mode": "raed"}
    given = guided(decision="corrected", patch=[{"op": "replace", "path": "/mode", "value": "read"}])
    with scripted(answer(200, RETRY), answer(200, given)).client() as client:
        outcome = client.submit("open", tool_call_id="t1", arguments=arguments)
        del arguments["mode"]
        assert client.wait_for_guidance(outcome).arguments == {"mode": "read"}


def test_a_verdict_that_takes_longer_is_waited_for_with_a_request_that_can_be_repeated(scripted: Scripted) -> None:
    service = scripted(answer(202, PENDING), httpx2.ReadError("gone"), answer(200, VALID))
    with service.client() as client:
        outcome = client.submit("open", **ATTEMPT, wait=20)
    assert service.lines == ["POST /calls", *["GET /calls/call-1/wait?for=verdict&attempt=1"] * 2]
    assert [request.headers["prefer"] for request in service.requests] == ["wait=0", "wait=20", "wait=20"]
    assert outcome.arguments == ATTEMPT["arguments"]


def test_without_a_verdict_in_time_the_outcome_says_so_and_can_be_waited_for(scripted: Scripted) -> None:
    service = scripted(answer(202, PENDING))
    with service.client() as client:
        outcome = client.submit("open", **ATTEMPT, wait=0)
        assert (outcome.status, outcome.state) == (None, CallState.PENDING)
        assert service.lines == ["POST /calls"]
        assert client.wait_for_verdict(outcome, timeout=5).status is None
        service.answers = [answer(200, VALID)]
        assert client.wait_for_verdict(outcome).status is Status.VALID
        assert client.wait_for_verdict("call-1").arguments is None, "which attempt it was is not known from the id"
    assert service.lines[1:] == [
        *["GET /calls/call-1/wait?for=verdict&attempt=1"] * 2,
        "GET /calls/call-1/wait?for=verdict",
    ]


@pytest.mark.parametrize("is_left", [False, True], ids=["waits", "asks later"])
def test_the_providers_id_is_given_back_in_full_also_where_the_service_keeps_less(
    scripted: Scripted, is_left: bool
) -> None:
    kept, own_id = RETRY["tool_result"] | {"tool_call_id": "call_1...-0123456789abcdef"}, "call_1" + "x" * 5_000
    service = scripted(answer(202, PENDING), answer(200, RETRY | {"tool_result": kept}))
    with service.client() as client:
        outcome = client.submit("open", own_id, {"mode": "raed"}, wait=0 if is_left else 20)
        outcome = client.wait_for_verdict(outcome) if is_left else outcome
    assert outcome.tool_result.render("openai")["tool_call_id"] == own_id


def test_a_long_wait_is_made_of_polls_that_proxies_let_live(scripted: Scripted) -> None:
    service = scripted(*[answer(202, WAITING, retry_after="1")] * 2, answer(200, guided()))
    with service.client() as client:
        guidance = client.wait_for_guidance("call-1", timeout=3600)
    assert [request.headers["prefer"] for request in service.requests] == ["wait=50"] * 3
    assert [request.extensions["timeout"]["read"] for request in service.requests] == [80.0] * 3
    assert guidance.decision is Decision.HINT


def test_a_wait_ends_when_its_time_is_up_and_can_be_taken_up_again(scripted: Scripted) -> None:
    service = scripted(answer(202, WAITING, retry_after="1"))
    with service.client() as client:
        guidance = client.wait_for_guidance("call-1", timeout=120)
    assert service.now == 1_120.0
    assert (guidance.decision, guidance.state, guidance.text) == (None, CallState.BLOCKED, "")


def test_a_service_that_stops_and_answers_at_once_is_not_asked_in_a_tight_loop(scripted: Scripted) -> None:
    service = scripted(answer(202, WAITING, retry_after="1"))
    service.holds = False
    with service.client() as client:
        client.wait_for_guidance("call-1", timeout=10)
    assert service.slept == [1.0] * 10


def test_silence_is_told_with_the_services_own_words(scripted: Scripted) -> None:
    expired = WAITING | {"state": "expired", "expiry": "No one answered."}
    with scripted(answer(200, expired)).client() as client:
        guidance = client.wait_for_guidance("call-1")
    assert (guidance.decision, guidance.state, guidance.text) == (None, CallState.EXPIRED, "No one answered.")
    assert guidance.state.has_ended


PATCH = [{"op": "replace", "path": "/mode", "value": "read"}]


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        pytest.param(guided(), None, id="a hint leaves it to the model"),
        pytest.param(guided("rejected", decision="reject"), None, id="a no"),
        pytest.param(guided(decision="corrected", arguments={"mode": "read"}), {"mode": "read"}, id="whole"),
        pytest.param(guided(decision="corrected", patch=PATCH), {"mode": "read", "key": "s3cret"}, id="a patch"),
        pytest.param(guided(decision="corrected", patch=[]), {"mode": "raed", "key": "s3cret"}, id="an empty patch"),
        pytest.param(guided("accepted", decision="accept"), {"mode": "raed", "key": "s3cret"}, id="accepted"),
    ],
)
@pytest.mark.parametrize("dumps", [dict, json.dumps])
def test_guidance_gives_the_arguments_that_count(
    scripted: Scripted, given: dict[str, Any], arguments: Any, dumps: Any
) -> None:
    with scripted(answer(200, RETRY), answer(200, given)).client() as client:
        outcome = client.submit("open", tool_call_id="t1", arguments=dumps({"mode": "raed", "key": "s3cret"}))
        guidance = client.wait_for_guidance(outcome)
    assert guidance.arguments == arguments
    assert "s3cret" not in repr(outcome) + repr(guidance)


def test_a_correction_is_applied_to_the_attempt_that_it_answers_not_to_the_last(scripted: Scripted) -> None:
    given = guided(decision="corrected", patch=PATCH)
    second = RETRY | {"attempt_number": 2}
    with scripted(answer(200, RETRY), answer(200, second), answer(200, given)).client() as client:
        client.submit("open", tool_call_id="t1", arguments={"mode": "raed", "key": "first"})
        client.submit("open", tool_call_id="t2", arguments={"mode": 5, "key": "second"}, call_id="call-1")
        assert client.wait_for_guidance("call-1").arguments == {"mode": "read", "key": "first"}


def test_a_correction_without_its_base_is_a_clear_error_and_can_be_applied_by_hand(scripted: Scripted) -> None:
    with scripted(answer(200, guided(decision="corrected", patch=PATCH))).client() as client:
        guidance = client.wait_for_guidance("call-1")
    assert guidance.text == "A person answered", "the text can be read all the same"
    with pytest.raises(CorrectionError, match=r"attempt 1.*does not hold.*applied_to\(arguments\)"):
        guidance.arguments  # noqa: B018
    assert guidance.applied_to({"mode": "raed"}) == {"mode": "read"}


@pytest.mark.parametrize("path", ["/mood", "/list/7", "mode", "/mode/deeper"])
def test_a_patch_that_does_not_fit_is_a_clear_error_without_values(scripted: Scripted, path: str) -> None:
    given = guided(decision="corrected", patch=[{"op": "replace", "path": path, "value": 1}])
    with scripted(answer(200, RETRY), answer(200, given)).client() as client:
        outcome = client.submit("open", tool_call_id="t1", arguments={"mode": "s3cret", "list": ["s3cret"]})
        with pytest.raises(CorrectionError, match="does not fit attempt 1") as caught:
            client.wait_for_guidance(outcome).arguments  # noqa: B018
    assert "s3cret" not in str(caught.value)


def test_the_other_operations_ask_for_what_they_are_called(scripted: Scripted) -> None:
    outcome = Outcome("c/1", Status.BLOCKED, CallState.BLOCKED, 3, 3, 3)
    service = scripted(answer(200, {"acknowledged": True}), answer(200, WAITING | {"state": "cancelled"}),
                       answer(200, TOOL))  # fmt: skip
    with service.client() as client:
        assert client.acknowledge(outcome) is True
        assert client.cancel("c/1") is CallState.CANCELLED
        tool = client.register_tool("files/open", {"type": "object"}, max_attempts=5, expires_after="30m")
    assert service.lines == [
        "POST /calls/c%2F1/guidance/ack",
        "POST /calls/c%2F1/cancel",
        "PUT /tools/files%2Fopen",
    ]
    assert service.bodies[2] == {"input_schema": {"type": "object"}, "max_attempts": 5, "expires_after": "30m"}
    assert (tool.name, tool.version, tool.changed) == ("t", 2, True)


SUMMARY: dict[str, Any] = {
    "call_id": "call-1",
    "kind": "tool_call",
    "tool": "open",
    "state": "blocked",
    "session_id": "s",
    "task_id": None,
    "correlation_id": None,
    "model": "gpt-5",
    "attempts_made": 3,
    "attempts_allowed": 3,
    "created_at": "2027-03-14T12:00:00Z",
    "updated_at": "2027-03-14T12:00:01.5Z",
    "expires_at": None,
    "links": {},
}


def test_calls_are_listed_page_by_page(scripted: Scripted) -> None:
    service = scripted(
        answer(
            200, {"calls": [SUMMARY, SUMMARY | {"call_id": "call-2"}], "next": "/api/v1/calls?limit=2&cursor=x%20y"}
        ),
        answer(200, {"calls": [SUMMARY | {"call_id": "call-3"}], "next": None}),
    )
    with service.client() as client:
        found = list(client.calls(state=CallState.BLOCKED, tool="files/open", session_id=None))
    assert service.lines == ["GET /calls?state=blocked&tool=files%2Fopen&limit=100", "GET /calls?limit=2&cursor=x%20y"]
    assert [call.call_id for call in found] == ["call-1", "call-2", "call-3"]
    assert (found[0].state, found[0].attempts_made, found[0].updated_at.second) == (CallState.BLOCKED, 3, 1)
    assert found[0].expires_at is None


def test_the_next_page_is_asked_for_only_when_somebody_reads_that_far() -> None:
    service = Script("sync", [answer(200, {"calls": [SUMMARY], "next": "/api/v1/calls?cursor=c"})])
    with service.client() as client:
        assert next(client.calls()).call_id == "call-1"
    assert len(service.requests) == 1


@pytest.mark.parametrize("address", ["http://elsewhere/api/v1/calls?cursor=c", "//elsewhere/calls?", "/admin/"])
def test_the_key_is_sent_to_no_other_address_than_the_services_own(scripted: Scripted, address: str) -> None:
    service = scripted(answer(200, {"calls": [], "next": address}))
    with service.client() as client, pytest.raises(UnexpectedAnswerError):
        list(client.calls())
    assert len(service.requests) == 1


KNOWN: dict[str, Any] = {
    "name": "files/open",
    "kind": "tool_call",
    "description": "Open a file",
    "strict": True,
    "version": 2,
    "schema_hash": "ab12",
}


def test_tools_are_listed_page_by_page(scripted: Scripted) -> None:
    service = scripted(
        answer(200, {"tools": [KNOWN], "next": "/api/v1/tools?cursor=c"}),
        answer(200, {"tools": [KNOWN | {"name": "read"}], "next": None}),
    )
    with service.client() as client:
        found = list(client.tools(kind="tool_call"))
    assert service.lines == ["GET /tools?kind=tool_call&limit=100", "GET /tools?cursor=c"]
    assert [(tool.name, tool.version, tool.input_schema) for tool in found] == [
        ("files/open", 2, None),
        ("read", 2, None),
    ]


def test_a_tool_is_read_with_its_schema(scripted: Scripted) -> None:
    service = scripted(answer(200, KNOWN | {"input_schema": {"type": "object"}}))
    with service.client() as client:
        assert client.tool("files/open").input_schema == {"type": "object"}
    assert service.lines == ["GET /tools/files%2Fopen"]


def test_a_dry_run_gives_the_verdict_and_the_models_text(scripted: Scripted) -> None:
    body = {"valid": False, "errors": [ERROR], "feedback": "Validation failed", "characters": 17, "tokens_estimate": 5}
    service = scripted(answer(200, body))
    with service.client() as client:
        result = client.dry_run({"type": "object"}, '{"mode"', tool="open", attempt=2)
    assert service.bodies == [{"input_schema": {"type": "object"}, "raw": '{"mode"', "tool": "open", "attempt": 2}]
    assert (result.is_valid, result.feedback, result.errors[0].field_path) == (False, "Validation failed", "/mode")


def test_an_outcome_counts_the_errors_that_the_reply_left_out(scripted: Scripted) -> None:
    told = {"valid": False, "errors": [ERROR], "feedback": "", "characters": 0, "tokens_estimate": 0}
    service = scripted(
        answer(200, RETRY | {"errors_left_out": 1_520}), answer(200, RETRY), answer(200, told | {"errors_left_out": 3})
    )
    with service.client() as client:
        assert client.submit("open", **ATTEMPT).errors_left_out == 1_520
        assert client.submit("open", **ATTEMPT).errors_left_out == 0
        assert client.dry_run({}, {}).errors_left_out == 3
