"""The client against the running service: stuck and helped, cut off, restarted, and many threads at once."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from examples import client_agent
from retrycontract import Kind, RetryContract, Tool
from retrycontract.client import InvalidRequestError, NotAuthenticatedError, UnreachableError
from tests.client.flavours import opened
from tests.client.lossy_proxy import losing_answers
from tests.conftest import StartService
from tests.serving.desk import Desk
from tests.serving.service import ROOT, AgentClient, Service
from tests.serving.threads import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string", "pattern": "^/"}, "api_key": {"type": "string"}},
    "required": ["path"],
}
WRONG = {"path": "report.txt"}
RIGHT = {"path": "/srv/report.txt"}


@pytest.fixture
def key(keys: Iterator[str]) -> str:
    return next(keys)


@pytest.fixture
def client(service: Service, key: str, flavour: str) -> Iterator[Any]:
    with opened(flavour, service.url, key) as found:
        found.register_tool("open_file", SCHEMA)
        yield found


def blocked(client: Any, arguments: Any = WRONG, session: str | None = None) -> Any:
    call_id = None
    for number in range(1, 4):
        attempt = {"tool_call_id": f"t{number}", "arguments": arguments, "session_id": session, "call_id": call_id}
        outcome = client.submit("open_file", **attempt)
        call_id = outcome.call_id
        assert (outcome.attempt, outcome.attempt_number) == (number, number)
    assert outcome.status == "blocked"
    return outcome


def attempts_of(service: Service, key: str, call_id: str) -> list[str]:
    call = AgentClient(service, key).send("GET", f"/calls/{call_id}").body
    return [attempt["tool_call_id"] for attempt in call["attempts"]]


def answered(desk: Desk, client: Any, call: Any, **fields: str) -> Any:
    """Wait for guidance while a person writes it."""
    with ThreadPoolExecutor(1) as waiting:
        found = waiting.submit(client.wait_for_guidance, call, 60)
        desk.answer(call.call_id, **fields)
        return found.result(60)


@pytest.mark.parametrize("name", ["x" * 2_000, "", "open\nfile", "open_file\ud83d", "打开" * 200])
def test_a_name_that_a_model_made_up_is_told_to_be_none(client: Any, name: str) -> None:
    outcome = client.settle(name, "t1", RIGHT)
    assert (outcome.status, outcome.attempt) == ("retry", 1)
    assert re.search("the (only tool|nearest) is 'open_file'", outcome.tool_result.content)


@pytest.mark.parametrize("own_id", ["call_\ud83d", "\u202e\x00"])
def test_an_id_of_a_provider_comes_back_as_it_was(client: Any, own_id: str) -> None:
    outcome = client.submit("open_file", own_id, WRONG)
    assert (outcome.status, outcome.tool_result.tool_call_id) == ("retry", own_id)


def test_an_output_that_is_too_large_counts_and_asks_a_person_in_the_end(client: Any, desk: Desk) -> None:
    outcome = blocked(client, {"path": "/" + "x" * 3_000_000})
    told = outcome.tool_result.content
    assert re.search(r"it is too large to be checked: .* has 3,000,\d{3} bytes, .* at most 2,097,152", told), told
    assert client.submit("open_file", "t4", "x" * 3_000_000).status == "retry"
    guidance = answered(desk, client, outcome, decision="corrected", arguments=json.dumps(RIGHT))
    assert guidance.arguments == RIGHT
    assert client.submit("open_file", "t5", guidance.arguments, call_id=outcome.call_id).status == "valid"


def test_a_stuck_agent_gets_a_hint_and_finishes(client: Any, desk: Desk) -> None:
    outcome = blocked(client)
    guidance = answered(desk, client, outcome, text="Absolute paths only.", grant="2")
    assert (guidance.decision, guidance.granted, guidance.max_attempts) == ("hint", 2, 5)
    assert "> Absolute paths only." in guidance.text
    assert guidance.arguments is None
    assert client.acknowledge(guidance) is True
    assert client.acknowledge(outcome) is False
    failed = client.submit("open_file", tool_call_id="t4", arguments="{", call_id=outcome.call_id)
    assert (failed.status, failed.attempt, failed.max_attempts) == ("retry", 4, 5)
    assert failed.tool_result.render("openai")["tool_call_id"] == "t4"
    done = client.submit("open_file", tool_call_id="t5", arguments=json.dumps(RIGHT), call_id=outcome.call_id)
    assert (done.status, done.arguments, done.tool_result) == ("valid", RIGHT, None)


def test_a_correction_is_applied_to_what_was_sent_and_the_secret_never_travels(client: Any, desk: Desk) -> None:
    secret = "hunter2-" + "correct-horse"
    outcome = blocked(client, {**WRONG, "api_key": secret})
    shown = re.search(r"\[REDACTED: [^]]+\]", desk.get(f"/calls/{outcome.call_id}/"))
    assert shown is not None
    corrected = json.dumps({**RIGHT, "api_key": shown.group()})
    guidance = answered(desk, client, outcome, decision="corrected", arguments=corrected)
    assert guidance.patch == ({"op": "replace", "path": "/path", "value": RIGHT["path"]},)
    assert guidance.arguments == {**RIGHT, "api_key": secret}
    assert secret not in repr(guidance)
    done = client.submit("open_file", tool_call_id="t4", arguments=guidance.arguments, call_id=outcome.call_id)
    assert (done.status, done.arguments) == ("valid", {**RIGHT, "api_key": secret})
    assert secret not in desk.service.log


def test_an_agent_that_was_restarted_asks_what_was_answered_meanwhile(
    client: Any, desk: Desk, service: Service, key: str, flavour: str
) -> None:
    call = blocked(client, session="conversation-7f3a91c2")
    desk.answer(call.call_id, decision="corrected", arguments=json.dumps(RIGHT))
    with opened(flavour, service.url, key) as restarted:
        (found,) = restarted.calls(session_id="conversation-7f3a91c2", state="guided")
        arguments = restarted.wait_for_guidance(found, 60).arguments
        assert arguments == RIGHT
        assert restarted.submit("open_file", "t4", arguments, call_id=found.call_id).status == "valid"


def test_an_agent_that_was_restarted_and_asks_nothing_is_given_the_answer(
    client: Any, desk: Desk, service: Service, key: str, flavour: str
) -> None:
    call = blocked(client, session="conversation-7f3a91c2")
    desk.answer(call.call_id, decision="corrected", arguments=json.dumps(RIGHT))
    with opened(flavour, service.url, key) as restarted:
        done = restarted.settle("open_file", "t4", WRONG, session_id="conversation-7f3a91c2", timeout=60)
    assert (done.call_id, done.status, done.arguments) == (call.call_id, "valid", RIGHT)


def test_what_a_person_accepts_is_given_back_and_what_they_reject_is_not(client: Any, desk: Desk) -> None:
    accepted = answered(desk, client, blocked(client), decision="accept", text="Fine.")
    assert (accepted.state, accepted.arguments) == ("accepted", WRONG)
    rejected = answered(desk, client, blocked(client), decision="reject", text="Leave it.")
    assert (rejected.state, rejected.arguments) == ("rejected", None)
    assert rejected.state.has_ended


def test_a_file_that_only_a_grammar_refuses_is_given_back_once_a_person_accepts_it(client: Any, desk: Desk) -> None:
    source, file = "```js\nlet total = %next;\n```", {"kind": "source_file"}
    client.register_tool("write_file", {"type": "string", "x-language": "javascript"}, **file)
    outcome = client.submit("write_file", "f1", source, max_attempts=1, **file)
    assert outcome.status == "blocked"
    accepted = answered(desk, client, outcome, decision="accept", text="Our engine knows it.")
    assert (accepted.state, accepted.arguments) == ("accepted", source)
    right = client.submit("write_file", "f4", "```js\nlet total = 1;\n```", **file)
    assert (right.status, right.arguments) == ("valid", "```js\nlet total = 1;\n```")


def test_a_cancelled_call_asks_nobody_any_more(client: Any) -> None:
    outcome = blocked(client)
    assert [call.call_id for call in client.calls(state="blocked")] == [outcome.call_id]
    assert client.cancel(outcome) == "cancelled"
    assert [(call.call_id, call.state) for call in client.calls()] == [(outcome.call_id, "cancelled")]
    assert client.wait_for_guidance(outcome, 5).state == "cancelled"


def test_the_agent_of_the_readme_is_short_gets_stuck_is_helped_and_finishes(
    service: Service, key: str, desk: Desk, flavour: str
) -> None:
    source = (ROOT / "examples" / "client_agent.py").read_text(encoding="utf-8")
    assert len(source.partition("    while True:\n")[2].partition("\n\n\n")[0].splitlines()) < 15
    messages, said = [{"role": "user", "content": "A seat to London, please."}], []
    others = calls_on(desk)
    with opened(flavour, service.url, key) as client:
        assert client.register_tools([client_agent.book_flight]).refused == ()
        agent = threading.Thread(target=lambda: said.append(client_agent.run(client, messages)), daemon=True)
        agent.start()
        eventually(lambda: calls_on(desk) - others)
        [call_id] = calls_on(desk) - others
        desk.answer(call_id, text="Use IATA codes; cabin is 'business'.")
        agent.join(60)
    assert said == ["The flight from ZRH to LHR is booked in business."]
    assert [message["role"] for message in messages] == ["user", *["tool"] * 3]
    assert "> Use IATA codes" in messages[-1]["content"]


def calls_on(desk: Desk) -> set[str]:
    return set(re.findall(r"/calls/([\w-]+)/", desk.get("/?q=book_flight")))


@pytest.mark.parametrize("tool_call_id", ["new", "same"])
def test_an_attempt_whose_answer_was_lost_counts_once(
    service: Service, key: str, flavour: str, client: Any, tool_call_id: str
) -> None:
    with losing_answers(service.port) as proxy, opened(flavour, proxy.url, key) as cut:
        first = cut.submit("open_file", tool_call_id="same", arguments=WRONG)
        proxy.lost = 2
        second = cut.submit("open_file", tool_call_id=tool_call_id, arguments="{", call_id=first.call_id)
        assert (second.status, second.attempt, second.errors[0].error_code) == ("retry", 2, "VAL-004")
        assert proxy.posted == 4
        third = cut.submit("open_file", tool_call_id="same", arguments=RIGHT, call_id=first.call_id)
        assert (third.status, third.attempt_number) == ("valid", 3)
    assert attempts_of(service, key, first.call_id) == ["same", tool_call_id, "same"]


@pytest.mark.parametrize(("arguments", "status"), [(WRONG, "retry"), (RIGHT, "valid")])
def test_a_first_attempt_whose_answer_was_lost_begins_one_call(
    service: Service, key: str, flavour: str, client: Any, arguments: Any, status: str
) -> None:
    with losing_answers(service.port) as proxy, opened(flavour, proxy.url, key) as cut:
        proxy.lost = 1
        outcome = cut.submit("open_file", tool_call_id="first", arguments=arguments)
        assert (outcome.status, outcome.attempt) == (status, 1)
        assert proxy.posted == 2
    assert attempts_of(service, key, outcome.call_id) == ["first"]
    assert len(AgentClient(service, key).send("GET", "/calls").body["calls"]) == 1


def test_agents_wait_and_submit_through_a_restart(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(tmp_path / "data")
    [key] = service.new_keys("restarted")
    with both(service.url, key, patience=120) as clients, ThreadPoolExecutor(4) as agents:
        clients[0].register_tool("open_file", SCHEMA)
        outcomes = [blocked(client, session=f"s{number}") for number, client in enumerate(clients)]
        waiting = [
            agents.submit(client.wait_for_guidance, outcome, 120)
            for client, outcome in zip(clients, outcomes, strict=True)
        ]
        time.sleep(0.3)  # by now they are held by the service
        service.stop(signal.SIGKILL)
        submitting = [agents.submit(client.submit, "open_file", tool_call_id="new", arguments=RIGHT, session_id=f"n{n}")
                      for n, client in enumerate(clients)]  # fmt: skip
        service.start()
        assert [done.result(60).status for done in submitting] == ["valid"] * 2
        desk = Desk(service)
        desk.log_in()
        for outcome in outcomes:
            desk.answer(outcome.call_id, text="Absolute paths only.")
        assert [found.result(60).decision for found in waiting] == ["hint"] * 2


def test_a_verdict_that_a_worker_gives_later_is_waited_for(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(tmp_path / "data", {"RETRYCONTRACT_JUDGE": "worker"})
    [key] = service.new_keys("later")
    with both(service.url, key) as clients:
        clients[0].register_tool("open_file", SCHEMA)
        for client in clients:
            first = client.submit("open_file", "t1", WRONG)
            assert (first.status, first.tool_result.tool_call_id) == ("retry", "t1")
            second = client.submit("open_file", "t2", RIGHT, call_id=first.call_id, wait=0)
            assert (second.status, second.attempt_number) == (None, 2)
            done = client.wait_for_verdict(second)
            assert (done.status, done.arguments) == ("valid", RIGHT)


@contextmanager
def both(*args: Any, **options: Any) -> Iterator[list[Any]]:
    """Open a client of each flavour: a service of its own takes longer to start than to be asked twice."""
    with opened("sync", *args, **options) as one, opened("async", *args, **options) as other:
        yield [one, other]


def test_one_client_serves_many_threads(client: Any) -> None:
    ready = threading.Barrier(8)

    def run(number: int) -> list[Any]:
        ready.wait(30)
        outcome = blocked(client, {"path": f"report-{number}"}, session=f"s{number}")
        done = client.submit("open_file", tool_call_id="t4", arguments={"path": f"/{number}"}, call_id=outcome.call_id)
        return [outcome.call_id, done.call_id, done.arguments]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, range(8)))
    assert len({call_id for call_id, _, _ in found}) == 8
    assert all(first == last for first, last, _ in found)
    assert [arguments for _, _, arguments in found] == [{"path": f"/{number}"} for number in range(8)]


def test_a_tool_list_is_registered_and_a_refused_schema_is_named(client: Any) -> None:
    tools = [client_agent.book_flight, {"name": "bad", "input_schema": {"type": "nonsense"}}]
    result = client.register_tools(tools)
    assert [tool.name for tool in result.registered] == ["book_flight"]
    assert [(tool.name, tool.pointer) for tool in result.refused] == [("bad", "/type")]
    assert client.dry_run(SCHEMA, WRONG).feedback.startswith("Validation failed for tool 'tool' (attempt 1/3)")


def test_a_list_is_registered_with_options_for_all_of_its_tools(client: Any) -> None:
    tools = [{"name": f"listed {number}", "input_schema": SCHEMA} for number in range(3)]
    done = client.register_tools(tools, mode="observe", strict=False, max_attempts=5)
    assert [tool.max_attempts for tool in done.registered] == [5, 5, 5]
    assert client.submit("listed 2", "a", WRONG).state == "observed"
    client.register_tools(tools[:1], kind="extraction")
    assert [client.tool(f"listed {number}").kind for number in range(2)] == ["extraction", "tool_call"]
    assert not client.tool("listed 0").strict
    with pytest.raises(InvalidRequestError, match="mode"):
        client.register_tools(tools, mod="observe")


def test_whatever_a_model_writes_gets_a_verdict(client: Any) -> None:
    odd = [float("nan"), '"\ud800"', "\ud800", b"\xff", {"path": "\ud800"}, "", None]
    outcomes = [
        client.submit("open_file", tool_call_id=f"odd-{number}", arguments=arguments)
        for number, arguments in enumerate(odd)
    ]
    assert [outcome.status for outcome in outcomes] == ["retry"] * len(odd)


@pytest.mark.parametrize("kind", ["tool_call", "agent_response", "extraction", "source_file"])
def test_bytes_that_are_not_utf_8_get_the_librarys_verdict_whatever_the_kind(
    client: Any, service: Service, key: str, desk: Desk, kind: str
) -> None:
    texts = [rb'{"path": "/C:\%b"}' % b"\xe9", b'{"path": "/caf\xe9"}', b'caf\xe9: {"path": "/a"}', b'"/a"\xff']
    languages: list[str | None] = [None]
    if kind == "source_file":
        languages = ["text", "yaml"]
        texts = [b"# caf\xe9\n\nname = 1\n", b"name: caf\xe9\nb: 1\n", b"const name = 'caf\xe9';\n", "x = '\ud83d'\n"]  # type: ignore[list-item]
    place = {"task_id": "t", "turn": 1} if kind == "agent_response" else {}
    for language in languages:
        schema = {"type": "string", "x-language": language} if language else SCHEMA
        client.register_tool(f"{kind}_{language}", schema, kind=kind)
        library = RetryContract([Tool(name="t", input_schema=schema, kind=Kind(kind))])
        for number, text in enumerate(texts):
            expected = library.check("t", f"t{number}", text)
            found = client.submit(f"{kind}_{language}", f"t{number}", text, kind=kind, **place)
            tried = client.dry_run(schema, text, kind=kind)
            for verdict in (found, tried):
                assert [(error.keyword, error.message) for error in verdict.errors] == [
                    (error.keyword, error.message) for error in expected.errors
                ]
            assert found.status == "retry"
            assert found.errors[0].keyword == "encoding"
            assert AgentClient(service, key).send("GET", f"/calls/{found.call_id}").status == 200
            assert "\\udc" in desk.get(f"/calls/{found.call_id}/") or isinstance(text, str)


def test_a_wrong_key_and_a_stopped_service_say_what_to_do(service: Service, flavour: str) -> None:
    with (
        opened(flavour, service.url, "rc_wrong") as client,
        pytest.raises(NotAuthenticatedError, match="agent create NAME"),
    ):
        client.register_tools([])
    with (
        opened(flavour, "http://127.0.0.1:9", "rc_wrong", patience=0) as client,
        pytest.raises(UnreachableError, match=r"no answer from http://127.0.0.1:9 .*retrycontract up"),
    ):
        client.register_tools([])
