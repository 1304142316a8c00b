"""Event streams at the front of house: pages written as they come, and what ends a stream."""

from __future__ import annotations

import asyncio
import http.client
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest

from retrycontract.front.bridge import WsgiBridge
from retrycontract.front.streaming import Pace, Rhythm
from retrycontract.front.waiting import Bells, FrontOfHouse
from retrycontract.front.wsgi import Message
from tests.conftest import require
from tests.front.waiting_house import enough_files, never
from tests.serving.threads import Sent, eventually, fetch, http_scope, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

LONG = 1_000.0
QUICK = Rhythm(heartbeat=LONG, pause=0, pages_per_second=10_000, recheck=LONG, questions_per_second=10_000)


class Log:
    """Stand in for Django: numbers are events, a page holds at most two, a cursor is how many were read."""

    def __init__(self, bells: Bells) -> None:
        self.bells = bells
        self.events = 0
        self.status = "200 OK"
        self.asked: list[WSGIEnvironment] = []
        self.meanwhile: Callable[[], object] = int  # does nothing

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.asked.append(environ)
        if not self.status.startswith("200"):
            start_response(self.status, [("Content-Type", "application/problem+json")])
            return [b"{}"]
        begin = int(parse_qs(environ["QUERY_STRING"]).get("cursor", ["0"])[0])
        end = min(self.events, begin + 2)
        self.meanwhile()
        bell = "log" if end == self.events else ""
        pending = f"{bell}; /api/events?cursor={end}"
        start_response("200 OK", [("Content-Type", "text/event-stream"), ("Retrycontract-Pending", pending)])
        return [f"id: {number}\n\n".encode() for number in range(begin + 1, end + 1)]

    def add(self, count: int = 1) -> None:
        self.events += count
        self.bells.ring("log")


class House:
    """Hold a room, its bells and its log together."""

    def __init__(self, rhythm: Rhythm = QUICK) -> None:
        self.bells = Bells()
        self.log = Log(self.bells)
        self.bridge = WsgiBridge(self.log, max_body_bytes=1_000)
        self.room = FrontOfHouse(self.bridge, self.bells, rhythm=rhythm)

    def is_empty(self) -> bool:
        return self.room.streaming == 0 and not self.bells._waiters


@contextmanager
def house_open(rhythm: Rhythm = QUICK) -> Iterator[tuple[House, int]]:
    house = House(rhythm)
    with serving(house.room, lifespan="on") as port:
        yield house, port
        house.room._streams._closing.is_set() or eventually(house.is_empty)


