"""The bridge, through a real uvicorn where a socket matters, and at the ASGI door where a message does."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from wsgiref.validate import validator

import pytest

from retrycontract.bridge import Message, WsgiBridge
from tests.live_server import Sent, fetch, http_scope, serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LIMIT = 1_000


class Desk:
    """Stand in for Django: echo what arrived, and misbehave on request."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.threads: set[str] = set()
        self.entered = threading.Event()
        self.release = threading.Event()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.seen.append(environ["PATH_INFO"])
        self.threads.add(threading.current_thread().name)
        match environ["PATH_INFO"].removeprefix("/api"):
            case "/raises":
                raise RuntimeError("the secret is hunter2")
            case "/slow":
                self.entered.set()
                self.release.wait(10)
            case "/nap":
                time.sleep(0.05)
            case "/big":
                start_response("200 OK", [("Content-Type", "application/octet-stream")])
                return (b"x" * 65_536 for _ in range(320))
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        echo = {key: value for key, value in environ.items() if isinstance(value, str)}
        text = json.dumps(echo | {"body": body.decode("latin-1")})
        start_response(
            "200 OK",
            [("Content-Type", "application/json"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")],
        )
        return [text.encode()]


@contextmanager
def bridged(app: WSGIApplication, *, check: bool = True, **options: Any) -> Iterator[int]:
    bridge = WsgiBridge(validator(app) if check else app, max_body_bytes=LIMIT, **options)
    try:
        with serving(bridge) as port:
            yield port
    finally:
        bridge.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.release.set()


@pytest.fixture
def port(desk: Desk) -> Iterator[int]:
    with bridged(desk) as port:
        yield port


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


def answered(app: WSGIApplication, path: str = "/", *, method: str = "GET") -> Sent:
    """Take one request through the ASGI door alone."""
    sent = Sent()
    asyncio.run(_exchange(app, path, method, [{"type": "http.request", "body": b""}], sent))
    return sent


async def _exchange(
    app: WSGIApplication,
    path: str,
    method: str,
    messages: list[Message],
    sent: Sent,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    async def receive() -> Message:
        return messages.pop(0)

    bridge = WsgiBridge(app, max_body_bytes=LIMIT)
    try:
        await bridge(http_scope(path, method=method, headers=headers), receive, sent)
    finally:
        bridge.close()


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


def test_a_chunked_body_without_end_is_cut_off(port: int, desk: Desk) -> None:
    head = b"POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    heard = spoken(port, head + b"1f5\r\n" + b"x" * 501 + b"\r\n" + b"1f5\r\n" + b"x" * 501 + b"\r\n")
    assert heard.startswith(b"HTTP/1.1 413 ")
    assert desk.seen == []


def test_nothing_is_read_of_a_body_that_is_declared_too_large() -> None:
    left: list[Message] = [{"type": "http.disconnect"}]
    sent, desk = Sent(), Desk()
    headers = ((b"content-length", b"9" * 5_000),)
    asyncio.run(_exchange(desk, "/api/x", "POST", left, sent, headers))
    assert sent.status == 413
    assert sent.messages[1]["body"].startswith(b"{")  # the refusal stands there before anything is received
    assert desk.seen == []


def test_the_first_chunk_over_the_limit_is_the_last_one_that_is_kept() -> None:
    chunk = {"type": "http.request", "body": b"x" * 400, "more_body": True}
    left: list[Message] = [*[dict(chunk) for _ in range(3)], {"type": "http.disconnect"}, {"type": "unread"}]
    sent, desk = Sent(), Desk()
    asyncio.run(_exchange(desk, "/api/x", "POST", left, sent))
    assert (sent.status, desk.seen, left) == (413, [], [{"type": "unread"}])


def test_a_client_that_leaves_in_the_middle_of_its_body_never_reaches_the_application() -> None:
    left: list[Message] = [
        {"type": "http.request", "body": b"x", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent, desk = Sent(), Desk()
    asyncio.run(_exchange(desk, "/api/x", "POST", left, sent))
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


# --- what the client gets -------------------------------------------------------------------------------------


def test_repeated_response_headers_stay_apart(port: int) -> None:
    cookies = [value for name, value in fetch(port, "/").headers if name == "set-cookie"]
    assert cookies == ["a=1", "b=2"]


def test_a_big_response_arrives_whole_with_its_length(port: int) -> None:
    reply = fetch(port, "/big")
    assert (len(reply.body), reply.header("content-length")) == (320 * 65_536, str(320 * 65_536))


def test_head_gives_the_headers_of_get_without_its_body(port: int) -> None:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
        return [b"hello"]

    with bridged(app, check=False) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for method, body in (("HEAD", b""), ("GET", b"hello"), ("HEAD", b"")):  # on one connection
            connection.request(method, "/")
            response = connection.getresponse()
            assert (response.status, response.getheader("content-length"), response.read()) == (200, "5", body)
        connection.close()
    assert answered(app, method="HEAD").messages[1]["body"] == b""


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_status_without_body_gets_none_and_keeps_the_connection(status: str) -> None:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response(status, [])
        return [b"not allowed"]

    with bridged(app, check=False) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(2):
            connection.request("GET", "/")
            response = connection.getresponse()
            assert (response.status, response.read()) == (int(status[:3]), b"")
        connection.close()


def test_a_length_that_the_application_got_wrong_is_put_right() -> None:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "999")])
        return [b"hello"]

    with bridged(app, check=False) as port:
        assert fetch(port, "/").body == b"hello"


def test_what_is_written_comes_before_what_is_returned() -> None:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])(b"written ")
        return [b"returned"]

    assert answered(app).messages[1]["body"] == b"written returned"


