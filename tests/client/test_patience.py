"""What is asked again, how long, and under which key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from retrycontract.client import UnavailableError, UnreachableError
from retrycontract.judging.judge import ModelOutput, NotJudgedError, drive
from retrycontract.judging.service_judge import ServiceJudge
from tests.client.scripted import PENDING, URL, VALID, WAITING, answer, guided, problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tests.client.conftest import Scripted

ATTEMPT: dict[str, Any] = {"tool_call_id": "t1", "arguments": {"mode": "raed"}}

FAILURES = {
    "connection refused": httpx2.ConnectError("[Errno 111] Connection refused"),
    "no connection in time": httpx2.ConnectTimeout("timed out"),
    "no free connection": httpx2.PoolTimeout("timed out"),
    "a proxy that refuses": httpx2.ProxyError("403 Forbidden"),
    "the answer broke off": httpx2.ReadError("Connection reset by peer"),
    "no answer in time": httpx2.ReadTimeout("timed out"),
    "closed without an answer": httpx2.RemoteProtocolError("Server disconnected without sending a response."),
    "broken while sending": httpx2.WriteError("Broken pipe"),
    "too many requests": problem(429, "too-many-requests"),
    "busy": problem(503, "busy"),
    "a proxy without a service": httpx2.Response(503, content=b"<html>unavailable</html>"),
    "a proxy lost the answer": httpx2.Response(502),
    "a proxy lost its patience": httpx2.Response(504),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=list(FAILURES))
def test_an_attempt_is_sent_again_under_the_same_key(scripted: Scripted, failure: Any) -> None:
    service = scripted(failure, failure, answer(200, VALID))
    with service.client() as client:
        assert client.submit("open", **ATTEMPT).status == "valid"
        client.submit("open", **ATTEMPT)
    keys = [request.headers["idempotency-key"] for request in service.requests]
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0], "another submission has another key"
    assert service.bodies[:1] * 3 == service.bodies[:3], "another body would be refused"
    assert service.slept == [0.5, 1.0]


def test_an_acknowledgement_that_is_sent_again_is_the_same_one(scripted: Scripted) -> None:
    service = scripted(httpx2.ReadError("gone"), answer(200, {"acknowledged": True}))
    with service.client() as client:
        assert client.acknowledge("call-1") is True
    assert len({request.headers["idempotency-key"] for request in service.requests}) == 1


OTHERS: dict[str, tuple[Callable[[Any], Any], httpx2.Response]] = {
    "verdict": (lambda client: client.wait_for_verdict("call-1"), answer(200, VALID)),
    "guidance": (lambda client: client.wait_for_guidance("call-1"), answer(200, guided())),
    "acknowledge": (lambda client: client.acknowledge("call-1"), answer(200, {"acknowledged": True})),
    "cancel": (lambda client: client.cancel("call-1"), answer(200, WAITING | {"state": "cancelled"})),
    "register": (lambda client: client.register_tools([]), answer(200, {"registered": [], "refused": []})),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=list(FAILURES))
@pytest.mark.parametrize(("operation", "good"), OTHERS.values(), ids=list(OTHERS))
def test_everything_else_is_sent_again_too(
    scripted: Scripted, failure: Any, operation: Callable[[Any], Any], good: httpx2.Response
) -> None:
    service = scripted(failure, good)
    with service.client() as client:
        operation(client)
    assert len(service.requests) == 2
    assert service.lines[0] == service.lines[1]


def test_pauses_grow_to_a_limit_and_end_with_patience(scripted: Scripted) -> None:
    service = scripted(httpx2.ConnectError("[Errno 111] Connection refused"))
    with service.client(patience=30) as client, pytest.raises(UnreachableError, match="Connection refused"):
        client.submit("open", **ATTEMPT)
    assert service.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert sum(service.slept) <= 30


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 0.25), (0.5, 0.375), (1.0, 0.5)])
def test_pauses_are_jittered(scripted: Scripted, chance: float, pause: float) -> None:
    service = scripted(problem(503, "busy"), answer(200, VALID))
    with service.client(random=lambda: chance) as client:
        client.submit("open", **ATTEMPT)
    assert service.slept == [pause]


@pytest.mark.parametrize(
    ("headers", "asked"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": " 7 "}, 7.0),
        ({"Retry-After": "Sun, 14 Mar 2027 12:00:09 GMT", "Date": "Sun, 14 Mar 2027 12:00:00 GMT"}, 9.0),
        ({"Retry-After": "Sun, 14 Mar 2027 11:00:00 GMT", "Date": "Sun, 14 Mar 2027 12:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sun, 14 Mar 2027 12:00:09 GMT"}, 0.0),
        ({"Retry-After": "Sun, 14 Mar 2027 12:00:09 -0000", "Date": "Sun, 14 Mar 2027 12:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, 0.0),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "²"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_services_word_on_when_to_come_back_is_kept(
    scripted: Scripted, headers: dict[str, str], asked: float
) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    service = scripted(problem(429, "too-many-requests", headers=dict(encoded)), answer(200, VALID))
    with service.client() as client:
        client.submit("open", **ATTEMPT)
    assert service.slept == [asked + 0.5]


@pytest.mark.parametrize("asked", ["31", "86400", "9" * 400])
def test_a_service_that_asks_for_more_time_than_there_is_ends_the_patience_at_once(
    scripted: Scripted, asked: str
) -> None:
    service = scripted(problem(429, "too-many-requests", headers={"Retry-After": asked}))
    with service.client(patience=30) as client, pytest.raises(UnavailableError) as caught:
        client.submit("open", **ATTEMPT)
    assert service.slept == []
    assert caught.value.retry_after >= 31


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 415, 422, 500])
def test_what_would_be_answered_the_same_is_not_asked_again(scripted: Scripted, status: int) -> None:
    service = scripted(problem(status, "x"))
    with service.client() as client, pytest.raises(Exception, match=f"HTTP {status}"):
        client.wait_for_guidance("call-1")
    assert len(service.requests) == 1


def test_patience_begins_with_the_first_failure_not_with_a_long_wait(scripted: Scripted) -> None:
    service = scripted(answer(202, PENDING), *[httpx2.ReadError("gone")] * 3, answer(200, VALID))
    with service.client(patience=5) as client:
        service.now += 1_000
        assert client.wait_for_verdict("call-1", timeout=600).status == "valid"


def test_no_patience_means_one_try(scripted: Scripted) -> None:
    service = scripted(httpx2.ConnectError("refused"))
    with service.client(patience=0) as client, pytest.raises(UnreachableError) as caught:
        client.cancel("call-1")
    assert len(service.requests) == 1
    assert caught.value.url == URL


class Slow(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """Send an answer piece by piece, each within the limit for one, and never end it."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(1_000):
            self._service.now += 4
            yield b" "

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


