"""The waiting room: bells alone, the room at its ASGI door, and both behind a real uvicorn."""

from __future__ import annotations

import asyncio
import gc
import http.client
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.bridge import Message, WsgiBridge
from retrycontract.waiting import Bells, FrontOfHouse, asked_wait
from tests.conftest import require
from tests.live_server import Reply, Sent, eventually, fetch, http_scope, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

LONG = 1_000.0  # longer than any test: what it governs must not happen


class Desk:
    """Stand in for Django: a job is pending until it has an answer."""

    def __init__(self, bells: Bells) -> None:
        self.bells = bells
        self.answers: dict[str, str] = {}
        self.asked: list[WSGIEnvironment] = []
        self.meanwhile: Callable[[str], object] = str  # does nothing

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.asked.append(environ)
        key = environ["PATH_INFO"].rpartition("/")[2]
        answer = self.answers.get(key)
        self.meanwhile(key)
        if answer is not None:
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [answer.encode()]
        again = f"call:{key}; /api/jobs/{key}?again=%2F1"
        start_response("202 Accepted", [("Retry-After", "1"), ("Retrycontract-Pending", again)])
        return [f"pending after {len(self.asked)}".encode()]

    def tell(self, key: str, answer: str) -> None:
        self.answers[key] = answer
        self.bells.ring(f"call:{key}")


class House:
    """Hold a room, its bells and its desk together."""

    def __init__(self, **options: Any) -> None:
        self.bells = Bells()
        self.desk = Desk(self.bells)
        self.bridge = WsgiBridge(self.desk, max_body_bytes=1_000)
        self.room = FrontOfHouse(self.bridge, self.bells, **({"recheck": LONG} | options))

    def is_empty(self) -> bool:
        return self.room.waiting == 0 and not self.bells._waiters


@contextmanager
def house_open(**options: Any) -> Iterator[tuple[House, int]]:
    house = House(**options)
    with serving(house.room, lifespan="on") as port:
        yield house, port
        eventually(house.is_empty)