def test_an_application_may_replace_a_response_that_it_had_begun() -> None:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])
        try:
            int("late")
        except ValueError:
            start_response("503 Unavailable", [], sys.exc_info())
        return [b"sorry"]

    assert answered(app).status == 503


# --- when the application fails -------------------------------------------------------------------------------


def test_an_application_that_raises_tells_the_log_and_not_the_client(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    page, api = fetch(port, "/raises"), fetch(port, "/api/raises")
    assert (page.status, page.body) == (500, b"The server failed. Its log has the reason.\n")
    assert (api.status, api.header("content-type")) == (500, "application/problem+json")
    assert json.loads(api.body)["code"] == "internal"
    assert b"hunter2" not in page.body + api.body
    assert [record.name for record in caplog.records] == ["retrycontract.bridge"] * 2
    assert "hunter2" in caplog.text
    assert fetch(port, "/").status == 200


def silent(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    return [b"no status"]


def twice(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    start_response("200 OK", [])
    start_response("200 OK", [])
    return []


@pytest.mark.parametrize("app", [silent, twice])
def test_an_application_that_breaks_the_protocol_is_a_500(
    app: WSGIApplication, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(app).status == 500
    assert "start_response" in caplog.text


class Closing:
    def __init__(self, *, raises: bool) -> None:
        self.closed = 0
        self._raises = raises

    def __iter__(self) -> Iterator[bytes]:
        yield b"part"
        if self._raises:
            raise OSError("the disk is gone")

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(("raises", "status"), [(False, 200), (True, 500)])
def test_the_response_is_closed_once_whether_or_not_it_could_be_read(
    raises: bool, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    closing = Closing(raises=raises)

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Closing:
        start_response("200 OK", [])
        return closing

    assert answered(app).status == status
    assert closing.closed == 1


def test_the_bridge_alone_serves_nothing_but_http() -> None:
    bridge = WsgiBridge(Desk(), max_body_bytes=LIMIT)

    async def receive() -> Message:
        raise AssertionError("Nothing is to be received.")

    with pytest.raises(NotImplementedError, match="HTTP only"):
        asyncio.run(bridge({"type": "websocket"}, receive, Sent()))


# --- the two pools --------------------------------------------------------------------------------------------


@contextmanager
def requests_underway(port: int, paths: list[str]) -> Iterator[list[int]]:
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda path=path: statuses.append(fetch(port, path).status)) for path in paths]
    for thread in threads:
        thread.start()
    yield statuses
    for thread in threads:
        thread.join(20)


@pytest.mark.parametrize(
    ("slow", "quick"),
    [("/slow", "/api/x"), ("/api/slow", "/page"), ("/slow", "/%61pi/x")],
)
def test_a_slow_request_of_one_kind_never_delays_the_other(port: int, desk: Desk, slow: str, quick: str) -> None:
    with requests_underway(port, [slow] * 6) as statuses:
        assert desk.entered.wait(10)
        began = time.monotonic()
        assert fetch(port, quick).status == 200
        assert time.monotonic() - began < 5  # the slow ones take ten seconds
        desk.release.set()
    assert statuses == [200] * 6


def test_the_api_runs_one_request_at_a_time_and_pages_run_side_by_side(port: int, desk: Desk) -> None:
    with requests_underway(port, ["/api/nap"] * 8 + ["/nap"] * 8) as statuses:
        pass
    assert statuses == [200] * 16
    api, pages = (sorted(name for name in desk.threads if name.startswith(kind)) for kind in ("api", "page"))
    assert (len(api), 1 < len(pages) <= 4) == (1, True)


def test_the_sizes_of_both_pools_are_settings(desk: Desk) -> None:
    with bridged(desk, api_threads=3, page_threads=1) as port, requests_underway(port, ["/api/nap"] * 9 + ["/nap"] * 3):
        pass
    kinds = [name.partition("_")[0] for name in desk.threads]
    assert (1 < kinds.count("api") <= 3, kinds.count("page")) == (True, 1)
