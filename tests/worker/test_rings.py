"""Rings from other processes: over Redis, by the catch-up query, and after a gap for everybody."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count

import pytest
from django.db import InterfaceError
from django.utils import timezone
from redis import Redis as Client

from retrycontract.front.waiting import Bells
from retrycontract.store.models import Call
from retrycontract.usecases.notify.doorbell import DESK_BELL, agent_bell
from tests.factories import WRONG, make_agent, make_tool, submit
from tests.serving.servers import Redis
from tests.serving.threads import eventually
from worker.celery_doorbell import CHANNEL, CeleryDoorbell
from worker.rings import CatchUp, RingListener

pytestmark = pytest.mark.services

NOON = datetime.fromisoformat("2030-01-01T12:00:00+00:00")


@contextmanager
def listening(url: str, bells: Bells, looked: Callable[..., dict[str, datetime]] = lambda _: {}) -> Iterator[None]:
    listener = RingListener(url, bells, CatchUp(bells, looked))
    before = bells.ticket()
    listener.start()
    try:
        if url:
            eventually(lambda: bells.ticket() > before)  # it has subscribed
        yield
    finally:
        listener.stop()


def is_rung(bells: Bells, key: str, since: int) -> bool:
    return asyncio.run(bells.wait(key, since, 0.01))


def test_a_ring_reaches_the_waiting_room_of_another_process(bell: CeleryDoorbell, own_redis: Redis) -> None:
    others = Bells()
    with listening(own_redis.url, others):
        ticket = others.ticket()
        with Client.from_url(own_redis.url) as anybody:
            anybody.publish(CHANNEL, b"\xff call_3\n\xff")  # whoever can write to Redis can ring, and with anything
        bell.call_changed("call_1", 1, b"sealed")
        eventually(lambda: is_rung(others, "call_1", ticket))
        assert not is_rung(others, "call_2", ticket)
        assert [others.news(key, ticket) for key in ("call_1", agent_bell(1), DESK_BELL)] == [b"sealed", None, None]


def test_after_a_restart_of_redis_everybody_is_woken_and_rings_come_again(
    bell: CeleryDoorbell, own_redis: Redis
) -> None:
    others = Bells()
    with listening(own_redis.url, others):
        ticket = others.ticket()
        own_redis.stop(signal.SIGKILL)
        own_redis.start()
        eventually(lambda: is_rung(others, "anybody", ticket))
        ticket = others.ticket()
        bell.call_changed("call_1", 1)
        eventually(lambda: is_rung(others, "call_1", ticket))


@contextmanager
def somebody_waiting(bells: Bells, key: str) -> Iterator[threading.Thread]:
    ticket = bells.ticket()
    waiter = threading.Thread(target=lambda: asyncio.run(bells.wait(key, ticket, 20)))
    waiter.start()
    eventually(lambda: bells.waited_for() == [key])
    yield waiter
    bells.ring_all()
    waiter.join()


def test_catching_up_rings_for_what_changed_among_what_is_waited_for() -> None:
    bells = Bells()
    states = {"a": NOON, "b": NOON}
    asked: list[list[str]] = []

    def look(call_ids: list[str]) -> dict[str, datetime]:
        asked.append(call_ids)
        return {call_id: states[call_id] for call_id in call_ids}

    catch_up = CatchUp(bells, look)  # type: ignore[arg-type]
    catch_up.run()
    assert asked == [], "nobody waits, nothing is asked"
    with somebody_waiting(bells, "a") as waiter:
        for _ in range(3):
            catch_up.run()
        assert waiter.is_alive()
        states["b"] += timedelta(seconds=1)
        catch_up.run()
        assert waiter.is_alive()
        states["a"] += timedelta(seconds=1)
        catch_up.run()
        waiter.join(5)
        assert not waiter.is_alive()
    assert asked == [["a"]] * 5


@pytest.mark.usefixtures("shared_database")
def test_without_redis_a_change_is_seen_within_seconds() -> None:
    agent = make_agent()
    make_tool(agent)
    call = submit(agent, WRONG).call
    bells = Bells()
    with listening("", bells, Call.objects.changed_at), somebody_waiting(bells, call.public_id) as waiter:
        waiter.join(1.5)
        assert waiter.is_alive()
        Call.objects.update(updated_at=timezone.now())
        waiter.join(5)
        assert not waiter.is_alive()


def test_only_the_calls_that_exist_are_told() -> None:
    bells = Bells()
    catch_up = CatchUp(bells, lambda _: {})
    with somebody_waiting(bells, "gone") as waiter:
        catch_up.run()
        catch_up.run()
        assert waiter.is_alive()


@pytest.mark.parametrize("fault", [InterfaceError("connection already closed"), RuntimeError("anything else")])
def test_the_listener_outlives_whatever_a_look_raises(fault: Exception) -> None:
    bells, looks = Bells(), count()

    def look(keys: list[str]) -> dict[str, datetime]:
        looked = next(looks)
        if looked == 0:
            raise fault
        return dict.fromkeys(keys, NOON + timedelta(seconds=looked))

    with listening("", bells, look), somebody_waiting(bells, "a") as waiter:
        waiter.join(10)
        assert not waiter.is_alive()
