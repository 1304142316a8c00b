"""Outputs that take far longer to judge than to send, and who else is served meanwhile.

The soak sends a few; `RETRYCONTRACT_BOMBS=300` sends all. The figures are in benchmarks/CHAOS.md, and
`RETRYCONTRACT_BOMBS_WRITE=yes` writes them there.
"""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.bombs import Bomb, known, seeded
from tests.proxy import chat
from tests.proxy.upstream import upstream
from tests.services.bombing import HANG, Seen, Unprotected, at, bombard, watched
from tests.services.faults import scaled_out
from tests.serving import running
from tests.serving.service import AgentClient, Service

TABLE = Path(__file__).resolve().parents[2] / "benchmarks" / "CHAOS.md"
pytestmark = [pytest.mark.services, pytest.mark.soak, pytest.mark.timeout(3_600)]

BOMBS = int(os.environ.get("RETRYCONTRACT_BOMBS", "12"))
CHOSEN = [*known(), *seeded(300, BOMBS)]
UNMETERED = {"RETRYCONTRACT_WORK_SECONDS_PER_MINUTE": "0"}  # each bomb is to be judged, not refused


def one_key() -> list[Bomb]:
    """Fifty of those that take longest."""
    return [known()[number % 4] for number in range(50)]


def show(seen: Seen, name: str) -> None:
    """Print what was seen, and write it into the table where that is asked for."""
    print(f"\n{name}: {seen.figures()}")
    if "RETRYCONTRACT_BOMBS_WRITE" in os.environ:
        written, row = TABLE.read_text(encoding="utf-8"), re.compile(rf"^\| {re.escape(name)} \|.*$", re.MULTILINE)
        assert row.search(written), f"no row of {TABLE.name} begins with {name!r}"
        TABLE.write_text(row.sub(lambda _: seen.row(name), written), encoding="utf-8")


def assert_all_are_told(seen: Seen, name: str) -> None:
    show(seen, name)
    assert seen.unexplained == []
    assert seen.failures == 0


def test_bombs_hold_up_nobody_in_one_process(tmp_path: Path) -> None:
    with running(Service(tmp_path / "data", UNMETERED, anew=True)) as service:
        ours = bombard(service, CHOSEN, keys=3, at_once=3)
    assert_all_are_told(ours, "one process, three at once")
    worst = known()[1:5]
    for without in ("child", "table"):
        with running(Unprotected(tmp_path / without, UNMETERED, anew=True, without=without)) as service:
            control = bombard(service, worst, keys=2, at_once=2, alone=2)
        show(control, f"**one process without the {without}**")
        assert "blocked" not in control.answers, "the control judges nothing"
        assert max(control.livez) > 2 * max(ours.livez), without


def test_fifty_bombs_of_one_key_hold_up_nobody_in_one_process(tmp_path: Path) -> None:
    with running(Service(tmp_path / "data", anew=True)) as service:
        assert_all_are_told(bombard(service, one_key(), keys=1, at_once=50), "one process, one key, 50 in flight")


def test_large_outputs_that_wait_hold_up_no_other_agent(tmp_path: Path) -> None:
    """Fifty of 1.8 MB, and another agent's 70 kB, which a worker judges as well."""
    with running(Service(tmp_path / "data", UNMETERED, anew=True)) as service:
        sender, other = (AgentClient(service, service.new_key(name)) for name in ("sender", "other"))
        for agent in (sender, other):
            assert agent.register("note", {"type": "object", "properties": {"a": {"type": "string"}}}).status in (
                200,
                201,
            )
        large = json.dumps({"tool": "note", "tool_call_id": "large", "raw": "{ " * 900_000}).encode()

        def send(number: int) -> int:
            body = large.replace(b'"large"', b'"large %d"' % number)
            return sender.send("POST", "/calls", body, headers={"Prefer": "wait=0"}, timeout=HANG).status

        def ask(number: int) -> tuple[int, float]:
            began = time.monotonic()
            body = {"tool": "note", "tool_call_id": f"{number}", "arguments": {"a": "x y" * 23_333}}
            return other.send("POST", "/calls", body, timeout=HANG).status, time.monotonic() - began

        alone = ask(0)
        with ThreadPoolExecutor(50) as pool:
            assert set(pool.map(send, range(50))) <= {200, 202}
        asked = [ask(number) for number in range(1, 6)]
        left = sender.send("GET", "/calls?state=pending&limit=100").body["calls"]
    print(f"\n70 kB: {alone[1]:.2f} s alone, {max(asked)[1]:.2f} s at most while {len(left)} or more wait")
    assert left, "nothing waited meanwhile"
    assert {status for status, _ in (alone, *asked)} == {200}  # within the ten seconds for which a submit is held