@pytest.mark.parametrize("trickles", [False, True])
@pytest.mark.parametrize(("wait", "patience"), [(2, 3), (0, 0), (60, 30), (5, 100)])
def test_a_service_that_takes_requests_and_never_answers_is_waited_for_no_longer_than_patience_says(
    scripted: Scripted, wait: int, patience: int, *, trickles: bool
) -> None:
    service = scripted(httpx2.Response(200))

    def hang(request: httpx2.Request) -> httpx2.Response:
        if trickles:
            return httpx2.Response(200, stream=Slow(service))
        service.now += request.extensions["timeout"]["read"]
        raise httpx2.ReadTimeout("timed out")

    with service.client(transport=httpx2.MockTransport(hang), patience=patience) as client:
        for held, ask in (
            (0, lambda: client.submit("open", "t1", {}, wait=wait)),
            (wait, lambda: client.wait_for_guidance("call-1", timeout=wait)),
        ):
            began = service.now
            with pytest.raises(UnreachableError):
                ask()
            # Five seconds an answer may always take, and a piece that is on its way arrives.
            assert service.now - began <= min(held, 50) + max(patience, 5) + 5 + 4 * trickles


@pytest.mark.parametrize("state", ["cancelled", "rejected", "expired", "guided"])
def test_a_judge_asks_no_further_for_an_attempt_that_was_dropped(scripted: Scripted, state: str) -> None:
    dropped = answer(200, PENDING | {"state": state})
    script = scripted(answer(202, PENDING), *[dropped] * 5, answer(200, VALID))
    with script.client() as client:
        judge = ServiceJudge(client, "test")
        with pytest.raises(NotJudgedError, match=f"its call is {state}"):
            drive(judge.judge(ModelOutput("open", {})))
        assert len(script.requests) <= 3
        with pytest.raises(NotJudgedError, match=f"its call is {state}"):
            drive(judge.resume("call-1", "open"))
        assert len(script.requests) <= 5  # of a call that was reopened it is asked once more, each time
