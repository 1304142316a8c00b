"""What is sent is the path that was looked at, and it never leaves the upstream's own."""

from __future__ import annotations

import http.client
import itertools
import json
from types import ModuleType

import pytest

from retrycontract.proxy.visit import settled_path
from tests.proxy import chat
from tests.proxy.test_wires import wire as wire
from tests.proxy.upstream import WRONG, proxied, upstream

DOTS = [".", "%2e", "%2E"]
TWO = ["..", "%2e%2e", ".%2E", "%2e."]


def asked(url: str, target: str, wire: ModuleType = chat) -> tuple[int, str, bytes]:
    """Ask for a target as it is written; gives status, outcome and body."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    try:
        connection.putrequest("POST", target)
        content = json.dumps(wire.asking(wire.tool())).encode()
        connection.putheader("content-length", str(len(content)))
        connection.endheaders(content)
        answer = connection.getresponse()
        return answer.status, answer.headers.get("x-retrycontract-outcome", ""), answer.read()
    finally:
        connection.close()


WAYS = {
    "at the end": "{path}/{one}",
    "back from the end": "{path}/x/{two}",
    "before": "/x/{two}{path}",
    "within": "/v1/{one}/{two}{path}",
    "twice": "/{one}{path}/a/b/{two}/{one}/{two}/",
    "with a question": "{path}/{one}?a=/{two}/b",
}


@pytest.mark.parametrize("how", WAYS)
def test_a_path_is_judged_as_it_is_sent(wire: ModuleType, how: str) -> None:
    with upstream(wire.says("", wire.call("read_file", WRONG))) as up, proxied(f"{up.url}/team-a") as url:
        for one, two in itertools.product(DOTS, TWO):
            target = WAYS[how].format(path=wire.PATH, one=one, two=two)
            status, outcome, _ = asked(url, target, wire)
            assert (status, outcome) == (200, "blocked"), target
    assert {each.target.partition("?")[0].rstrip("/") for each in up.asked} == {f"/team-a{wire.PATH}"}


ASTRAY = [
    "/{two}/team-b/v1/models", "/v1/{two}/{two}/team-b", "/{two}", "/{one}/{two}/x", "/v1/{two}/{two}",
    "/{two}%2fteam-b", "/v1%2f{two}%2f{two}%2fteam-b", "/v1/x%2F{two}", "/{two}%5cteam-b", "/a\\..\\..\\b",
    "/a/{two}/{two}/b", "*", ".example.com/v1/models", "@example.com/", ":1/",
]  # fmt: skip


@pytest.mark.parametrize("target", ASTRAY)
@pytest.mark.parametrize("base", ["/team-a", "/v1", "/team-a/v1", ""])
def test_no_path_leaves_the_upstreams_own(target: str, base: str) -> None:
    with upstream(chat.says("Hi.")) as up, proxied(f"{up.url}{base}") as url:
        for one, two in itertools.product(DOTS, TWO):
            status, _, _ = asked(url, target.format(one=one, two=two))
            assert status == 400
    assert not up.asked


def test_what_is_not_sent_is_not_judged_by() -> None:
    """Some servers hand a fragment on, and no client sends one."""
    assert settled_path("/v1/chat/completions#x") is None


@pytest.mark.parametrize("target", [
    "/v1/a//b", "/v1/...", "/v1/.a/..b/c.", "/v1/a%20b;x=1", "/v1/%zz", "/v1/a%2fb", "/v1//", "/v1/%252e%252e/x", "/",
])  # fmt: skip
def test_every_other_path_is_sent_as_it_was_written(target: str) -> None:
    with upstream(chat.says("Hi.")) as up, proxied(f"{up.url}/team-a") as url:
        asked(url, target + "?q=../%2e")
    assert [each.target for each in up.asked] == [f"/team-a{target}?q=../%2e"]
