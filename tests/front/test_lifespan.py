"""The waiting room's beginning and end: its hooks, and what becomes of those who wait."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.front.connections import BoundedRequest, Doorkeeper, room
from tests.front.waiting_house import House, Speaking, house_open, polls, prefer
from tests.serving.servers import is_listened_to
from tests.serving.threads import Sent, eventually, fetch, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrycontract.front.wsgi import Receive, Scope, Send


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
    from retrycontract.front.connections import BoundedRequest
    from retrycontract.front.waiting import Bells, FrontOfHouse

    def app(environ, start_response):
        start_response("202 Accepted", [("Retrycontract-Pending", "never; /api/jobs/1")])
        return [b"pending"]

    stopped = lambda: print("stopped", flush=True)
    house = FrontOfHouse(WsgiBridge(app, max_body_bytes=1000), Bells(), on_shutdown=stopped)
    config = uvicorn.Config(
        house, port=0, lifespan="on", log_level="warning", access_log=False, http=BoundedRequest
    )
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without SIGTERM")
@pytest.mark.parametrize("before", [b"", b"GET /api/jobs/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_signal_refuses_a_request_whose_body_is_still_coming(before: bytes) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SERVER)]
    head = b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        eventually(lambda: is_listened_to(port))
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(before + head + b" " * 100)
            time.sleep(0.5)
            server.send_signal(signal.SIGTERM)
            answers = b"".join(iter(lambda: line.recv(65_536), b""))  # to the end: the connection is closed
        said, failed = server.communicate(timeout=20)
    *earlier, refusal = [f"HTTP/1.1 {answer}" for answer in answers.decode().split("HTTP/1.1 ")[1:]]
    assert [answer.split()[1] for answer in earlier] == (["202"] if before else [])
    assert refusal.startswith("HTTP/1.1 503 ")
    assert "\r\nretry-after: 1\r\n" in refusal
    assert "send it again" in refusal
    assert (said, failed) == ("stopped\n", "")


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
    assert asyncio.run(admitted([""] * 4)) == [True, True, True, False]
    assert asyncio.run(admitted(["192.0.2.1"] * 4)) == [True, False, False, False]


async def admitted(addresses: list[str]) -> list[bool]:
    keeper = Doorkeeper(most=3, most_of_one_address=1, header_seconds=0, body_seconds=0)
    connections: list[Any] = [object() for _ in addresses]
    let_in = [keeper.admit(*each) for each in zip(connections, addresses, strict=True)]
    for connection, address, was_let_in in zip(connections, addresses, let_in, strict=True):
        if was_let_in:
            keeper.forget(connection, address)
    assert not +keeper._of_address
    assert keeper._timer is not None
    keeper._timer.cancel()
    return let_in


@pytest.mark.parametrize(
    ("addresses", "let_in"),
    [
        (["2001:db8:1:2::7", "2001:db8:1:2:ffff::9", "2001:db8:1:3::7"], [True, False, True]),
        (["::ffff:9.9.9.3", "9.9.9.3", "::ffff:9.9.9.4"], [True, False, True]),
        (["fe80::1%eth0", "fe80::2%eth0"], [True, True]),  # machines of one link
    ],
)
def test_addresses_of_one_customer_hold_the_connections_of_one(addresses: list[str], let_in: list[bool]) -> None:
    assert asyncio.run(admitted(addresses)) == let_in


def test_large_bodies_share_a_room_and_leave_it_with_their_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sent 2 MB without an end, without a key, 4,000 times at once, took 8 GB."""
    monkeypatch.setattr(room, "most", 400_000)
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        more = True
        while more and (message := await receive())["type"] == "http.request":
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    with serving(app, protocol=BoundedRequest) as port, ExitStack() as stack:

        def sent(size: int, of: int) -> socket.socket:
            line = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            line.sendall(head % of + b" " * size)
            return line

        held = [sent(200_000, 250_000) for _ in range(2)]
        eventually(lambda: room.held == 2 * (200_000 - 65_536))
        refused = sent(200_000, 200_000).recv(1_000)
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in refused
        assert b" 200 " in sent(60_000, 60_000).recv(1_000)
        for line in held:
            line.sendall(b" " * 50_000)
            assert b" 200 " in line.recv(1_000)
        for line in held:
            line.sendall(head % 250_000 + b" " * 250_000)
            assert b" 200 " in line.recv(1_000)
    eventually(lambda: room.held == 0)


