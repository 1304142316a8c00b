"""The proxy within the service: who may use it, what it asks, and that the upstream's key stays nowhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from retrycontract.proxy.app import ProxyMount
from retrycontract.proxy.judged import ProxySettings
from tests.proxy import chat, messages
from tests.proxy.upstream import RIGHT, WRONG, Asked, Reply, ScriptedUpstream, upstream
from tests.serving import running
from tests.serving.desk import Desk
from tests.serving.service import Service

pytestmark = pytest.mark.processes
UPSTREAM_KEY = "sk-proj-" + "Qz7Wd" * 9
SECRET_HEADERS = {"Authorization": f"Bearer {UPSTREAM_KEY}", "x-api-key": UPSTREAM_KEY, "api-key": UPSTREAM_KEY}


def script(asked: Asked) -> Reply:
    if asked.target == "/v1/moved":
        return Reply([b""], 307, {"Location": "/v1/models"})
    wire: Any = messages if asked.target.startswith("/v1/messages") else chat
    if b"never" in asked.content:
        return wire.says(None, wire.call("read_file", WRONG))  # type: ignore[no-any-return]
    made = RIGHT if wire.results(asked.body) else WRONG
    return wire.says("Hm.", wire.call("read_file", made))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Any]]:
    with upstream(script=script) as up:
        data = tmp_path_factory.mktemp("proxy") / "data"
        environment = {
            "RETRYCONTRACT_PROXY_UPSTREAMS": f"here={up.url},elsewhere=http://127.0.0.1:9",
            "RETRYCONTRACT_PROXY_MODE": "enforce",
        }
        with running(Service(data, environment)) as service:
            yield service, up


def post(service: Service, path: str, body: Any, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{service.url}/proxy/{path}", json=body, headers={**SECRET_HEADERS, **headers}, timeout=60)


def files_with(service: Service, text: str) -> list[Path]:
    kept = [path for path in Path(service.data_dir).rglob("*") if path.is_file()]
    return [path for path in kept if text.encode() in path.read_bytes()]


def test_a_call_is_mended_stored_and_the_upstreams_key_is_nowhere(served: tuple[Service, ScriptedUpstream]) -> None:
    service, up = served
    ours = {"x-retrycontract-key": service.new_key("proxied")}
    for wire in (chat, messages):
        answer = post(service, f"here{wire.PATH}?key={UPSTREAM_KEY}", wire.asking(wire.tool()), **ours)
        assert wire.calls_in(answer.json()) == [("read_file", RIGHT)]
        assert answer.headers["x-retrycontract-outcome"] == "repaired"
        assert len(answer.headers.get_list("date")) <= 1
    blocked = post(service, f"here{chat.PATH}", chat.asking(chat.tool(), text="never"), **ours)
    call_id = blocked.headers["x-retrycontract-calls"]
    assert all(asked.headers["authorization"] == f"Bearer {UPSTREAM_KEY}" for asked in up.asked)
    assert up.asked[0].target == f"{chat.PATH}?key={UPSTREAM_KEY}"
    assert not any(name.startswith("x-retrycontract") for asked in up.asked for name in asked.headers)
    post(service, f"elsewhere{chat.PATH}?key={UPSTREAM_KEY}", chat.asking(chat.tool()), **ours)
    desk = Desk(service)
    desk.log_in()
    seen = desk.get("/") + desk.get(f"/calls/{call_id}/") + answer.text + blocked.text
    seen += httpx2.get(f"{service.url}/api/v1/calls/{call_id}", headers={
        "Authorization": f"Bearer {ours['x-retrycontract-key']}"}).text  # fmt: skip
    assert call_id in seen
    assert UPSTREAM_KEY not in seen
    assert files_with(service, UPSTREAM_KEY) == []


def test_what_is_stored_and_logged_would_be_found(served: tuple[Service, ScriptedUpstream]) -> None:
    service, _ = served
    ours = {"x-retrycontract-key": service.new_key("looked-for")}
    answer = post(service, f"here{chat.PATH}", chat.asking(chat.tool(), text="never"), **ours)
    assert files_with(service, answer.headers["x-retrycontract-calls"])
    assert any(path.name == "service.log" for path in files_with(service, "blocked"))


@pytest.mark.parametrize("key", [None, "", "rc_00000000_nobody", "two words", UPSTREAM_KEY])
def test_without_an_agents_key_nothing_is_passed_on(served: tuple[Service, ScriptedUpstream], key: str | None) -> None:
    service, up = served
    before, ours = len(up.asked), {} if key is None else {"x-retrycontract-key": key}
    answer = post(service, "here/v1/models", {}, **ours)
    assert answer.status_code == 401
    assert "x-retrycontract-key" in answer.json()["error"]["message"]
    assert len(up.asked) == before


def test_a_redirect_leads_back_below_the_mount(served: tuple[Service, ScriptedUpstream]) -> None:
    service, _ = served
    answer = post(service, "here/v1/moved", {}, **{"x-retrycontract-key": service.new_key("mover")})
    assert (answer.status_code, answer.headers["location"]) == (307, "/proxy/here/v1/models")


def test_only_upstreams_of_the_settings_are_asked(served: tuple[Service, ScriptedUpstream]) -> None:
    service, _ = served
    ours = {"x-retrycontract-key": service.new_key("wanderer")}
    for path in ("nowhere/v1/models", "http://example.com/v1", "here.example.com/v1", "h%65re/v1/models"):
        assert post(service, path, {}, **ours).status_code == 404
    for path in ("here/%2e%2e/elsewhere/v1/models", "here/v1/.%2e/%2E./x"):
        assert post(service, path, {}, **ours).status_code == 400
    assert httpx2.get(f"{service.url}/livez").status_code == 200


def test_a_proxy_asks_in_the_name_of_each_client_and_is_closed_behind_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrycontract.proxy.app.MAX_PROXIES", 1)
    hosts: list[tuple[str, str]] = []
    clients: list[Any] = []

    async def api(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            hosts.append((headers[b"x-forwarded-for"].decode(), scope["client"][0]))
            found: Any = {"items": [], "registered": [], "refused": []}
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(found).encode()})

    async def story(url: str) -> None:
        mount = ProxyMount(api, {"here": url}, ProxySettings())
        for key, address in (("k-1", "10.0.0.1"), ("k-1", "10.0.0.2"), ("k-2", "10.0.0.3")):
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(mount, client=(address, 1))) as http:
                before = len(hosts)
                headers = {"x-retrycontract-key": key, "x-forwarded-for": address}
                # A tool of its own each time, so that there is something to ask the service for.
                asked = chat.asking(chat.tool(f"tool_{address[-1]}"))
                await http.post(f"http://desk/proxy/here{chat.PATH}", json=asked, headers=headers)
                assert set(hosts[before:]) == {(address, address)}
            clients.extend(held for held in mount._admitted.values() if held not in clients)
        assert [held.client._http.get().is_closed for held in clients] == [True, False]
        messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive() -> Any:
            return next(messages)

        async def send(_message: Any) -> None: ...

        await mount({"type": "lifespan"}, receive, send)
        assert [held.client._http.get().is_closed for held in clients] == [True, True]

    with upstream(chat.says("Hello.")) as up:
        asyncio.run(story(up.url))


def test_two_agents_have_their_own_tools_and_conversations(served: tuple[Service, ScriptedUpstream]) -> None:
    service, _ = served
    keys = [service.new_key(f"apart-{number}") for number in range(2)]
    for key in keys:
        post(service, f"here{chat.PATH}", chat.asking(chat.tool()), **{"x-retrycontract-key": key})
    for key in keys:
        found = httpx2.get(f"{service.url}/api/v1/calls", headers={"Authorization": f"Bearer {key}"}).json()
        assert json.dumps(found).count('"read_file"') == 1


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_who_has_used_up_their_work_is_told_before_the_upstream_is_asked(tmp_path: Path, mode: str) -> None:
    with upstream(script=script) as up:
        environment = {
            "RETRYCONTRACT_PROXY_UPSTREAMS": f"here={up.url}", "RETRYCONTRACT_PROXY_MODE": mode,
            "RETRYCONTRACT_WORK_SECONDS_PER_MINUTE": "0.01", "RETRYCONTRACT_WORK_BURST_SECONDS": "0.01",
        }  # fmt: skip
        with running(Service(tmp_path / "data", environment)) as service:
            ours = {"x-retrycontract-key": service.new_key("busy")}
            named = {f"p{number}": {"pattern": f"^[a-z]{{1,200}}{number}$"} for number in range(30)}
            tools = [chat.tool(f"tool_{at}", {"title": f"{at}", "properties": named}) for at in range(120)]
            answer = post(service, f"here{chat.PATH}", chat.asking(*tools), **ours)
            neighbour = {"x-retrycontract-key": service.new_key("neighbour")}
            assert post(service, f"here{chat.PATH}", chat.asking(), **neighbour).status_code == 200
    if mode == "enforce":
        assert (answer.status_code, answer.json()["error"]["code"], len(up.asked)) == (429, "retrycontract", 1)
        assert int(answer.headers["retry-after"]) > 0
        assert "processor time" in answer.text
    else:
        assert (answer.status_code, len(up.asked)) == (200, 2)
        assert "nothing is judged" in answer.headers["x-retrycontract-warning"]


@pytest.mark.parametrize(
    "path",
    [
        f"/proxy/here{chat.PATH}",
        "/mcp",
        pytest.param("/hooks", marks=pytest.mark.soak),
        pytest.param("/guardrails/authz", marks=pytest.mark.soak),
    ],
)
def test_what_is_read_of_a_request_is_charged_to_its_key(tmp_path: Path, path: str) -> None:
    with upstream(script=script) as up:
        environment = {
            "RETRYCONTRACT_PROXY_UPSTREAMS": f"here={up.url}", "RETRYCONTRACT_PROXY_MODE": "enforce",
            "RETRYCONTRACT_WORK_SECONDS_PER_MINUTE": "0.01", "RETRYCONTRACT_WORK_BURST_SECONDS": "0.01",
        }  # fmt: skip
        with running(Service(tmp_path / "data", environment)) as service:
            reader, neighbour = (service.new_key(name) for name in ("reader", "neighbour"))
            body = {**chat.asking(), "metadata": [[]] * 450_000}
            headers = {"Authorization": f"Bearer {reader}", "x-retrycontract-key": reader}
            sent = [httpx2.post(f"{service.url}{path}", json=body, headers=headers, timeout=60) for _ in range(15)]
            small = httpx2.post(f"{service.url}{path}", json={**chat.asking(), "n": 1}, headers=headers, timeout=60)
            answers = [
                httpx2.get(f"{service.url}/api/v1/calls/none", headers={"Authorization": f"Bearer {key}"})
                for key in (reader, neighbour)
            ]
    assert [answer.status_code for answer in answers] == [429, 404]
    assert sent[0].status_code != 429
    assert (sent[-1].status_code, int(sent[-1].headers["retry-after"]) > 0) == (429, True)
    assert "processor time" in sent[-1].text
    assert small.status_code != 429


@pytest.mark.parametrize(
    ("environment", "host", "told"),
    [
        ({"RETRYCONTRACT_REQUESTS_PER_MINUTE": "60"}, "", (429, "60 requests of a minute")),
        ({}, "elsewhere.example", (400, "RETRYCONTRACT_ALLOWED_HOSTS")),
    ],
)
def test_a_right_key_that_may_not_ask_for_now_is_not_called_a_wrong_one(
    tmp_path: Path, environment: dict[str, str], host: str, told: tuple[int, str]
) -> None:
    with upstream(script=script) as up:
        environment = {"RETRYCONTRACT_PROXY_UPSTREAMS": f"here={up.url}", **environment}
        with running(Service(tmp_path / "data", environment)) as service:
            key = service.new_key("eager")
            named = {"Host": host} if host else {}
            for _ in range(80):
                httpx2.get(f"{service.url}/api/v1/calls", headers={"Authorization": f"Bearer {key}"})
            answer = post(service, f"here{chat.PATH}", chat.asking(), **{"x-retrycontract-key": key}, **named)
    assert (answer.status_code, up.asked) == (told[0], [])
    assert told[1] in answer.json()["error"]["message"]
    assert ("retry-after" in answer.headers) == (answer.status_code == 429)


def test_a_tool_whose_schema_is_none_is_told_of_and_left_alone(served: tuple[Service, ScriptedUpstream]) -> None:
    service, _ = served
    ours = {"x-retrycontract-key": service.new_key("typist")}
    asked = chat.asking(chat.tool(), chat.tool("odd", {"type": "objekt"}))
    answer = post(service, f"here{chat.PATH}", asked, **ours)
    assert chat.calls_in(answer.json()) == [("read_file", RIGHT)]
    assert "odd: " in answer.headers["x-retrycontract-warning"]
    asked = chat.asking(chat.tool(schema={"type": "objekt"}))
    assert chat.calls_in(post(service, f"here{chat.PATH}", asked, **ours).json()) == [("read_file", WRONG)]
