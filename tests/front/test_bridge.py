"""Requests over the bridge: through a real uvicorn where a socket matters, else at the ASGI door."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract.front.bridge import DEAR_PAGE_SECONDS, DEAR_SECONDS, ESCAPED_BYTES, LOGIN_BYTES, WsgiBridge
from retrycontract.front.wsgi import Message
from tests.front.bridge_desk import LIMIT, Desk, exchange
from tests.front.bridge_desk import desk as desk
from tests.front.bridge_desk import port as port
from tests.serving.threads import Sent, fetch, http_scope

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


def echoed(port: int, path: str, **request: Any) -> dict[str, str]:
    reply = fetch(port, path, **request)
    assert reply.status == 200
    echo: dict[str, str] = json.loads(reply.body)
    return echo


def spoken(port: int, request: bytes) -> bytes:
    """Say bytes to the server and hear everything until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plug:
        plug.sendall(request)
        heard = b""
        while part := plug.recv(65_536):
            heard += part
        return heard


# --- bodies ---------------------------------------------------------------------------------------------------


def test_a_body_of_exactly_the_limit_arrives_whole(port: int) -> None:
    echo = echoed(port, "/api/x", method="POST", body=b"x" * LIMIT, headers={"Content-Type": "text/plain"})
    assert (echo["body"], echo["CONTENT_LENGTH"], echo["CONTENT_TYPE"]) == ("x" * LIMIT, "1000", "text/plain")
    assert "HTTP_CONTENT_TYPE" not in echo
    assert "HTTP_CONTENT_LENGTH" not in echo


def test_a_chunked_body_arrives_with_its_length_and_no_trace_of_the_chunks(port: int) -> None:
    echo = echoed(port, "/api/x", method="POST", body=iter([b"ab", b"cd", b"e"]))
    assert (echo["body"], echo["CONTENT_LENGTH"]) == ("abcde", "5")
    assert "HTTP_TRANSFER_ENCODING" not in echo


def test_a_declared_body_over_the_limit_is_refused_before_it_is_sent(port: int, desk: Desk) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plug:
        plug.sendall(b"POST /api/v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n")
        response = http.client.HTTPResponse(plug)
        response.begin()
        problem = json.loads(response.read())
    assert response.status == 413
    assert response.getheader("content-type") == "application/problem+json"
    assert response.getheader("connection") == "close"
    assert problem == {
        "type": "urn:retrycontract:problem:body-too-large",
        "title": "Too large",
        "status": 413,
        "detail": "The request body is over 1000 bytes. Send less in one request.",
        "code": "body-too-large",
        "limit": 1000,
    }
    assert desk.seen == []


def test_a_client_that_asks_before_it_uploads_is_refused_without_being_told_to_go_on(port: int) -> None:
    head = b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n"
    assert spoken(port, head).startswith(b"HTTP/1.1 413 ")


def test_a_client_that_uploads_everything_first_still_reads_the_refusal(port: int, desk: Desk) -> None:
    reply = fetch(port, "/api/x", method="POST", body=b"x" * 20_000_000)
    assert (reply.status, json.loads(reply.body)["code"]) == (413, "body-too-large")
    assert desk.seen == []


def test_a_page_refuses_a_large_body_in_plain_text(port: int, desk: Desk) -> None:
    reply = fetch(port, "/login", method="POST", body=b"x" * (LIMIT + 1))
    assert (reply.status, reply.header("content-type")) == (413, "text/plain; charset=utf-8")
    assert reply.body == b"The request body is over 1000 bytes. Send less in one request.\n"
    assert desk.seen == []