@contextmanager
def polls(port: int, path: str, count: int = 1, **request: Any) -> Iterator[list[Reply]]:
    """Ask in the background; the replies are all there when the block has ended."""
    replies: list[Reply] = []
    threads = [threading.Thread(target=lambda: replies.append(fetch(port, path, **request))) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield replies
    for thread in threads:
        thread.join(20)
    assert len(replies) == count


def prefer(value: str) -> dict[str, str]:
    return {"Prefer": value}


# --- bells ----------------------------------------------------------------------------------------------------


def rings(bells: Bells, key: str, since: int, *, within: float = 0.02) -> bool:
    return asyncio.run(bells.wait(key, since, within))


def test_a_ring_after_the_ticket_ends_the_wait_at_once() -> None:
    bells = Bells()
    ticket = bells.ticket()
    bells.ring("a")
    assert rings(bells, "a", ticket, within=LONG)


def test_a_ring_before_the_ticket_or_of_another_key_does_not_count() -> None:
    bells = Bells()
    bells.ring("a")
    ticket = bells.ticket()
    bells.ring("b")
    assert not rings(bells, "a", ticket)


def test_a_ring_is_heard_by_everyone_who_holds_an_older_ticket() -> None:
    bells = Bells()
    tickets = [bells.ticket()]
    bells.ring("b")
    tickets.append(bells.ticket())
    bells.ring("a")
    assert [rings(bells, "a", ticket) for ticket in [*tickets, bells.ticket()]] == [True, True, False]


def test_a_ticket_older_than_what_is_remembered_counts_as_rung() -> None:
    bells = Bells(remembered=2)
    old = bells.ticket()
    for key in ("a", "b"):
        bells.ring(key)
    assert not rings(bells, "x", old)
    recent = bells.ticket()
    bells.ring("c")
    assert rings(bells, "x", old)
    assert not rings(bells, "x", recent)


def test_a_key_that_rings_often_takes_one_place_in_memory() -> None:
    bells = Bells(remembered=2)
    ticket = bells.ticket()
    for _ in range(100):
        bells.ring("a")
    bells.ring("b")
    assert list(bells._rung) == ["a", "b"]
    assert not rings(bells, "x", ticket)


def test_the_key_that_rang_longest_ago_is_forgotten_first() -> None:
    bells = Bells(remembered=2)
    for key in ("a", "b"):
        bells.ring(key)
    ticket = bells.ticket()
    for key in ("a", "c"):
        bells.ring(key)
    assert list(bells._rung) == ["a", "c"]
    assert [rings(bells, key, ticket) for key in ("a", "b", "c")] == [True, False, True]


def test_ringing_all_wakes_everybody_and_reaches_those_about_to_wait() -> None:
    async def story() -> list[bool]:
        bells = Bells()
        ticket = bells.ticket()
        waits = [asyncio.create_task(bells.wait(key, ticket, LONG)) for key in ("a", "b")]
        await asyncio.sleep(0)
        bells.ring_all()
        heard = [await wait for wait in waits]
        return [*heard, await bells.wait("c", ticket, LONG), await bells.wait("c", bells.ticket(), 0.02)]

    assert asyncio.run(story()) == [True, True, True, False]


def test_a_ring_from_a_thread_wakes_every_loop_that_waits() -> None:
    bells = Bells()
    heard: list[bool] = []
    loops = [threading.Thread(target=lambda: heard.append(asyncio.run(bells.wait("a", 0, 10)))) for _ in range(3)]
    for loop in loops:
        loop.start()
    eventually(lambda: len(bells._waiters.get("a", ())) == 3)
    bells.ring("a")
    for loop in loops:
        loop.join(10)
    assert heard == [True] * 3


@pytest.mark.parametrize("ending", ["timeout", "ring", "cancel"])
def test_nothing_is_left_of_a_wait_that_has_ended(ending: str) -> None:
    async def story() -> None:
        bells = Bells()
        stays = asyncio.create_task(bells.wait("shared", 0, LONG))
        wait = asyncio.create_task(bells.wait("shared", 0, 0.02 if ending == "timeout" else LONG))
        alone = asyncio.create_task(bells.wait("alone", 0, 0.02 if ending == "timeout" else LONG))
        await asyncio.sleep(0)
        if ending == "ring":
            bells.ring("alone")
        if ending != "timeout":
            wait.cancel()
        if ending == "cancel":
            alone.cancel()
        await asyncio.gather(wait, alone, return_exceptions=True)
        assert [(key, len(waiters)) for key, waiters in bells._waiters.items()] == [("shared", 1)]
        stays.cancel()

    asyncio.run(story())


def test_a_ring_for_a_loop_that_has_closed_is_harmless() -> None:
    bells = Bells()
    loop = asyncio.new_event_loop()
    bells._waiters["a"] = {loop.create_future()}
    loop.close()
    bells.ring("a")


def test_no_ring_is_lost_between_the_look_and_the_wait_however_threads_interleave() -> None:
    bells = Bells(remembered=8)
    published = 0
    total = 5_000

    def publish() -> None:
        nonlocal published
        for number in range(1, total + 1):
            published = number
            bells.ring("a")
            if number % 7 == 0:
                bells.ring(f"noise {number}")

    async def follow() -> None:
        seen = 0
        while seen < total:
            ticket = bells.ticket()
            seen = published
            if seen < total:
                assert await bells.wait("a", ticket, 10), "a ring was lost"

    publisher = threading.Thread(target=publish)
    publisher.start()
    asyncio.run(follow())
    publisher.join(10)


# --- how long the client is ready to wait ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ([], None),
        (["wait=7"], 7),
        (["WAIT=7"], 7),
        (["wait = 7"], 7),
        (['wait="7"'], 7),
        (["wait=7; foo=bar"], 7),
        (["handling=lenient, wait=7 ; x"], 7),
        (["handling=lenient", "wait=7"], 7),
        (["wait=7, wait=9"], 7),
        (['note="a, wait=3; \\" wait=4", wait=7'], 7),
        (["wait=0"], 0),
        (["respond-async"], 0),
        (["respond-async, wait=7"], 7),
        (["wait=7; respond-async"], 7),
        (["wait=99999999999999999999"], 999_999_999),
        (["wait"], None),
        (["wait="], None),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["wait=\xb2"], None),
        (["wait=soon"], None),
        (["await=7"], None),
        ([",,;=,\x22"], None),
    ],
)
def test_prefer_is_read_as_the_standard_has_it(fields: list[str], seconds: int | None) -> None:
    headers = [(b"prefer", field.encode("latin-1")) for field in fields]
    assert asked_wait([(b"x-prefer", b"wait=1"), *headers]) == seconds


