"""What goes wrong says what to do, and never shows the key or what was sent."""

from __future__ import annotations

import inspect
import logging
import traceback
from functools import reduce
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import retrycontract.client
from retrycontract.client import AddressError, Client, ClientError, MissingKeyError, RefusedError, errors
from retrycontract.contract.errors import WrongInputError
from tests.client.flavours import FLAVOURS
from tests.client.scripted import KEY, RETRY, URL, answer, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.client.conftest import Scripted

ATTEMPT: dict[str, Any] = {"tool_call_id": "t1", "arguments": {"password": "hunter2-horse"}}

PROBLEMS: dict[str, tuple[httpx2.Response, type[Exception], list[str]]] = {
    "unknown key": (
        problem(401, "unknown-key", "The API key is unknown."),
        errors.NotAuthenticatedError,
        ["The API key is unknown. (HTTP 401, unknown-key)", "retrycontract agent create NAME", "RETRYCONTRACT_API_KEY"],
    ),
    "not found": (problem(404, "not-found"), errors.NotFoundError, ["Do this.", "Agents see their own calls only"]),
    "conflict": (
        problem(409, "ambiguous-call", "Send a call_id.", candidates=["a1", "b2"]),
        errors.ConflictError,
        ["Send a call_id. (HTTP 409, ambiguous-call)", "candidates: a1, b2"],
    ),
    "too large": (problem(413, "body-too-large", "Send less."), errors.TooLargeError, ["Send less. (HTTP 413"]),
    "invalid": (
        problem(422, "invalid-request", "Correct it.", errors=[{"pointer": "/turn", "code": "int", "detail": "No."}]),
        errors.InvalidRequestError,
        ["Correct it. (HTTP 422, invalid-request)\n  /turn: No."],
    ),
    "broken": (problem(500, "internal"), errors.UnavailableError, ["HTTP 500", "retrycontract doctor"]),
    "a proxy's page": (httpx2.Response(502, content=b"<html>"), errors.UnavailableError, ["HTTP 502", "a proxy"]),
    "teapot": (httpx2.Response(418, content=b"[]"), RefusedError, ["HTTP 418", "a proxy may have given it"]),
    "problem of another shape": (
        answer(422, {"errors": ["no", {"pointer": ""}], "detail": None}),
        errors.InvalidRequestError,
        ["HTTP 422", "(root): "],
    ),
    **{
        f"{name} that are {given!r}": (answer(409, {name: given}), errors.ConflictError, ["HTTP 409"])
        for name in ("errors", "candidates")
        for given in (5, True, "no", {"a": 1}, [5], [None, {"pointer": 1}])
    },
    "refused connection": (
        httpx2.ConnectError("[Errno 111] Connection refused"),
        errors.UnreachableError,
        [f"no answer from {URL}", "Connection refused", "retrycontract up", "RETRYCONTRACT_URL"],
    ),
    "another server": (httpx2.Response(200, content=b"<html>"), errors.UnexpectedAnswerError, [URL, "HTTP 200"]),
    "a redirect": (httpx2.Response(301), errors.UnexpectedAnswerError, ["HTTP 301"]),
    "an unknown state": (answer(200, RETRY | {"state": "new"}), errors.UnexpectedAnswerError, ["client's version"]),
    "a list": (answer(200, []), errors.UnexpectedAnswerError, ["application/json"]),
    "bottomless": (httpx2.Response(200, content=b"[" * 100_000), errors.UnexpectedAnswerError, ["HTTP 200"]),
}


