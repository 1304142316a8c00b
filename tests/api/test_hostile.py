"""Hostile requests: each is answered with a problem or a verdict, never with a failure, and nothing goes out."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from retrycontract.store.models import Attempt
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.api.conftest import Door
from tests.api.hostile_bodies import JUDGED, REFUSED, Hostile, every_hostile
from tests.api.outbound import outbound
from tests.factories import make_tool
from tests.sampling import sampled

HOSTILE = dict(every_hostile())
MAX_ANSWER = 100_000  # characters: what is sent in is not sent back


@pytest.fixture
def quiet_door(door: Door) -> Iterator[Door]:
    make_tool(door.agent)
    with outbound() as heard:
        yield door
    assert heard == []


def test_the_tables_are_large_enough() -> None:
    assert len(HOSTILE) >= 300


@pytest.mark.parametrize("hostile", sampled(HOSTILE, one_in=8))
def test_a_hostile_request_is_answered(quiet_door: Door, hostile: Hostile) -> None:
    reply = quiet_door.send(
        hostile.method, hostile.path, hostile.body, content_type=hostile.content_type, **hostile.headers
    )
    assert reply.status in hostile.right, reply.text[:500]
    assert len(reply.text) < MAX_ANSWER
    if reply.status == 202:
        judge_waiting(clock=timezone.now)
        assert Attempt.objects.get().state == "judged"


OF_CALLS = [hostile.body for hostile in HOSTILE.values() if hostile.path == "/calls" and hostile.body]
SMALL = [body for body in OF_CALLS if len(body) < 2_000]
PIECES = [
    b"NaN", b"1e999", b"-0", b"9" * 400, b"{", b"}", b"[", b"]", b'"', b"\\", b"\\ud800", b"\\u0000", b",", b":", b" ",
    b"null", b"true", b'"tool"', b'"arguments"', b'"a": 1, "a": 2', b"//", b"\xff", b"\xef\xbb\xbf", b"\r\n",
]  # fmt: skip


@pytest.fixture
def unmetered(settings: Settings) -> None:
    update = {"requests_per_minute": 0, "work_seconds_per_minute": 0}
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update=update)


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """Put something into the body of a request, leave something out, or write it down in another encoding."""
    body = draw(st.sampled_from(SMALL))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(body)))
        body = body[:at] + draw(st.sampled_from(PIECES) | st.binary(max_size=3)) + body[at + draw(st.integers(0, 6)) :]
    encoding = draw(st.sampled_from(["latin-1"] * 8 + ["utf-16", "utf-8-sig"]))
    return body if encoding == "latin-1" else body.decode("latin-1").encode(encoding)


@pytest.mark.timeout(3_600)  # a hang guard for the twenty thousand of the longest profile
@given(body=spoilt())
@hypothesis_settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("unmetered")
def test_whatever_a_body_is_spoilt_to_it_is_answered(quiet_door: Door, body: bytes) -> None:
    reply = quiet_door.post("/calls", body)
    assert reply.status in (*REFUSED, *JUDGED, 409), reply.text[:500]
    assert reply.status in JUDGED or reply.code
    assert len(reply.text) < MAX_ANSWER


def test_the_hook_hears_what_goes_out() -> None:
    """The negative control of the fixture."""
    with outbound() as heard, socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert [event.split()[0] for event in heard] == ["socket.getaddrinfo", "socket.connect"]
