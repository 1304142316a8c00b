"""What may stand at the service's address beside the service: the TypeScript client says of each that it is none."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.client.scripted import PENDING, RETRY, VALID, WAITING, guided
from tests.examples.conftest import built, told_by
from tests.loops.wire import answering

pytestmark = built

GUIDED = guided(base=None)["guidance"]
BLOCKED = RETRY | {"state": "blocked", "status": "blocked"}
# What else may stand at the service's address, or another version of it: verdicts, waits and problems by turns.
VERDICTS: list[Any] = [
    None, [], [RETRY], {}, "ok", 5, True,
    *(RETRY | {name: each} for name in ("call_id", "attempt_number", "max_attempts", "state") for each in (None, [])),
    *(RETRY | {"status": given} for given in ("great", "", 5, {}, ["retry"])),
    *(RETRY | {"tool_result": given} for given in (None, [], "text", 5, {}, {"content": None}, {"content": ["a"]})),
    RETRY | {"call_id": ""}, RETRY | {"call_id": "\ud83d"}, RETRY | {"call_id": "a b"}, VALID | {"tool_result": "text"},
]  # fmt: skip
WAITS: list[Any] = [
    None, [], {}, 5, WAITING | {"state": None}, WAITING | {"guidance": "yes"}, WAITING | {"guidance": []},
    WAITING | {"expiry": {}},
    *(WAITING | {"guidance": GUIDED | {name: given}} for name, given in [
        ("decision", None), ("decision", "maybe"), ("text", None), ("text", {}), ("max_attempts", "5"), ("base", "1"),
    ]),
    *(WAITING | {"guidance": GUIDED | {"decision": "corrected", "patch": given}} for given in [
        "x", {}, [None], [5], [[]], [{"op": "add"}], [{"op": "add", "path": 1}], [{"op": 1, "path": ""}],
        [{"op": "move", "path": "/a", "from": {}}],
    ]),
]  # fmt: skip
PROBLEMS: list[Any] = [
    None, [], "no", 5, {"detail": {"toString": 1}}, {"title": []}, {"code": {"toString": None}}, {"errors": 5},
    {"errors": [None, 5, {"detail": {"toString": 1}}]}, {"candidates": [{"toString": 1}, 5]}, {"candidates": "a"},
]  # fmt: skip


def test_an_answer_that_is_none_of_the_services_is_an_error_that_says_so(node: Path) -> None:
    cases: list[tuple[list[Any], str]] = [
        *(([(200, each)], "with something else than it should") for each in VERDICTS),
        *(([(202, PENDING), (200, each)], "with something else than it should") for each in VERDICTS),
        *(([(200, BLOCKED), (200, each)], "with something else than it should") for each in WAITS),
        *(([(status, each)], f"{status}: ") for status in (403, 409, 500) for each in PROBLEMS),
        ([(202, PENDING), (200, PENDING | {"state": "cancelled"})], "ended (cancelled) before its verdict"),
        ([(202, PENDING)], "has no verdict yet"),
    ]
    with ExitStack() as stack:
        urls = [stack.enter_context(answering(*answers)).url for answers, _ in cases]
        found = told_by(node, "each", {"urls": urls}, urls[0])
    kinds = ("ClientError", "RefusedError", "VerdictPendingError")
    told = [isinstance(each, dict) and each.get("kind") in kinds and each["message"] for each in found]
    assert [
        (case, each) for (case, said), each, text in zip(cases, found, told, strict=True) if said not in str(text)
    ] == []


@pytest.mark.parametrize(
    "given", [None, [], {}, {"registered": [], "refused": None}, {"registered": 1, "refused": [1]}]
)
def test_tools_are_registered_where_the_service_says_so(node: Path, given: Any) -> None:
    with answering((200, given)) as wire:
        found = told_by(node, "guarded", {"inputs": [{}]}, wire.url)
    assert (found["kind"], "something else" in found["message"]) == ("ClientError", True)


def test_a_tool_that_the_service_refuses_is_an_error_of_the_client(node: Path) -> None:
    refused = {"name": "book", "pointer": "", "code": "x", "detail": "No such draft."}
    with answering((200, {"registered": [], "refused": [refused]})) as wire:
        found = told_by(node, "guarded", {"inputs": [{}]}, wire.url)
    assert (found["kind"], found["message"]) == (
        "ClientError",
        "book cannot be registered as a tool: No such draft.",
    )


def test_what_is_valid_is_told_under_the_id_that_was_sent(node: Path) -> None:
    with answering((200, VALID)) as wire:
        (found,) = told_by(node, "settle", {"outputs": [{}]}, wire.url)
    assert (found["status"], found["id"], found["content"]) == ("valid", "c0", "The call is valid.")


def test_what_no_json_can_hold_and_options_that_are_none_are_errors_of_the_client(node: Path) -> None:
    with answering((200, VALID)) as wire:
        assert told_by(node, "odd", {}, wire.url) == []


def test_what_is_handed_back_is_what_was_judged(node: Path) -> None:
    """JSON writes NaN as null, leaves functions out and makes texts of dates: so was it judged, and so is it run."""
    day = "'1970-01-01T00:00:00.000Z'"
    with answering(*[(200, VALID)] * 9) as wire:
        found = told_by(node, "written", {}, wire.url)
    nothing = "{ n: null }"
    assert found == [nothing, nothing, f"{{ at: {day} }}", "{ n: 1 }", "{ o: 'ok' }", "{}", "[ null ]", day, "null"]