def test_who_leaves_before_their_pipelined_requests_are_answered_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    begun, heard = list[str](), list[str]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["path"])
        if scope["path"] == "/second":
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    while (message := await receive())["type"] == "http.request":
                        pass
                    heard.append(message["type"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        begun.append("")

    with serving(app, protocol=BoundedRequest) as port:
        with socket.create_connection(("127.0.0.1", port)) as line:
            paths = ("first", "second", "third")
            line.sendall(b"".join(b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode() for path in paths))
            eventually(lambda: "/second" in begun)
        eventually(lambda: begun.count("") == 2, within=10)
    assert (begun, heard) == (["/first", "", "/second", ""], ["http.disconnect"])
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


CUT_OFF = """
    import asyncio
    import signal
    import uvicorn
    from retrycontract.front.connections import BoundedRequest

    async def app(scope, receive, send):
        if scope["path"] != "/silent":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun", "more_body": scope["path"] == "/begun"})
        await asyncio.sleep(60)

    config = uvicorn.Config(
        app, port=0, lifespan="off", log_level="warning", access_log=False, http=BoundedRequest,
        timeout_graceful_shutdown=1,
    )
    listening = config.bind_socket()
    print(listening.getsockname()[1], flush=True)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # uvicorn raises it once more when it has ended
    uvicorn.Server(config).run(sockets=[listening])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without SIGTERM")
@pytest.mark.parametrize(
    ("path", "answered"),
    [
        ("silent", ["HTTP/1.1 503 Service Unavailable", "retry-after: 1", "may have been done"]),
        ("begun", ["HTTP/1.1 200 OK", "begun"]),
        ("whole", ["HTTP/1.1 200 OK", "begun", "0\r\n\r\n"]),
    ],
)
def test_who_is_not_answered_within_the_grace_is_told_and_the_log_has_no_traceback(
    path: str, answered: list[str]
) -> None:
    command = [sys.executable, "-c", textwrap.dedent(CUT_OFF)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        eventually(lambda: is_listened_to(port))
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(f"GET /{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            time.sleep(0.5)
            server.send_signal(signal.SIGTERM)
            answer = b"".join(iter(lambda: line.recv(65_536), b"")).decode()
        _, logged = server.communicate(timeout=20)
    assert all(part in answer for part in answered), answer
    assert answer.count("HTTP/1.1") == 1
    assert "Traceback" not in logged
    assert "without" not in logged, "an application that was ended has not failed"


def test_a_connection_that_has_ended_leaves_nothing_for_the_collector() -> None:
    """The collector of a service looks through the old seldom: what holds itself would stay for a minute."""
    story = textwrap.dedent(
        """
        import asyncio, gc, weakref
        import uvicorn
        from retrycontract.front.connections import BoundedRequest

        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        made = []
        class Watched(BoundedRequest):
            def connection_made(self, transport):
                made.append(weakref.ref(self))
                super().connection_made(transport)

        async def main():
            config = uvicorn.Config(app, port=0, lifespan="off", log_level="error", http=Watched)
            server, listening = uvicorn.Server(config), config.bind_socket()
            serving = asyncio.create_task(server.serve([listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            gc.disable()
            for _ in range(5):
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                writer.write(b"GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n")
                await reader.read()
                writer.close()
            await asyncio.sleep(0.2)
            print(len(made), sum(each() is not None for each in made))
            server.should_exit = True
            await serving

        asyncio.run(main())
        """
    )
    said = subprocess.run([sys.executable, "-c", story], capture_output=True, text=True, check=False, timeout=60)
    assert said.stdout == "5 0\n", said.stderr
