"""Probes: alive is answered whatever hangs, ready says what is missing, and neither asks who you are."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from retrycontract.front.bridge import WsgiBridge
from retrycontract.front.probes import KEPT_SECONDS, Health, Looking
from retrycontract.front.waiting import Bells, FrontOfHouse
from tests.serving.threads import eventually, fetch, serving


class Hanging:
    """An application whose every request hangs until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.entered = 0

    def __call__(self, _: Any, start_response: Any) -> list[bytes]:
        self.entered += 1
        self.let_go.wait(20)
        start_response("200 OK", [])
        return [b"page"]


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    app = Hanging()
    yield app
    app.let_go.set()


def behind(app: Any, look: Any = dict, **options: Any) -> Health:
    front = FrontOfHouse(WsgiBridge(app, page_threads=2, max_body_bytes=1024), Bells())
    return Health(front, look, **options)


def test_alive_is_answered_while_every_page_hangs(hanging: Hanging) -> None:
    with serving(behind(hanging)) as port:
        # Each of a session of its own, since one has half of the threads.
        cookies = [{"Cookie": f"sessionid={number}"} for number in range(3)]
        pages = [threading.Thread(target=fetch, args=(port, "/"), kwargs={"headers": each}) for each in cookies]
        for page in pages:
            page.start()
        eventually(lambda: hanging.entered == 2)
        reply = fetch(port, "/livez", headers={"Host": "whatever.example"})
        assert (reply.status, json.loads(reply.body)) == (200, {"status": "alive"})
        hanging.let_go.set()
        for page in pages:
            page.join()


@pytest.mark.parametrize(("state", "status"), [("ready", 200), ("degraded", 200), ("unavailable", 503)])
def test_ready_says_what_was_found(hanging: Hanging, state: str, status: int) -> None:
    with serving(behind(hanging, lambda: {"status": state, "workers": 2})) as port:
        reply = fetch(port, "/readyz")
        assert (reply.status, json.loads(reply.body)) == (status, {"status": state, "workers": 2})
        assert reply.header("cache-control") == "no-store"
        assert fetch(port, "/readyz", method="HEAD").body == b""


def test_a_look_that_hangs_is_unavailable_and_is_not_begun_twice(hanging: Hanging) -> None:
    looks: list[int] = []

    def look() -> Mapping[str, Any]:
        looks.append(1)
        hanging.let_go.wait(20)
        return {"status": "ready"}

    with serving(behind(hanging, look, timeout=0.05)) as port:
        assert [fetch(port, "/readyz").status for _ in range(3)] == [503] * 3
        assert len(looks) == 1
        hanging.let_go.set()
        eventually(lambda: fetch(port, "/readyz").status == 200)


def test_many_who_ask_at_once_share_a_look_and_hear_of_no_outage(hanging: Hanging) -> None:
    looks: list[float] = []

    def look() -> Mapping[str, Any]:
        looks.append(time.monotonic())
        time.sleep(0.002)  # as long as it takes to write a row
        return {"status": "ready"}

    answers: list[int] = []

    def ask(port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(200):
            connection.request("GET", "/readyz")
            with connection.getresponse() as reply:
                reply.read()
                answers.append(reply.status)
        connection.close()

    with serving(behind(hanging, look)) as port:
        begun = time.monotonic()
        askers = [threading.Thread(target=ask, args=(port,)) for _ in range(8)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert set(answers) == {200}
        assert len(looks) <= 1 + (time.monotonic() - begun) / KEPT_SECONDS
        eventually(lambda: fetch(port, "/readyz").status == 200 and len(looks) > 1)
    pauses = [after - before for before, after in pairwise(looks)]
    assert min(pauses) > 0.9 * KEPT_SECONDS


def test_who_joined_a_look_is_told_what_it_saw_though_another_has_begun() -> None:
    looking = Looking(lambda: "seen", timeout=5)
    answers: list[str | None] = []

    async def ask() -> None:
        answers.extend([await looking.result() for _ in range(50)])

    async def story() -> None:
        await asyncio.gather(*(ask() for _ in range(8)))

    asyncio.run(story())
    assert set(answers) == {"seen"}


def test_everything_else_is_the_applications(hanging: Hanging) -> None:
    hanging.let_go.set()
    with serving(behind(hanging)) as port:
        for method, path in (("GET", "/livez/"), ("GET", "/"), ("POST", "/"), ("GET", "/readyz/x")):
            assert fetch(port, path, method=method).body == b"page"


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "PROPFIND"])
def test_who_asks_in_another_way_is_told_how(hanging: Hanging, path: str, method: str) -> None:
    with serving(behind(hanging, lambda: {"status": "ready"})) as port:
        reply, head = fetch(port, path, method=method, body=b"{}"), fetch(port, path, method="HEAD")
    assert (reply.status, reply.header("allow"), hanging.entered) == (405, "GET, HEAD", 0)
    assert (head.status, head.body) == (200, b"")
