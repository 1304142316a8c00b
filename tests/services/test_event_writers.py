"""Several writers on PostgreSQL, whose transactions end in another order than they took their ids: no event is lost."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from retrycontract.config.database_url import read_database_url
from retrycontract.store.models import Agent, Call, Door, Event
from retrycontract.store.transactions import Position, write_transaction
from retrycontract.usecases.notify.follow_events import follow_events
from tests.factories import RIGHT, make_agent, make_tool, submit
from tests.file_database import file_database as file_database
from tests.file_database import using
from tests.serving.servers import PostgreSQL

pytestmark = pytest.mark.services

WRITERS = 6
EACH = 400


@pytest.fixture
def call(postgresql: PostgreSQL, file_database: object) -> Iterator[Call]:
    """A call on PostgreSQL."""
    address: dict[str, Any] = read_database_url(postgresql.new_database())
    with using(address):
        call_command("migrate", verbosity=0)
        agent = make_agent()
        make_tool(agent)
        yield submit(agent, RIGHT).call


def record(call: Call) -> int:
    return Event.record("attempt.judged", call=call, actor="w", door=Door.WORKER, at=timezone.now(), attempt=1).pk


def mine(agent: Agent) -> Any:
    return Event.objects.of(agent)


class SlowWriter(threading.Thread):
    """Write an event, and keep it back until `commit`."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call = call
        self._written, self._go_on = threading.Event(), threading.Event()
        self.event_id = 0

    def run(self) -> None:
        with write_transaction():
            self.event_id = record(self._call)
            self._written.set()
            self._go_on.wait(30)
        connection.close()

    def write(self) -> int:
        self.start()
        assert self._written.wait(30)
        return self.event_id

    def commit(self) -> None:
        self._go_on.set()
        self.join(30)


def test_an_event_that_appears_late_reaches_an_open_stream_and_one_that_is_taken_up_again(call: Call) -> None:
    begin = mine(call.agent).position_now()
    writer = SlowWriter(call)
    early = writer.write()
    late = record(call)
    page = follow_events(call.agent, begin)
    assert [event.id for event in page.events] == [late]
    writer.commit()
    assert early < late
    assert [event.id for event in follow_events(call.agent, page.next).events] == [early]
    again = follow_events(call.agent, mine(call.agent).position_behind(late))
    assert {event.id for event in again.events} >= {early, late}


def test_who_begins_now_hears_of_what_was_being_written(call: Call) -> None:
    writer = SlowWriter(call)
    early = writer.write()
    record(call)
    begin = mine(call.agent).position_now()
    writer.commit()
    assert [event.id for event in follow_events(call.agent, begin).events] == [early]


def test_a_transaction_that_takes_too_long_is_rolled_back(call: Call) -> None:
    before = Event.objects.count()
    with pytest.raises(OperationalError, match="too long"), write_transaction(longest=0):
        record(call)
    assert Event.objects.count() == before


class Reader:
    """Read pages until told to stop; `reconnects` is how likely a page is followed by a new connection."""

    def __init__(self, agent: Agent, *, reconnects: float, seed: int) -> None:
        self._agent = agent
        self._reconnects = reconnects
        self._chance = random.Random(seed)
        self.seen: Counter[int] = Counter()

    def read(self, stopped: threading.Event) -> None:
        position, last = Position(), 0
        while True:
            is_last = stopped.is_set()
            page = follow_events(self._agent, position, size=50)
            got = page.events
            if got and self._chance.random() < self._reconnects:
                got = got[: self._chance.randrange(len(got) + 1)]  # the connection broke under the page
            self.seen.update(event.id for event in got)
            last = got[-1].id if got else last
            is_cut = len(got) < len(page.events) or self._chance.random() < self._reconnects
            position = mine(self._agent).position_behind(last) if is_cut else page.next
            if is_last and not page.events:
                break
        connection.close()


class ForgetfulReader(Reader):
    """Remember the last id only: the control."""

    def read(self, stopped: threading.Event) -> None:
        last = 0
        while not stopped.is_set():
            ids = list(mine(self._agent).filter(pk__gt=last).values_list("pk", flat=True)[:50])
            self.seen.update(ids)
            last = max(ids, default=last)
        connection.close()


def write_some(call: Call, seed: int) -> list[int]:
    chance = random.Random(seed)
    ids = []
    for _ in range(EACH):
        with write_transaction():
            ids.append(record(call))
            time.sleep(chance.random() * 0.005)
    connection.close()
    return ids


@pytest.mark.soak
def test_six_writers_and_readers_that_break_off_at_random_lose_nothing(call: Call) -> None:
    steady = Reader(call.agent, reconnects=0, seed=1)
    broken = Reader(call.agent, reconnects=0.05, seed=2)
    forgetful = ForgetfulReader(call.agent, reconnects=0, seed=3)
    stopped = threading.Event()
    with ThreadPoolExecutor(WRITERS + 3) as pool:
        reading = [pool.submit(reader.read, stopped) for reader in (steady, broken, forgetful)]
        written = {event_id for ids in pool.map(write_some, [call] * WRITERS, range(WRITERS)) for event_id in ids}
        stopped.set()
        for reader in reading:
            reader.result(120)
    assert len(written) == WRITERS * EACH
    assert written - set(steady.seen) == set()
    assert set(steady.seen.values()) == {1}, "an open stream repeats nothing"
    assert written - set(broken.seen) == set()
    assert max(broken.seen.values()) > 1
    assert written - set(forgetful.seen), "the control lost nothing: nothing appeared late, so nothing was proved"
