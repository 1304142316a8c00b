"""The waiting room holds requests: at its ASGI door, and behind a real uvicorn."""

from __future__ import annotations

import asyncio
import gc
import http.client
import threading
import time

import pytest

from retrycontract.front.wsgi import Response
from tests.conftest import require
from tests.front.waiting_house import House, Speaking, enough_files, house_open, polls, prefer
from tests.serving.threads import Sent, eventually, fetch, http_scope

# --- over a socket --------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("news", [b"carried", b"forged"])
def test_what_comes_with_the_ring_is_the_answer_unless_it_does_not_fit(news: bytes) -> None:
    def answer_of_news(pending: Response, target: str, news: bytes) -> Response | None:
        assert (pending.status, target) == (202, "/api/jobs/1?again=%2F1")
        return Response(200, (), news) if news == b"carried" else None

    with (
        house_open(answer_of_news=answer_of_news) as (house, port),
        polls(port, "/api/jobs/1", headers=prefer("wait=30")) as replies,
    ):
        eventually(lambda: house.room.waiting)
        house.desk.answers["1"] = "asked"
        house.bells.ring("call:1", news)
    assert (replies[0].status, replies[0].header("preference-applied")) == (200, "wait=30")
    assert (replies[0].body, len(house.desk.asked)) == ((b"carried", 1) if news == b"carried" else (b"asked", 2))


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
    """Four unrung questions a second are the most: 100 waiters with a tiny recheck ask every 25 s."""

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
        assert asyncio.run(story(house, port)) <= 20  # 20,000 without the rule


# --- at its ASGI door -----------------------------------------------------------------------------------------


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
