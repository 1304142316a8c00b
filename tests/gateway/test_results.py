"""Results are held to the schema that the server declares: noted, or held back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.mcp.messages import Message, read_line
from retrycontract.mcp.results import ResultContract
from tests.contract.quoted_secrets import GITHUB, REFUSED, leaked
from tests.gateway.listening import Listening, RawSession, call, gateway
from tests.gateway.raw_http import RawHttp, raw_http
from tests.gateway.raw_upstream import STRANGE


@pytest.fixture(scope="module")
def upstream() -> Iterator[RawHttp]:
    with raw_http() as server:
        yield server


@pytest.fixture(scope="module")
def observing(upstream: RawHttp) -> Iterator[Listening]:
    with gateway("--upstream", upstream.url) as found:
        yield found
    assert "A result of tool 'sized' does not fit its outputSchema (1 of 2): /size (VAL-002): " in found.log
    assert "Results of tool 'unjudged' are not checked, its outputSchema cannot be judged" in found.log


def answer(session: RawSession, number: int, arguments: str, name: str = "sized") -> Any:
    return json.loads(session.send(call(number, name, arguments))[1])["result"]


def test_a_result_that_does_not_fit_is_passed_on_with_a_note(observing: Listening) -> None:
    session = observing.begin()
    assert answer(session, 1, '{"size": 5, "more": 1}') == {"content": [], "structuredContent": {"size": 5, "more": 1}}
    wrong = answer(session, 2, '{"size": "five"}')
    note = wrong["_meta"].pop("retrycontract/result")
    assert note == {"errors": [{"path": "/size", "error_code": "VAL-002"}], "wrong": 1, "results": 2}
    assert wrong == {"content": [], "structuredContent": {"size": "five"}, "_meta": {}}
    assert "VAL" in json.dumps(answer(session, 3, "{}")["_meta"]), "a field is missing"
    assert session.send(call(4, "strange"))[1] == (STRANGE % 4).encode()
    assert "_meta" not in answer(session, 5, '{"size": "x"}', "unjudged")
    session.end()


@pytest.mark.parametrize(("mode", "is_held"), [("enforce", True), ("off", False)])
def test_results_are_held_back_or_left_alone_on_demand(upstream: RawHttp, mode: str, is_held: bool) -> None:
    with gateway("--results", mode, "--upstream", upstream.url) as listening:
        session = listening.begin()
        assert answer(session, 1, '{"size": 5}')["structuredContent"] == {"size": 5}
        found = answer(session, 2, '{"size": "x"}')
        assert found.get("isError", False) is is_held
        if is_held:
            text = found["content"][0]["text"]
            assert text.startswith("The result of tool 'sized' does not fit the schema that its server declares.")
            assert "The call was executed." in text
            assert "• /size (VAL-002): " in text
        else:
            assert "_meta" not in found


@pytest.mark.parametrize("keyword", REFUSED)
def test_the_log_says_what_is_wrong_with_a_schema_without_its_secrets(
    caplog: pytest.LogCaptureFixture, keyword: str
) -> None:
    contract = ResultContract(ValueSanitizer(), enforces=False)
    asked, said = (
        call(1, "sized", "{}"),
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {}}},
    )
    asyncio.run(contract.judged(_read(asked), _read(json.dumps(said)), REFUSED[keyword](f"a/{GITHUB}")))
    assert "its outputSchema cannot be judged" in caplog.text
    assert leaked(GITHUB, caplog.text, "") == []


def _read(text: str) -> Message:
    found = read_line(text)
    assert isinstance(found, Message)
    return found
