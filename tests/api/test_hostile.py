"""Hostile requests: each is answered with a problem or a verdict, never with a failure, and nothing goes out."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from django.utils import timezone

from retrycontract.store.models import Attempt
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.api.conftest import Door
from tests.api.hostile_bodies import Hostile, every_hostile
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


def test_the_hook_hears_what_goes_out() -> None:
    """The negative control of the fixture."""
    with outbound() as heard, socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert [event.split()[0] for event in heard] == ["socket.getaddrinfo", "socket.connect"]