def test_a_hostile_prefer_costs_no_more_than_its_length() -> None:
    began = time.monotonic()
    for field in (b'\\"' * 30_000, b'"' + b'\\"' * 30_000, b"wait=" + b"9" * 60_000, b"a," * 30_000):
        asked_wait([(b"prefer", field)])
    assert time.monotonic() - began < 1


# --- the room, over a socket ----------------------------------------------------------------------------------


def test_an_answer_that_is_there_is_given_at_once() -> None:
    with house_open() as (house, port):
        house.desk.answers["1"] = "done"
        reply = fetch(port, "/api/jobs/1", headers=prefer("wait=30"))
    assert (reply.status, reply.body, reply.header("preference-applied")) == (200, b"done", "wait=30")
    assert len(house.desk.asked) == 1


def test_a_ring_ends_a_poll_with_the_answer() -> None:
    with house_open() as (house, port), polls(port, "/api/jobs/1", 3, headers=prefer("wait=30")) as replies:
        eventually(lambda: house.room.waiting == 3)
        house.desk.tell("2", "another's")
        house.desk.tell("1", "done")
    assert [(reply.status, reply.body) for reply in replies] == [(200, b"done")] * 3
    assert {reply.header("preference-applied") for reply in replies} == {"wait=30"}
    assert len(house.desk.asked) == 6


@pytest.mark.parametrize("question", [1, 2])
def test_a_ring_while_a_question_is_still_asked_is_not_lost(question: int) -> None:
    with house_open() as (house, port):

        def meanwhile(key: str) -> None:
            if len(house.desk.asked) == question:
                house.desk.tell(key, "done in between")

        house.desk.meanwhile = meanwhile
        with polls(port, "/api/jobs/1", headers=prefer("wait=30")) as replies:
            if question == 2:
                eventually(lambda: house.room.waiting)
                house.bells.ring("call:1")
    assert (replies[0].status, replies[0].body) == (200, b"done in between")
    assert len(house.desk.asked) == question + 1


def test_a_ring_that_got_lost_costs_time_only() -> None:
    with house_open(recheck=0.1) as (house, port), polls(port, "/api/jobs/1") as replies:
        eventually(lambda: house.room.waiting)
        house.desk.answers["1"] = "nobody rang"
    assert replies[0].body == b"nobody rang"


@pytest.mark.parametrize(
    ("options", "asked", "applied", "least"),
    [
        ({}, prefer("wait=1"), "wait=1", 1),
        ({"default_wait": 1}, {}, None, 1),
        ({"default_wait": 1}, prefer("wait=soon"), None, 1),
        ({"longest_wait": 1}, prefer("wait=600"), "wait=1", 1),
        ({}, prefer("wait=0"), "wait=0", 0),
        ({}, prefer("respond-async"), "wait=0", 0),
    ],
)
def test_at_the_deadline_the_pending_response_goes_out_as_it_is(
    options: dict[str, int], asked: dict[str, str], applied: str | None, least: int
) -> None:
    with house_open(**options) as (_, port):
        began = time.monotonic()
        reply = fetch(port, "/api/jobs/1", headers=asked)
        took = time.monotonic() - began
    assert (reply.status, reply.body, reply.header("retry-after")) == (202, b"pending after 1", "1")
    assert reply.header("preference-applied") == applied
    assert reply.header("retrycontract-pending") is None
    assert least <= took < least + 5  # a loaded machine is slow, the waits it must not take are longer