def test_who_sends_too_large_a_form_reads_a_page_and_an_agent_its_problem() -> None:
    def answer(path: str, limit: int = LIMIT, content_type: bytes = b"text/plain") -> tuple[int, bytes, bytes]:
        headers = ((b"content-length", b"%d" % (limit + 1)), (b"content-type", content_type))
        sent, scope = Sent(), http_scope(path, method="POST", headers=headers)
        left: list[Message] = [{"type": "http.disconnect"}]

        async def receive() -> Message:
            return left[0]

        bridge = WsgiBridge(Desk(), max_body_bytes=max(LIMIT, limit), too_large_page=lambda limit: f"<h1>{limit}</h1>")
        asyncio.run(bridge(scope, receive, sent))
        bridge.close()
        return sent.status, dict(sent.messages[0]["headers"])[b"content-type"], sent.messages[1]["body"]

    assert answer("/calls/x/answer") == (413, b"text/html; charset=utf-8", b"<h1>1000</h1>")
    assert answer("/api/v1/calls")[:2] == (413, b"application/problem+json")
    # What anybody may send is read to the end of no more than a name and a password.
    assert answer("/login/", 2 * LOGIN_BYTES) == (413, b"text/html; charset=utf-8", b"<h1>%d</h1>" % LOGIN_BYTES)
    # Percent escapes are dear to undo, and a page sends what is long in parts.
    for escaped in (b"application/x-www-form-urlencoded", b"Application/X-WWW-Form-URLencoded; charset=utf-8"):
        assert answer("/playground/", 4 * ESCAPED_BYTES, escaped)[2] == b"<h1>%d</h1>" % ESCAPED_BYTES
        assert answer("/playground/", LIMIT, escaped)[2] == b"<h1>1000</h1>"
        assert b'"limit": 1048576' in answer("/api/v1/calls", 4 * ESCAPED_BYTES, escaped)[2]
    assert answer("/playground/", 4 * ESCAPED_BYTES, b"multipart/form-data; boundary=x")[2] == b"<h1>1048576</h1>"


def test_a_chunked_body_without_end_is_cut_off(port: int, desk: Desk) -> None:
    head = b"POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    heard = spoken(port, head + b"1f5\r\n" + b"x" * 501 + b"\r\n" + b"1f5\r\n" + b"x" * 501 + b"\r\n")
    assert heard.startswith(b"HTTP/1.1 413 ")
    assert desk.seen == []


def test_nothing_is_read_of_a_body_that_is_declared_too_large() -> None:
    left: list[Message] = [{"type": "http.disconnect"}]
    sent, desk = Sent(), Desk()
    headers = ((b"content-length", b"9" * 5_000),)
    asyncio.run(exchange(desk, "/api/x", "POST", left, sent, headers))
    assert sent.status == 413
    assert sent.messages[1]["body"].startswith(b"{")  # the refusal stands there before anything is received
    assert desk.seen == []


def test_the_first_chunk_over_the_limit_is_the_last_one_that_is_kept() -> None:
    chunk = {"type": "http.request", "body": b"x" * 400, "more_body": True}
    left: list[Message] = [*[dict(chunk) for _ in range(3)], {"type": "http.disconnect"}, {"type": "unread"}]
    sent, desk = Sent(), Desk()
    asyncio.run(exchange(desk, "/api/x", "POST", left, sent))
    assert (sent.status, desk.seen, left) == (413, [], [{"type": "unread"}])


def test_a_client_that_leaves_in_the_middle_of_its_body_never_reaches_the_application() -> None:
    left: list[Message] = [
        {"type": "http.request", "body": b"x", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent, desk = Sent(), Desk()
    asyncio.run(exchange(desk, "/api/x", "POST", left, sent))
    assert (sent.messages, desk.seen) == ([], [])


# --- what the application is told -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/plain", b"/plain"),
        ("/caf%C3%A9", "/café".encode()),
        ("/caf%E9", b"/caf\xe9"),
        ("/a%2Fb", b"/a/b"),
        ("/nul%00", b"/nul\x00"),
        ("/100%25", b"/100%"),
        ("/broken%zz%", b"/broken%zz%"),
        ("/%F0%9F%92%A5", "/💥".encode()),
        ("/space%20plus+", b"/space plus+"),
        ("//double", b"//double"),
    ],
)
def test_a_path_arrives_as_the_bytes_it_stands_for(port: int, target: str, path: bytes) -> None:
    echo = echoed(port, target + "?q=%C3%A9+%00&r")
    assert echo["PATH_INFO"].encode("latin-1") == path
    assert echo["QUERY_STRING"] == "q=%C3%A9+%00&r"
    assert echo["SCRIPT_NAME"] == ""