class Reader:
    """Read one stream over a socket."""

    def __init__(self, port: int, path: str = "/api/events", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.connection.request("GET", path, headers=headers)
        self.response = self.connection.getresponse()

    def frame(self) -> str:
        """Give the next frame, comments included; "" at the end."""
        lines: list[str] = []
        while (line := self.response.readline()) not in (b"\n", b""):
            lines.append(line.decode().rstrip("\n"))
        return "\n".join(lines)

    def ids(self, count: int) -> list[int]:
        """Give the next ids, passing over comments."""
        found: list[int] = []
        while len(found) < count:
            frame = self.frame()
            assert frame, "the stream has ended"
            found += [int(number) for number in re.findall(r"id: (\d+)", frame)]
        return found

    def close(self) -> None:
        self.response.close()
        self.connection.close()


@contextmanager
def reading(port: int, path: str = "/api/events", **headers: str) -> Iterator[Reader]:
    reader = Reader(port, path, **headers)
    try:
        yield reader
    finally:
        reader.close()


def test_pages_are_written_as_they_come_and_a_full_one_is_followed_at_once() -> None:
    with house_open() as (house, port):
        house.log.events = 5
        with reading(port) as reader:
            assert reader.ids(5) == [1, 2, 3, 4, 5]
            house.log.add()
            assert reader.ids(1) == [6]
            house.log.add(3)
            assert reader.ids(3) == [7, 8, 9]


def test_the_head_of_a_stream_is_for_streams_and_says_nothing_of_our_notes() -> None:
    with house_open() as (_, port), reading(port) as reader:
        headers = {name.lower(): value for name, value in reader.response.getheaders()}
        assert reader.response.status == 200
        assert headers["content-type"] == "text/event-stream"
        assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
        assert {"content-length", "retrycontract-pending", "preference-applied"} & headers.keys() == set()
        assert reader.frame() == ":"


@pytest.mark.parametrize("question", [1, 2])
def test_a_ring_while_a_page_is_asked_for_is_not_lost(question: int) -> None:
    with house_open() as (house, port):

        def meanwhile() -> None:
            if len(house.log.asked) == question:
                house.log.add()

        house.log.meanwhile = meanwhile
        with reading(port) as reader:
            if question == 2:
                eventually(lambda: house.bells._waiters)
                house.log.add()
            assert reader.ids(question) == list(range(1, question + 1))


def test_a_ring_that_got_lost_costs_time_only() -> None:
    with house_open(Rhythm(recheck=0.1, pause=0)) as (house, port), reading(port) as reader:
        eventually(lambda: house.bells._waiters)
        house.log.events = 1
        assert reader.ids(1) == [1]


def test_a_silent_stream_shows_that_it_lives() -> None:
    with house_open(Rhythm(heartbeat=0.05, recheck=LONG, pause=0)) as (house, port), reading(port) as reader:
        assert [reader.frame() for _ in range(4)] == [":"] * 4
        assert len(house.log.asked) == 1


def test_what_happens_in_quick_succession_comes_on_one_page() -> None:
    with house_open(Rhythm(pause=0.3)) as (house, port), reading(port) as reader:
        for _ in range(2):
            house.log.add()
        assert reader.ids(2) == [1, 2]
        assert len(house.log.asked) == 2


@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found", "422 Unprocessable"])
def test_a_stream_ends_when_its_next_page_is_refused(status: str) -> None:
    with house_open() as (house, port), reading(port) as reader:
        assert reader.frame() == ":"
        house.log.status = status
        house.log.add()
        assert re.fullmatch(r"retry: \d{4}", reader.frame())
        assert reader.frame() == ""
        eventually(house.is_empty)


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Unavailable", "500 Broken"])
def test_a_stream_outlives_a_failure_that_passes(status: str) -> None:
    with house_open(Rhythm(heartbeat=0.05, pause=0)) as (house, port), reading(port) as reader:
        house.log.status = status
        house.log.add()
        eventually(lambda: len(house.log.asked) > 1)
        house.log.status = "200 OK"
        assert reader.ids(1) == [1]


def test_a_first_page_that_is_refused_is_an_answer_like_any_other() -> None:
    with house_open() as (house, port):
        house.log.status = "401 Unauthorized"
        reply = fetch(port, "/api/events")
        assert (reply.status, reply.header("content-type"), reply.body) == (401, "application/problem+json", b"{}")


def test_each_page_is_asked_for_in_the_readers_name() -> None:
    with house_open() as (house, port):
        with reading(port, Authorization="Bearer rc_1", **{"Last-Event-ID": "7"}) as reader:
            house.log.add()
            assert reader.ids(1) == [1]
        assert [environ["HTTP_AUTHORIZATION"] for environ in house.log.asked] == ["Bearer rc_1"] * 2
        assert house.log.asked[1]["QUERY_STRING"] == "cursor=0"


def test_readers_with_one_key_share_a_page_and_others_do_not() -> None:
    with house_open() as (house, port):
        same = [Reader(port, Authorization="Bearer one") for _ in range(4)]
        other = Reader(port, Authorization="Bearer two")
        eventually(lambda: house.room.streaming == 5 and len(house.bells._waiters.get("log", ())) == 2)
        before = len(house.log.asked)
        house.log.add()
        assert [reader.ids(1) for reader in (*same, other)] == [[1]] * 5
        asked = [environ["HTTP_AUTHORIZATION"] for environ in house.log.asked[before:]]
        assert sorted(asked) == ["Bearer one", "Bearer two"]
        for reader in (*same, other):
            reader.close()


def test_who_reads_on_is_not_disturbed_by_who_leaves() -> None:
    with house_open() as (house, port):
        first, second = Reader(port), Reader(port)
        eventually(lambda: house.room.streaming == 2 and len(house.bells._waiters.get("log", ())) == 1)
        first.close()
        eventually(lambda: house.room.streaming == 1)
        house.log.add()
        assert second.ids(1) == [1]
        second.close()


def test_a_reader_that_leaves_leaves_nothing_behind() -> None:
    with house_open() as (house, port):
        with reading(port) as reader:
            reader.frame()
            eventually(lambda: house.room.streaming == 1)
        eventually(house.is_empty)


def test_when_the_server_stops_readers_are_told_when_to_come_back() -> None:
    with house_open() as (house, port):
        readers = [Reader(port) for _ in range(3)]
        assert [reader.frame() for reader in readers] == [":"] * 3
        house.room.stop_waiting()
        ends = [reader.frame() for reader in readers]
        assert all(re.fullmatch(r"retry: [1-4]\d{3}", end) for end in ends)
        assert [reader.frame() for reader in readers] == [""] * 3
        late = Reader(port)
        assert late.frame() == ":"
        assert late.frame().startswith("retry: ")
        for reader in (*readers, late):
            reader.close()


def test_a_head_request_gets_no_stream() -> None:
    with house_open() as (_, port):
        reply = fetch(port, "/api/events", method="HEAD", headers={"Prefer": "wait=0"})
        assert (reply.status, reply.body) == (200, b"")


def test_questions_of_all_streams_are_asked_at_a_measured_pace() -> None:
    async def story() -> float:
        pace = Pace(100, burst=5)
        clock = asyncio.get_running_loop().time
        began = clock()
        await asyncio.gather(*(pace.turn() for _ in range(25)))
        return clock() - began

    assert asyncio.run(story()) >= 0.19


def test_five_hundred_streams_need_no_thread_each_and_one_question_tells_them_all() -> None:
    count = 500
    require(enough_files(3 * count), "too few open files are allowed")
    before = threading.active_count()

    async def read(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"id: 1\n\n")
        writer.close()
        await writer.wait_closed()
        return b"read"

    async def story(house: House, port: int) -> list[bytes]:
        streams = [asyncio.create_task(read(port)) for _ in range(count)]
        await asyncio.to_thread(eventually, lambda: house.room.streaming == count, within=60)
        await asyncio.to_thread(eventually, lambda: len(house.bells._waiters.get("log", ())) == 1)
        assert threading.active_count() < before + 20
        already = len(house.log.asked)
        house.log.add()
        done = await asyncio.gather(*streams)
        assert len(house.log.asked) == already + 1
        return done

    with house_open() as (house, port):
        assert asyncio.run(story(house, port)) == [b"read"] * count


def test_a_reader_that_takes_nothing_does_not_hold_up_the_end() -> None:
    class Stalled(Sent):
        async def __call__(self, message: Message) -> None:
            if len(self.messages) >= 2:
                await never()
            await super().__call__(message)

    async def story() -> set[Any]:
        house = House()
        messages = [{"type": "http.request"}]
        house.log.events = 1

        async def receive() -> Message:
            return messages.pop() if messages else await never()

        stream = asyncio.create_task(house.room(http_scope("/api/events"), receive, Stalled()))
        while not house.bells._waiters:
            await asyncio.sleep(0.001)
        house.log.add()
        await asyncio.sleep(0.05)
        house.room.stop_waiting()
        await asyncio.wait_for(stream, 10)
        house.bridge.close()
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(story()) == set()


def test_a_page_outside_of_the_api_may_be_a_stream_and_sessions_never_share_their_answers() -> None:
    with house_open() as (house, port):
        with reading(port, "/live", Cookie="s=1") as mia, reading(port, "/live", Cookie="s=2") as noah:
            house.log.add()
            assert (mia.ids(1), noah.ids(1)) == ([1], [1])
        asked_again = [environ for environ in house.log.asked if environ["QUERY_STRING"] == "cursor=0"]
        assert {environ["HTTP_COOKIE"] for environ in asked_again} == {"s=1", "s=2"}