def test_at_the_deadline_the_latest_pending_response_counts() -> None:
    with house_open() as (house, port), polls(port, "/api/jobs/1", headers=prefer("wait=1")) as replies:
        eventually(lambda: house.room.waiting)
        house.bells.ring("call:1")
    assert (replies[0].status, replies[0].body) == (202, b"pending after 2")


def test_a_submit_asks_again_as_a_plain_get_in_the_same_name() -> None:
    headers = {
        "Authorization": "Bearer rc_1",
        "Content-Type": "application/json",
        "Content-Language": "en",
        "Traceparent": "00-1",
        "Prefer": "wait=30",
    }
    with house_open() as (house, port):
        with polls(port, "/api/jobs/1", method="POST", body=b"{}", headers=headers) as replies:
            eventually(lambda: house.room.waiting)
            house.desk.tell("1", "done")
        first, again = house.desk.asked
    assert replies[0].body == b"done"
    assert (first["REQUEST_METHOD"], first["wsgi.input"].read(), first["CONTENT_TYPE"]) == (
        "POST",
        b"{}",
        "application/json",
    )
    assert (again["REQUEST_METHOD"], again["wsgi.input"].read(), again["CONTENT_LENGTH"]) == ("GET", b"", "0")
    assert (again["PATH_INFO"], again["QUERY_STRING"]) == ("/api/jobs/1", "again=%2F1")
    assert (again["HTTP_AUTHORIZATION"], again["HTTP_TRACEPARENT"]) == ("Bearer rc_1", "00-1")
    assert not {"CONTENT_TYPE", "HTTP_CONTENT_LANGUAGE"} & again.keys()


def test_a_client_cannot_speak_of_what_is_pending() -> None:
    with house_open() as (house, port):
        house.desk.answers["1"] = "done"
        reply = fetch(port, "/api/jobs/1", headers={"Retrycontract-Pending": "call:1; /api/jobs/2"})
        assert reply.body == b"done"
        assert [key for key in house.desk.asked[0] if "PENDING" in key] == []


def test_a_page_is_never_held_and_never_shows_the_note() -> None:
    with house_open() as (_, port):
        reply = fetch(port, "/pages/1", headers=prefer("wait=30"))
    assert (reply.status, reply.body) == (202, b"pending after 1")
    assert reply.header("retrycontract-pending") is None
    assert reply.header("preference-applied") is None


def test_a_held_head_request_ends_without_body() -> None:
    with house_open() as (house, port):
        with polls(port, "/api/jobs/1", method="HEAD", headers=prefer("wait=30")) as replies:
            eventually(lambda: house.room.waiting)
            house.desk.tell("1", "done")
        assert [environ["REQUEST_METHOD"] for environ in house.desk.asked] == ["HEAD", "HEAD"]
    assert (replies[0].status, replies[0].body) == (200, b"")


def test_a_body_over_the_limit_is_refused_here_too() -> None:
    with house_open() as (house, port):
        reply = fetch(port, "/api/jobs/1", method="POST", body=b"x" * 1_001, headers=prefer("wait=30"))
    assert (reply.status, house.desk.asked) == (413, [])