def test_a_mount_point_is_taken_off_the_path() -> None:
    paths: list[tuple[str, str]] = []

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        paths.append((environ["SCRIPT_NAME"], environ["PATH_INFO"]))
        start_response("200 OK", [])
        return []

    async def ask() -> None:
        bridge = WsgiBridge(app, max_body_bytes=LIMIT)
        scope = {**http_scope("/desk/api/x"), "root_path": "/desk"}
        assert bridge.is_api(scope)
        await bridge.ask(scope, b"")
        bridge.close()

    asyncio.run(ask())
    assert paths == [("/desk", "/api/x")]


def test_the_environment_names_both_ends_of_the_connection(port: int) -> None:
    echo = echoed(port, "/")
    assert (echo["REMOTE_ADDR"], echo["SERVER_NAME"], echo["SERVER_PORT"]) == (
        "127.0.0.1",
        "127.0.0.1",
        str(port),
    )
    assert (echo["SERVER_PROTOCOL"], echo["wsgi.url_scheme"]) == ("HTTP/1.1", "http")
    assert echo["HTTP_HOST"] == f"127.0.0.1:{port}"


def test_repeated_headers_are_joined_and_cookies_with_their_own_sign(port: int) -> None:
    heard = spoken(
        port,
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: a\r\nCookie: one=1\r\nX-Odd: \xe9\r\n"
        b"accept: b\r\ncookie: two=2\r\n\r\n",
    )
    echo = json.loads(heard.partition(b"\r\n\r\n")[2])
    assert (echo["HTTP_ACCEPT"], echo["HTTP_COOKIE"], echo["HTTP_X_ODD"]) == ("a,b", "one=1; two=2", "\xe9")


def test_a_header_with_an_underscore_cannot_pass_for_the_one_with_a_dash(port: int) -> None:
    echo = echoed(port, "/", headers={"X-Real-Name": "proxy", "X_Real_Name": "client"})
    assert echo["HTTP_X_REAL_NAME"] == "proxy"


def test_requests_of_one_turn_are_read_one_at_a_time_and_hold_up_no_other() -> None:
    turns = {"20": threading.Semaphore(1), "12": threading.Semaphore(1)}
    most, others, both = list[bool](), threading.Event(), threading.Barrier(2, timeout=10)

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])
        if environ["CONTENT_LENGTH"] == "0":
            others.set()
            return []
        turn = turns[environ["CONTENT_LENGTH"]]
        is_alone = turn.acquire(blocking=False)
        most.append(is_alone)
        both.wait()
        others.wait(10)
        if is_alone:
            turn.release()
        return []

    async def ask() -> None:
        bridge = WsgiBridge(app, slow_threads=4, turn_of=lambda *request: str(request[2] or ""), max_body_bytes=LIMIT)
        sent = [bridge.ask(http_scope("/api/x", method="POST"), b"x" * size) for size in (20, 20, 12, 12, 0)]
        await asyncio.gather(*sent)
        bridge.close()

    asyncio.run(ask())
    assert most == [True] * 4


# --- turns ----------------------------------------------------------------------------------------------------


def order_of(path: str, header: bytes, many: Sequence[bytes], one: bytes) -> tuple[list[str], int]:
    """Ask many times at once, then once more: give who was served when, and how many of the many at a time at most."""
    order, inside, most = list[str](), list[str](), list[int]()
    variable = f"HTTP_{header.decode().upper()}"

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        who = environ[variable]
        if who.encode() != one:
            inside.append(who)
            most.append(len(inside))
            time.sleep(0.002)
            inside.remove(who)
        order.append(who)
        start_response("200 OK", [])
        return [b""]

    async def ask_all() -> None:
        bridge = WsgiBridge(application, max_body_bytes=LIMIT)
        asked = [asyncio.ensure_future(bridge.ask(http_scope(path, headers=((header, value),)), b"")) for value in many]
        await asyncio.sleep(0)  # all have come
        await bridge.ask(http_scope(path, headers=((header, one),)), b"")
        await asyncio.gather(*asked)
        bridge.close()

    asyncio.run(ask_all())
    assert len(order) == len(many) + 1
    return order, max(most)