@pytest.mark.parametrize(("given", "kind", "said"), PROBLEMS.values(), ids=list(PROBLEMS))
def test_an_error_says_what_to_do(
    scripted: Scripted, caplog: pytest.LogCaptureFixture, given: Any, kind: type[Exception], said: list[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with scripted(given).client(patience=0) as client, pytest.raises(kind) as caught:
        client.submit("open", **ATTEMPT)
    assert type(caught.value) is kind
    assert [text for text in said if text not in str(caught.value)] == []
    everything = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert KEY not in everything
    assert "hunter2" not in everything


def test_a_conflict_names_the_call_and_where_it_stands(scripted: Scripted) -> None:
    service = scripted(problem(409, "call-ended", "It has ended.", call_id="c1", state="rejected"))
    with service.client() as client, pytest.raises(errors.ConflictError) as caught:
        client.submit("open", **ATTEMPT)
    assert (caught.value.code, caught.value.call_id, caught.value.state) == ("call-ended", "c1", "rejected")


def tree(kind: type[ClientError], depth: int = 0) -> Iterator[tuple[int, str]]:
    yield depth, kind.__name__
    for child in kind.__subclasses__():
        yield from tree(child, depth + 1)


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn = [line for line in inspect.getdoc(errors).splitlines() if "Error" in line]  # type: ignore[union-attr]
    names = {
        line.split("Error")[0].split()[-1] + "Error": line.index(line.split("Error")[0].split()[-1]) for line in drawn
    }
    grown = {name: 4 * (depth + 1) for depth, name in tree(ClientError)}
    assert names == grown
    assert set(grown) <= set(retrycontract.client.__all__)


def test_the_key_is_in_no_repr(scripted: Scripted) -> None:
    with scripted(answer(200, RETRY)).client() as client:
        assert repr(client).endswith(f"Client('{URL}')")
        assert KEY not in repr(client) + str(vars(client) if isinstance(client, Client) else "")


@pytest.mark.parametrize(
    "url",
    [
        "desk.example", "ftp://desk.example", "http://", "http://user:hunter2@desk.example", "/api", "http://[::1", " ",
        "http://desk.example:99999", "http://desk.example:x", "http://desk. example", "http://desk\n.example",
        "http://desk.example/?x=1", "http://desk.example/#a", "http://desk.example/api/v1", "http://desk.example/api/v1/",
        "http://desk..example\x00", 5,
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_being_repeated(flavour: str, url: Any) -> None:
    with pytest.raises(ClientError, match="RETRYCONTRACT_URL, as https://") as caught:
        FLAVOURS[flavour](url, KEY)
    assert "hunter2" not in str(caught.value)
    assert isinstance(caught.value, AddressError)
    assert isinstance(caught.value, WrongInputError), "commands say it in a line"


@given(
    st.one_of(st.text(), st.builds("http://{}{}".format, st.text("[]:%/?#@\\.-é 0a", max_size=8), st.text(max_size=4)))
)
def test_whatever_the_address_is_it_is_refused_at_once_or_asked(url: str) -> None:
    asked = httpx2.MockTransport(lambda _: httpx2.Response(404))
    with pytest.raises((AddressError, errors.NotFoundError)), Client(url or "?", KEY, transport=asked) as client:
        client.tool("t")


def within_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def nested(depth: int) -> list[Any]:
    return reduce(lambda inner, _: [inner], range(depth), list[Any]())


@pytest.mark.parametrize("around", ["{}\n", "  {} ", "\t{}/\r\n"])
def test_blanks_around_an_address_are_no_part_of_it(around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRYCONTRACT_URL", around.format(URL))
    assert repr(Client(None, KEY)) == repr(Client(around.format(URL), KEY)) == f"Client('{URL}')"


@pytest.mark.parametrize("key", ["rc_ä", "rc_1 2", "rc_1\n2", "rc_\x7f"])
def test_a_key_that_cannot_be_one_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(MissingKeyError, match="characters that none has") as caught:
        Client(URL, key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: Client(5), "http:// or https://"),
        (lambda _: Client(URL, 5), "API key"),
        (lambda _: Client(URL, KEY.encode()), "API key"),
        *[(lambda _, given=given: Client(URL, KEY, patience=given), "patience is a number of seconds")
          for given in ("3", None, float("nan"), -1)],
        *[(lambda client, given=given: client.wait_for_guidance(given), r"call is its id.*not " + named)
          for given, named in ((None, "None"), (5, "5"), ([], r"\[\]"), ("", "''"))],
        (lambda client: client.cancel(None), "call is its id"),
        (lambda client: client.cancel("  "), "call is its id"),
        (lambda client: client.acknowledge(5), "call is its id"),
        (lambda client: client.wait_for_verdict(object()), "call is its id"),
        (lambda client: client.wait_for_verdict("c1", timeout="5"), "timeout is a number of seconds"),
        (lambda client: client.wait_for_verdict("c1", timeout=None), "timeout is a number of seconds"),
        (lambda client: client.wait_for_guidance("c1", timeout=float("nan")), "timeout is a number of seconds or None"),
        (lambda client: client.submit("deploy", "t1", {}, wait="5"), "wait is a number of seconds"),
        (lambda client: client.settle("deploy", "t1", {}, timeout="5"), "timeout is a number of seconds or None"),
        (lambda client: client.submit("deploy", "t1", {1, 2}), "arguments cannot be written as JSON: .*set"),
        (lambda client: client.submit("deploy", "t1", {}, context={"goal": object()}), "cannot be written as JSON"),
        (lambda client: client.submit("deploy", "t1", {"n": 10**5000}), "cannot be written as JSON: .*digits"),
        (lambda client: client.submit("deploy", "t1", within_itself()), "cannot be written as JSON: Circular"),
        (lambda client: client.submit("deploy", "t1", {}, context={"goal": nested(50_000)}), "nested too deeply"),
        (lambda client: client.cancel("../tools"), "call is its id"),
        (lambda client: client.acknowledge(".."), "call is its id"),
        (lambda client: client.tool(".."), "tool's name is a text"),
        (lambda client: client.submit("deploy", "t1", {}, api_error=OSError("x")), "cannot be written as JSON"),
        (lambda client: client.submit("deploy", "t1", {}, callback_error=5), "callback_error is a text or a list"),
        (lambda client: client.submit("deploy", "t1", {}, callback_error=[5]), "callback_error is a text or a list"),
        (lambda client: client.submit("deploy", "t1", {}, callback_error=OSError("x")), "callback_error is a text"),
        (lambda client: client.tool(5), "tool's name is a text"),
        (lambda client: client.tool(""), "tool's name is a text"),
        (lambda client: client.register_tool(None, {}), "tool's name is a text"),
        (lambda client: client.session(5), "session's name is a text"),
        (lambda client: client.session("{session}"), "give each an id of its own"),
        (lambda client: next(client.events(types="call.blocked")), "types is a list"),
        (lambda client: client.guard_tools(print), "a list of functions"),
        (lambda client: client.guard(print, timeout="5"), "timeout is a number of seconds or None"),
        (lambda client: client.guard(5), "guard.* a function"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_a_developer_gave_that_cannot_be_used_is_named_before_anything_is_sent(
    scripted: Scripted, call: Callable[[Client], Any], words: str
) -> None:
    service = scripted()
    with service.client() as client, pytest.raises((WrongInputError, MissingKeyError), match=words):
        call(client)
    assert service.requests == []


def test_without_a_key_the_error_says_how_to_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETRYCONTRACT_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match=r"RETRYCONTRACT_API_KEY.*agent create NAME"):
        Client(URL)


@pytest.mark.parametrize(
    ("url", "key", "used"),
    [
        (None, None, ("http://there:1", "Bearer rc_there")),
        ("http://here:2/", "rc_here\n", ("http://here:2", "Bearer rc_here")),
        ("https://here/below/", None, ("https://here/below", "Bearer rc_there")),
    ],
)
def test_what_is_not_given_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, url: str | None, key: str | None, used: tuple[str, str]
) -> None:
    monkeypatch.setenv("RETRYCONTRACT_URL", "http://there:1")
    monkeypatch.setenv("RETRYCONTRACT_API_KEY", "rc_there")
    asked: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return answer(200, {"acknowledged": True})

    with Client(url, key, transport=httpx2.MockTransport(handle)) as client:
        client.acknowledge("c1")
    assert client.url == used[0]
    assert str(asked[0].url) == f"{used[0]}/api/v1/calls/c1/guidance/ack"
    assert asked[0].headers["authorization"] == used[1]


def test_the_service_is_looked_for_where_it_starts_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETRYCONTRACT_URL", raising=False)
    with Client(api_key=KEY) as client:
        assert client.url == "http://127.0.0.1:8000"


def test_what_is_nested_too_deeply_to_be_written_is_submitted_as_no_output_with_the_reason(scripted: Scripted) -> None:
    deep: Any = "r"
    for _ in range(100_000):
        deep = [deep]
    service = scripted(answer(200, RETRY))
    with service.client() as client:
        assert client.submit("open", "t1", deep).status == "retry"
    (told,) = service.bodies
    assert told["arguments"] is None
    assert told["callback_error"][0] == {
        "message": "it is nested too deeply to be read", "hint": "send a flatter value"
    }  # fmt: skip
    with service.client() as client, pytest.raises(WrongInputError, match="nested too deeply"):
        client.submit("open", "t1", {}, context={"goal": deep})