def test_a_client_that_hangs_up_leaves_nothing_behind() -> None:
    with house_open() as (house, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/api/jobs/1", headers=prefer("wait=60"))
        eventually(lambda: house.room.waiting == 1)
        connection.close()
        eventually(house.is_empty, within=2)
        house.desk.tell("1", "too late")
        assert len(house.desk.asked) == 1


def test_a_storm_of_rings_reaches_everyone_and_asks_no_more_than_it_must() -> None:
    with house_open() as (house, port), polls(port, "/api/jobs/1", 4, headers=prefer("wait=30")) as replies:
        eventually(lambda: house.room.waiting == 4)

        def storm() -> None:
            for number in range(5_000):
                house.bells.ring("call:1")
                house.bells.ring(f"call:other {number}")

        threads = [threading.Thread(target=storm) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        questions = len(house.desk.asked)
        house.desk.tell("1", "done")
    assert [reply.body for reply in replies] == [b"done"] * 4
    assert questions < 20_000  # 20,000 rings of their bell, four who wait: rings during a question are one


# --- two thousand at once -------------------------------------------------------------------------------------


async def poll(port: int, number: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        request = f"GET /api/jobs/{number} HTTP/1.1\r\nHost: x\r\nPrefer: wait=60\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def enough_files(count: int) -> bool:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
        return True
    return False


def test_two_thousand_polls_are_held_without_a_thread_each_and_every_one_is_woken() -> None:
    count = 2_000
    require(enough_files(2 * count + 200), "the system allows too few open files")

    async def everyone(house: House, port: int) -> list[bytes]:
        requests = [asyncio.create_task(poll(port, number)) for number in range(count)]
        await asyncio.to_thread(eventually, lambda: len(house.bells._waiters) == count, within=60)
        assert threading.active_count() <= before + 5  # uvicorn, the API's one thread, this loop's helpers
        assert house.room.waiting == count
        for number in range(count):
            house.desk.tell(str(number), f"answer {number}")
        return await asyncio.gather(*requests)

    before = threading.active_count()
    with house_open() as (house, port):
        answers = asyncio.run(everyone(house, port))
    assert all(answer.endswith(f"answer {number}".encode()) for number, answer in enumerate(answers))


def test_a_submit_does_not_queue_behind_a_crowd_that_was_woken_together() -> None:
    count = 500

    async def story(house: House, port: int) -> int:
        requests = [asyncio.create_task(poll(port, 1)) for _ in range(count)]
        await asyncio.to_thread(eventually, lambda: house.room.waiting == count, within=60)
        house.desk.meanwhile = lambda _: time.sleep(0.005)
        house.desk.answers["submit"] = house.desk.answers["1"] = "done"
        already = len(house.desk.asked)
        house.bells.ring("call:1")
        await asyncio.to_thread(fetch, port, "/api/jobs/submit")
        stood_before = len(house.desk.asked) - already
        await asyncio.gather(*requests)
        return stood_before

    with house_open() as (house, port):
        assert asyncio.run(story(house, port)) < 50  # of 500: the crowd asks four at a time


def test_the_more_wait_the_rarer_each_asks_unrung() -> None:
    """Eight unrung questions a second are the most: 100 waiters with a tiny recheck ask every 12 s."""

    async def story(house: House, port: int) -> int:
        requests = [asyncio.create_task(poll(port, number)) for number in range(100)]
        await asyncio.to_thread(eventually, lambda: house.room.waiting == 100, within=60)
        already = len(house.desk.asked)
        await asyncio.sleep(2)
        questions = len(house.desk.asked) - already
        for number in range(100):
            house.desk.tell(str(number), "done")
        await asyncio.gather(*requests)
        return questions

    with house_open(recheck=0.01) as (house, port):
        assert asyncio.run(story(house, port)) < 200  # 20,000 without the rule


# --- the room, at its ASGI door -------------------------------------------------------------------------------


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


class Speaking:
    """Give messages as a server does, and then nothing more."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)

    async def __call__(self) -> Message:
        return self._messages.pop(0) if self._messages else await never()


def test_no_task_outlives_its_request() -> None:
    async def story() -> set[str]:
        house = House()
        sent = Sent()
        scope = http_scope("/api/jobs/1", headers=((b"prefer", b"wait=30"),))
        request = asyncio.create_task(house.room(scope, Speaking({"type": "http.request"}), sent))
        while not house.bells._waiters:
            await asyncio.sleep(0.001)
        house.desk.tell("1", "done")
        await request
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        house.bridge.close()
        assert sent.status == 200
        return {task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}}

    assert asyncio.run(story()) == set()


def test_a_request_that_the_server_cancels_leaves_the_room() -> None:
    async def story() -> House:
        house = House()
        scope = http_scope("/api/jobs/1", headers=((b"prefer", b"wait=30"),))
        request = asyncio.create_task(house.room(scope, Speaking({"type": "http.request"}), Sent()))
        while not house.bells._waiters:
            await asyncio.sleep(0.001)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        await asyncio.sleep(0.01)
        house.bridge.close()
        return house

    house = asyncio.run(story())
    assert house.is_empty()
    gc.collect()  # a future whose result nobody took would warn here


def test_a_websocket_is_refused() -> None:
    sent = Sent()
    house = House()
    asyncio.run(house.room({"type": "websocket"}, Speaking({"type": "websocket.connect"}), sent))
    assert sent.messages == [{"type": "websocket.close", "code": 1000}]


def test_an_unknown_kind_of_connection_is_an_error_of_the_server() -> None:
    with pytest.raises(NotImplementedError, match="'telnet'"):
        asyncio.run(House().room({"type": "telnet"}, Speaking(), Sent()))


# --- beginning and end ----------------------------------------------------------------------------------------


def lived(**hooks: Callable[[], None]) -> list[str]:
    sent = Sent()
    events = Speaking({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    asyncio.run(House(**hooks).room({"type": "lifespan"}, events, sent))
    return [message["type"] for message in sent.messages]


def test_the_hooks_run_off_the_loop_at_the_beginning_and_at_the_end() -> None:
    calls: list[tuple[str, bool]] = []

    def note(what: str) -> Callable[[], None]:
        return lambda: calls.append((what, threading.current_thread() is threading.main_thread()))

    assert lived(on_startup=note("start"), on_shutdown=note("stop")) == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert calls == [("start", False), ("stop", False)]


def failing() -> None:
    raise RuntimeError("no database")


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("on_startup", ["lifespan.startup.failed"]),
        ("on_shutdown", ["lifespan.startup.complete", "lifespan.shutdown.failed"]),
    ],
)
def test_a_hook_that_fails_tells_the_server_and_the_log(
    hook: str, said: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert lived(**{hook: failing}) == said
    assert "no database" in caplog.text


def test_the_servers_signal_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    lived()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_when_waiting_ends_polls_get_what_is_known_and_new_ones_are_not_held() -> None:
    with house_open() as (house, port):
        with polls(port, "/api/jobs/1", 3, headers=prefer("wait=60")) as replies:
            eventually(lambda: house.room.waiting == 3)
            began = time.monotonic()
            house.room.stop_waiting()
        late = fetch(port, "/api/jobs/1", headers=prefer("wait=60"))
        assert time.monotonic() - began < 20  # not the minute they were ready to wait
    assert [reply.status for reply in [*replies, late]] == [202] * 4
    assert len(house.desk.asked) == 4


SERVER = """
    import uvicorn
    from retrycontract.bridge import WsgiBridge
    from retrycontract.waiting import Bells, FrontOfHouse

    def app(environ, start_response):
        start_response("202 Accepted", [("Retrycontract-Pending", "never; /api/jobs/1")])
        return [b"pending"]

    stopped = lambda: print("stopped", flush=True)
    house = FrontOfHouse(WsgiBridge(app, max_body_bytes=1000), Bells(), on_shutdown=stopped)
    config = uvicorn.Config(house, port=0, lifespan="on", log_level="warning", access_log=False)
    listening = config.bind_socket()
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listening])
"""


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_the_polls_and_ends_the_server_at_once(number: signal.Signals) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SERVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        eventually(lambda: accepts(port))
        with polls(port, "/api/jobs/1", 5, headers=prefer("wait=60")) as replies:
            time.sleep(0.5)
            assert replies == []
            began = time.monotonic()
            server.send_signal(number)
            said, _ = server.communicate(timeout=20)
        assert time.monotonic() - began < 20  # not the minute they were ready to wait
    assert [(reply.status, reply.body) for reply in replies] == [(202, b"pending")] * 5
    assert said == "stopped\n"