@pytest.mark.parametrize("blanks", [1, 1_000])
def test_of_a_thousand_requests_of_one_key_few_are_before_those_of_another(blanks: int) -> None:
    many = [b"Bearer%smany" % (b" " * (1 + number % blanks)) for number in range(1_000)]
    order, _ = order_of("/api/v1/calls", b"authorization", many, b"Bearer one")
    assert order.index("Bearer one") <= 4


def test_who_read_what_is_dear_to_write_is_not_before_the_others() -> None:
    threads, is_held, let_go = defaultdict[str, list[str]](list), threading.Event(), threading.Event()

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        threads[environ["HTTP_AUTHORIZATION"]].append(threading.current_thread().name.partition("_")[0])
        if environ["PATH_INFO"] == "/api/held":
            is_held.set()
            let_go.wait(10)
        begun = time.thread_time()
        while environ["PATH_INFO"] == "/api/dear" and time.thread_time() - begun < 2 * DEAR_SECONDS:
            pass
        start_response("200 OK", [])
        return [b""]

    async def story() -> None:
        bridge = WsgiBridge(application, max_body_bytes=LIMIT)

        async def read(path: str, key: bytes) -> None:
            await asyncio.wait_for(bridge.ask(http_scope(path, headers=((b"authorization", key),)), b""), 5)

        await read("/api/dear", b"Bearer one")
        await read("/api/quick", b"Bearer two")
        held = asyncio.create_task(read("/api/held", b"Bearer  one"))
        await asyncio.to_thread(is_held.wait, 10)
        await read("/api/quick", b"Bearer two")
        let_go.set()
        await held
        bridge.close()

    try:
        asyncio.run(story())
    finally:
        let_go.set()
    assert threads == {"Bearer one": ["read"], "Bearer  one": ["dear"], "Bearer two": ["read", "read"]}


def test_of_pages_that_are_dear_one_is_made_at_a_time_and_forms_and_other_pages_wait_for_none() -> None:
    made = list[tuple[str, str, str]]()

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        made.append((method, path, threading.current_thread().name.partition("_")[0]))
        begun = time.thread_time()
        while path == "/calls/dear/" and time.thread_time() - begun < 1.5 * DEAR_PAGE_SECONDS:
            pass
        start_response("200 OK", [])
        return [b""]

    async def story() -> None:
        bridge = WsgiBridge(application, max_body_bytes=LIMIT)

        async def open_page(method: str, path: str, session: str = "one") -> None:
            scope = http_scope(path, method=method, headers=((b"cookie", f"sessionid={session}".encode()),))
            await asyncio.wait_for(bridge.ask(scope, b""), 30)

        for method, path in [("GET", "/calls/dear/"), ("GET", "/calls/dear/"), ("POST", "/calls/dear/"), ("GET", "/")]:
            await open_page(method, path)
        await open_page("GET", "/calls/dear/", "two")
        bridge.close()

    asyncio.run(story())
    assert made == [
        ("GET", "/calls/dear/", "page"), ("GET", "/calls/dear/", "dear page"), ("POST", "/calls/dear/", "page"),
        ("GET", "/", "page"), ("GET", "/calls/dear/", "page"),
    ]  # fmt: skip


# The same person, as Django reads the cookies, however they are written.
SPELT = {
    "plainly": [b"csrftoken=a; sessionid=one"] * 60,
    "behind another": [b"sessionid=%d; sessionid=one" % number for number in range(60)],
    "behind another of an odd blank": [b"sessionid=%d; sessionid\xa0=\xa0one" % number for number in range(60)],
    "in quotes": [b'sessionid="%sone"' % (b"\\157" * (number % 9)) for number in range(60)],
    "not at all": [b"csrftoken=%d" % number for number in range(60)],
}


@pytest.mark.parametrize("many", SPELT.values(), ids=SPELT)
def test_of_many_pages_of_one_person_few_are_before_those_of_another(many: list[bytes]) -> None:
    order, most = order_of("/calls/", b"cookie", many, b"sessionid=two")
    assert order.index("sessionid=two") <= 8
    assert most <= 2
