"""Following events: each once, over breaks, restarts and refusals; against a service that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from retrycontract.client import Event, NotAuthenticatedError, UnavailableError, UnexpectedAnswerError, UnreachableError
from retrycontract.client.events import MAX_SEEN, Feed
from retrycontract.client.exchange import Patience
from tests.client.scripted import URL, Script, problem

if TYPE_CHECKING:
    from tests.client.conftest import Scripted

LOST = httpx2.ReadError("reset")
REFUSED = httpx2.ConnectError("refused")


def frame(number: int, kind: str = "call.blocked", **details: Any) -> str:
    data = {"call_id": "call_1", "state": "blocked", "attempts": 3, **details}
    told = {"type": kind, "timestamp": "2027-03-14T12:00:00.125Z", "data": data}
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(told)}\n\n"


def stream(*frames: str) -> httpx2.Response:
    return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content="".join(frames).encode())


def first(count: int, events: Iterator[Event]) -> list[int]:
    found = [event.id for event in islice(events, count)]
    events.close()  # type: ignore[attr-defined]
    return found


def asked_from(script: Script) -> list[str | None]:
    return [request.headers.get("last-event-id") for request in script.requests]


def test_an_event_is_a_value(scripted: Scripted) -> None:
    script = scripted(stream(": \n\n", "id: 4\n\n", frame(5, round=2)))
    with script.client() as client:
        events = client.events(types=["call.blocked", "guidance.given"], call_id="call_1")
        event = next(events)
        events.close()
    assert (event.id, event.type, event.call_id, event.state) == (5, "call.blocked", "call_1", "blocked")
    assert event.at.isoformat() == "2027-03-14T12:00:00.125000+00:00"
    assert event.data["round"] == 2
    assert script.lines == ["GET /events?types=call.blocked%2Cguidance.given&call_id=call_1"]
    assert script.requests[0].headers["accept"] == "text/event-stream"


def test_a_stream_that_ends_is_taken_up_behind_the_last_event_and_repeats_are_dropped(scripted: Scripted) -> None:
    script = scripted(
        stream("id: 1\n\n"),
        stream(frame(2), frame(4), "retry: 2500\n\n"),
        stream(frame(2), frame(3), frame(4), frame(5)),
    )
    with script.client() as client:
        assert first(4, client.events()) == [2, 4, 3, 5]
    assert asked_from(script) == [None, "1", "4"]
    assert script.slept == [1.0, 2.5]


def test_who_knows_where_to_begin_says_so(scripted: Scripted) -> None:
    script = scripted(stream(frame(1)))
    with script.client() as client:
        assert first(1, client.events(after=0)) == [1]
    assert asked_from(script) == ["0"]


def test_a_frame_that_was_cut_off_is_read_whole_the_next_time(scripted: Scripted) -> None:
    script = scripted(stream(frame(1), frame(2)[:-9]), stream(frame(1), frame(2)))
    with script.client() as client:
        assert first(2, client.events()) == [1, 2]
    assert asked_from(script) == [None, "1"]


@pytest.mark.parametrize(
    "failure", [LOST, REFUSED, problem(503, "busy"), problem(429, "too-many-requests"), problem(502, "bad-gateway")]
)
def test_what_passes_is_waited_for(scripted: Scripted, failure: Any) -> None:
    script = scripted(stream(frame(1)), failure, failure, stream(frame(1), frame(2)))
    with script.client() as client:
        assert first(2, client.events()) == [1, 2]
    assert asked_from(script) == [None, "1", "1", "1"]
    assert script.slept == [1.0, 0.5, 1.0]


@pytest.mark.parametrize(("failure", "error"), [(REFUSED, UnreachableError), (problem(503, "busy"), UnavailableError)])
def test_when_patience_ends_the_error_says_what_happened(scripted: Scripted, failure: Any, error: type) -> None:
    script = scripted(stream(frame(1)), failure)
    with script.client(patience=10) as client:
        events = client.events()
        assert next(events).id == 1
        with pytest.raises(error):
            next(events)
    assert 2 < len(script.requests) < 10


def test_patience_begins_anew_with_each_stream_that_opens(scripted: Scripted) -> None:
    answers = [answer for number in range(20) for answer in (stream(frame(number)), LOST)]
    script = scripted(*answers)
    with script.client(patience=3) as client:
        assert first(20, client.events()) == list(range(20))


def test_a_key_that_was_revoked_ends_the_events(scripted: Scripted) -> None:
    script = scripted(stream(frame(1)), problem(401, "unknown-key"))
    with script.client() as client:
        events = client.events()
        assert next(events).id == 1
        with pytest.raises(NotAuthenticatedError):
            next(events)


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, headers={"Content-Type": "text/html"}, content=b"<p>hello"),
        stream("id: 1\ndata: {\n\n"),
        stream("id: x\ndata: {}\n\n"),
        stream('id: 1\ndata: {"type": "a", "timestamp": "b", "data": {}}\n\n'),
    ],
)
def test_what_is_no_stream_of_ours_is_an_error(scripted: Scripted, answer: httpx2.Response) -> None:
    with scripted(answer).client() as client, pytest.raises(UnexpectedAnswerError):
        next(client.events())


def lines(frames: Iterable[str]) -> list[str]:
    return [line for each in frames for line in each.split("\n")[:-1]]


def test_only_so_many_ids_are_remembered() -> None:
    feed = Feed(URL, Patience(1, lambda: 0.0, lambda: 0.0), types=(), call_id=None, after=None)
    for line in lines(frame(number) for number in range(MAX_SEEN + 1)):
        feed.take(line)
    again = [feed.take(line) for line in lines([frame(MAX_SEEN), frame(0)])]
    assert [event.id for event in again if event] == [0]