HOOK = b'{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "count", "tool_input": %s}'
ASKED = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count", "arguments": %s}}'
CHECK = b'{"input_schema": {"type": "object"}, "arguments": %s}'
DEEP, TWICE = b"[" * 900_000 + b"]" * 900_000, b"{" + b",".join([b'"a":1'] * 290_000) + b"}"
LISTS = b'{"a": [' + b"[]," * 550_000 + b"[]]}"


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("/hooks?wait=0", HOOK % DEEP),
        ("/hooks?wait=0", HOOK % TWICE),
        ("/hooks?wait=0", HOOK % LISTS),
        ("/guardrails/authz", ASKED % DEEP),
        ("/guardrails/authz", ASKED % LISTS),
        ("/api/v1/check", CHECK % LISTS),
    ],
    ids=["hook, deep", "hook, names twice", "hook, lists", "guardrail, deep", "guardrail, lists", "check, lists"],
)
def test_what_takes_long_to_read_at_a_door_without_code_holds_up_nobody(
    tmp_path: Path, address: str, body: bytes
) -> None:
    with running(Service(tmp_path / "data", UNMETERED, anew=True)) as service:
        agent = AgentClient(service, service.new_key("hooked"))
        assert agent.register("count", {"type": "object"}).status == 201
        headers = {"X-RetryContract-Key": agent.key}
        with watched(service) as probed, ThreadPoolExecutor(4) as pool:
            work = partial(service.send, "POST", address, body, key=agent.key, headers=headers, timeout=HANG)
            began = time.monotonic()
            assert work().status in (200, 403)
            alone = time.monotonic() - began
            assert {answer.status for answer in pool.map(lambda _: work(), range(8))} <= {200, 403}
    longest = max(seconds for seconds, _ in probed)
    print(f"\n{address}: alone={alone * 1_000:.0f}ms livez_max={longest * 1_000:.0f}ms probes={len(probed)}")
    assert all(is_right for _, is_right in probed)
    assert longest < alone / 2, "a probe waits while one of them is read"


def reference_graph(number: int) -> Any:
    """Give forty objects, each of which may hold all of them."""
    names = [f"d{each}" for each in range(40)]
    one = {"type": "object", "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    return {"$ref": "#/$defs/d0", "title": f"{number}", "$defs": dict.fromkeys(names, one)}


def of_letters(number: int) -> Any:
    pattern = rf"^(\p{{L}}|\p{{N}}|\p{{S}}){{1,{500 - number}}}x{number}$"
    return {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}


def small(number: int) -> Any:
    return {"type": "object", "properties": {f"p{name}": {"type": "string", "title": f"{number}"} for name in range(6)}}


@pytest.mark.parametrize(
    ("name", "schemas", "more"),
    [
        ("40 tools with classes of letters", [of_letters(number) for number in range(40)], b"1"),
        ("30 graphs of references", [reference_graph(number) for number in range(30)], b"1"),
        ("1,000 tools", [small(number) for number in range(1_000)], b"1"),
        ("990,000 values", [small(0)], b"[" + b"[]," * 490_000 + b"1]"),
        ("900,000 levels", [small(0)], DEEP),
    ],
)
def test_what_a_request_to_the_proxy_declares_and_holds_keeps_nobody(
    tmp_path: Path, name: str, schemas: list[Any], more: bytes
) -> None:
    longest, took = beside_the_proxy(tmp_path, name, schemas, more)
    assert longest < took / 4, "a probe waits while one of them is read"


def test_who_sends_a_picture_of_60_mb_through_the_proxy_keeps_nobody(tmp_path: Path) -> None:
    picture = "aB3/" * 15_000_000
    began = time.monotonic()
    content = json.dumps(picture).encode()
    at_once = time.monotonic() - began
    longest, _ = beside_the_proxy(tmp_path, "a picture of 60 MB", [small(0)], content)
    assert longest < at_once, "a probe waits while all of it is written"


def beside_the_proxy(tmp_path: Path, name: str, schemas: list[Any], more: bytes) -> tuple[float, float]:
    """Send a request three times, and give how long a probe waited at most, and the requests took."""
    tools = (chat.tool(f"t{number}", schema) for number, schema in enumerate(schemas))
    said = {"role": "user", "content": [{"type": "file", "file": "MORE"}]}
    body = json.dumps(chat.asking(*tools) | {"messages": [said]}).encode().replace(b'"MORE"', more)
    with upstream(script=lambda _: chat.says("Hm.", chat.call("t0", {"p1": 1}))) as up:
        upstreams = {"RETRYCONTRACT_PROXY_UPSTREAMS": f"here={up.url}", "RETRYCONTRACT_PROXY_MODE": "enforce"}
        with running(Service(tmp_path / "data", UNMETERED | upstreams, anew=True)) as service:
            headers = {"x-retrycontract-key": service.new_key("proxied")}
            neighbour = AgentClient(service, service.new_key("neighbour"))
            assert neighbour.register("count", {"type": "object"}).status == 201
            with watched(service, neighbour.key) as alone:
                time.sleep(5)
            began = time.monotonic()
            with watched(service, neighbour.key) as beside, watched(service) as probed:
                for _ in range(3):
                    path = f"/proxy/here{chat.PATH}"
                    assert service.send("POST", path, body, headers=headers, timeout=HANG).status == 200
            took = time.monotonic() - began
    longest, p99 = max(probed)[0], [at([seconds for seconds, _ in seen], 99) for seen in (alone, beside)]
    print(f"\n/proxy, {name}: livez_max={longest * 1_000:.0f}ms neighbour_p99={p99[0]:.0f}/{p99[1]:.0f}ms {took:.0f}s")
    assert all(is_right for _, is_right in (*probed, *beside))
    return longest, took


@pytest.mark.parametrize(
    ("name", "keys", "at_once", "judge"),
    [
        ("scaled out, three at once", 3, 3, "auto"),
        ("scaled out, three at once, all judged by workers", 3, 3, "worker"),
        ("scaled out, one key, 50 in flight", 1, 50, "auto"),
    ],
)
def test_bombs_hold_up_nobody_scaled_out(tmp_path: Path, name: str, keys: int, at_once: int, judge: str) -> None:
    metered = UNMETERED if keys > 1 else {}
    with scaled_out(tmp_path, RETRYCONTRACT_JUDGE=judge, **metered) as faults:
        bombs = CHOSEN if keys > 1 else one_key()
        assert_all_are_told(bombard(faults.service, bombs, keys=keys, at_once=at_once), name)
