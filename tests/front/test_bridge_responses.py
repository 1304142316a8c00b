"""Responses over the bridge, and the two pools that they are made in."""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from retrycontract.front.bridge import WsgiBridge
from retrycontract.front.wsgi import Message
from tests.front.bridge_desk import LIMIT, Desk, bridged, exchange
from tests.front.bridge_desk import desk as desk
from tests.front.bridge_desk import port as port
from tests.serving.threads import Sent, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def answered(app: WSGIApplication, path: str = "/", *, method: str = "GET") -> Sent:
    """Take one request through the ASGI door alone."""
    sent = Sent()
    asyncio.run(exchange(app, path, method, [{"type": "http.request", "body": b""}], sent))
    return sent


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
    assert [record.name for record in caplog.records] == ["retrycontract.front.bridge"] * 2
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
def requests_underway(port: int, paths: list[str], method: str = "GET") -> Iterator[list[int]]:
    statuses: list[int] = []

    def ask(path: str) -> None:
        statuses.append(fetch(port, path, method=method, body=None if method == "GET" else b"x").status)

    threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    yield statuses
    for thread in threads:
        thread.join(20)


@pytest.mark.parametrize(
    ("method", "slow", "quick"),
    [
        ("GET", "/slow", "/api/x"),
        ("GET", "/api/slow", "/page"),
        ("GET", "/slow", "/%61pi/x"),
        ("POST", "/api/slow", "/api/x"),
    ],
)
def test_a_slow_request_of_one_kind_never_delays_the_other(
    port: int, desk: Desk, method: str, slow: str, quick: str
) -> None:
    with requests_underway(port, [slow] * 6, method) as statuses:
        assert desk.entered.wait(10)
        began = time.monotonic()
        assert fetch(port, quick).status == 200
        assert time.monotonic() - began < 5  # the slow ones take ten seconds
        desk.release.set()
    assert statuses == [200] * 6


@pytest.mark.parametrize(("method", "kind"), [("POST", "api"), ("GET", "read")])
def test_the_api_runs_one_request_at_a_time_and_pages_run_side_by_side(
    port: int, desk: Desk, method: str, kind: str
) -> None:
    with requests_underway(port, ["/api/nap"] * 8 + ["/nap"] * 8, method) as statuses:
        pass
    assert statuses == [200] * 16
    api, pages = (sorted(name for name in desk.threads if name.startswith(kind)) for kind in (kind, "page"))
    assert (len(api), 1 < len(pages) <= 4) == (1, True)


def test_the_sizes_of_both_pools_are_settings(desk: Desk) -> None:
    paths = ["/api/nap"] * 9 + ["/nap"] * 3
    with bridged(desk, api_threads=3, page_threads=1) as port, requests_underway(port, paths, "POST"):
        pass
    kinds = [name.partition("_")[0] for name in desk.threads]
    assert (1 < kinds.count("api") <= 3, kinds.count("page")) == (True, 1)
