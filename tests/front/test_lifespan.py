"""The waiting room's beginning and end: its hooks, and what becomes of those who wait."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.front.connections import Doorkeeper
from tests.front.waiting_house import House, Speaking, house_open, polls, prefer
from tests.serving.servers import is_listened_to
from tests.serving.threads import Sent, eventually, fetch

if TYPE_CHECKING:
    from collections.abc import Callable


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
    from retrycontract.front.bridge import WsgiBridge
    from retrycontract.front.waiting import Bells, FrontOfHouse

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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_the_polls_and_ends_the_server_at_once(number: signal.Signals) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SERVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        eventually(lambda: is_listened_to(port))
        with polls(port, "/api/jobs/1", 5, headers=prefer("wait=60")) as replies:
            time.sleep(0.5)
            assert replies == []
            began = time.monotonic()
            server.send_signal(number)
            said, _ = server.communicate(timeout=20)
        assert time.monotonic() - began < 20  # not the minute they were ready to wait
    assert [(reply.status, reply.body) for reply in replies] == [(202, b"pending")] * 5
    assert said == "stopped\n"


def test_a_server_that_does_not_wait_for_the_end_cancels_it_without_an_exception() -> None:
    async def ended_early() -> None:
        started = Sent()
        events = Speaking({"type": "lifespan.startup"})  # and then nothing more comes
        living = asyncio.create_task(House().room({"type": "lifespan"}, events, started))
        while not started.messages:
            await asyncio.sleep(0.01)
        living.cancel()
        await living

    asyncio.run(ended_early())


def test_a_socket_file_is_no_address_whose_connections_are_bounded() -> None:
    async def admitted(address: str) -> list[bool]:
        keeper = Doorkeeper(most=3, most_of_one_address=1, header_seconds=0, body_seconds=0)
        connections: list[Any] = [object() for _ in range(4)]
        let_in = [keeper.admit(connection, address) for connection in connections]
        assert keeper._timer is not None
        keeper._timer.cancel()
        return let_in

    assert asyncio.run(admitted("")) == [True, True, True, False]
    assert asyncio.run(admitted("192.0.2.1")) == [True, False, False, False]
