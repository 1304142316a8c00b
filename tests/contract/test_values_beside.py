"""An error shows its value alone: what stands beside it tells that it is secret all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryContract, Tool, ValidationError

SECRET = "x7Kq92LmPz4T"
# Where each of these is wrong, what is shown is less than what told.
BESIDE: list[tuple[Any, list[str]]] = [
    ({"name": "DB_PASSWORD", "value": SECRET}, ["value"]), ({"variable": "DB_PASSWORD", "to": SECRET}, ["to"]),
    ({"selector": "#password", "value": SECRET}, ["value"]), ({"label": "Password", "text": SECRET}, ["text"]),
    ({"prompt": "Password:", "response": SECRET}, ["response"]), ({"argv": ["--password", SECRET]}, ["argv", "1"]),
    ({"sql": "UPDATE users SET password = ? WHERE id = ?", "params": [SECRET, 7]}, ["params", "0"]),
    ({"patch": [{"op": "replace", "path": "/db/password", "value": SECRET}]}, ["patch", "0", "value"]),
    ({"fields": [{"name": "Password", "type": "textbox", "value": SECRET}]}, ["fields", "0", "value"]),
    ({"columns": ["user", "password"], "rows": [["ana", SECRET]]}, ["rows", "0", "1"]),
    ({"path": "/run/secrets/db_password", "content": SECRET}, ["content"]),
    ({"headers": [["X-Api-Key", SECRET]]}, ["headers", "0", "1"]),
    ({"env": [{"Key": "DB_PASSWORD", "Value": SECRET}]}, ["env", "0", "Value"]),
    ({"command": "sudo -S ls", "input": SECRET}, ["input"]),
    ({"name": "DB_PASSWORD", "value": SECRET, "log": "line\n" * 20_000}, ["value"]),
]  # fmt: skip
WRONG = [{"type": "integer"}, {"maxLength": 3},
         {"pattern": "^a"}, {"enum": ["a", "b"]}, {"const": 1}, {"format": "date"},
         {"anyOf": [{"type": "integer"}, {"maxLength": 2}]}, {"not": {"type": "string"}}]  # fmt: skip


def described(path: list[str], wrong: dict[str, Any]) -> dict[str, Any]:
    """Give a schema that refuses what stands at the path."""
    for name in reversed(path):
        wrong = {"items": wrong} if name.isdigit() else {"properties": {name: wrong}}
    return {"type": "object", **wrong}


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
@pytest.mark.parametrize(("arguments", "path"), BESIDE, ids=lambda each: json.dumps(each)[:60])
def test_what_its_neighbours_call_secret_is_shown_nowhere(
    arguments: dict[str, Any], path: list[str], wrong: dict[str, Any]
) -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=described(path, wrong))])
    told = contract.check("t", tool_call_id="a", arguments=json.dumps(arguments))
    assert told.tool_result is not None
    assert SECRET not in told.tool_result.content
    assert SECRET not in repr(told)


@pytest.mark.parametrize("depth", range(1, 4))
@pytest.mark.parametrize(("arguments", "path"), BESIDE, ids=lambda each: json.dumps(each)[:60])
def test_nor_in_what_holds_it(arguments: dict[str, Any], path: list[str], depth: int) -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=described(path[:-depth], {"type": "integer"}))])
    told = contract.check("t", tool_call_id="a", arguments=json.dumps(arguments))
    assert SECRET not in repr(told)


def quoting(_: Any) -> list[ValidationError]:
    """Say of a value what it holds, as a check of one's own may."""
    told = f"the value {SECRET} is known to others"
    return [ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", told, actual_value=SECRET, hint=f"not {SECRET}")]


@pytest.mark.parametrize(
    "arguments", [{"password": SECRET}, *(each for each, _ in BESIDE)], ids=lambda each: str(each)[:40]
)
def test_what_own_checks_say_of_an_output_quotes_no_secret_of_it(arguments: dict[str, Any]) -> None:
    sent = json.dumps(arguments)
    contract = RetryContract(tools=[Tool(name="t", input_schema={"type": "object"}, checks=[quoting])])
    told = contract.check("t", tool_call_id="a", arguments=sent)
    assert SECRET not in repr(told)
    plain = RetryContract(tools=[Tool(name="t", input_schema={"type": "object"})])
    told = plain.check("t", tool_call_id="a", arguments=sent, callback_error=f"the value {SECRET} is known to others")
    assert told.tool_result is not None
    assert SECRET not in repr(told)


def test_a_list_of_pairs_is_read_as_such_where_an_object_is_due() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema={"type": "object"})])
    sent = json.dumps([{"ParameterKey": "DBPassword", "ParameterValue": SECRET}])
    assert SECRET not in repr(contract.check("t", tool_call_id="a", arguments=sent))


def test_what_nobody_calls_secret_is_shown() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=described(["value"], {"type": "integer"}))])
    told = contract.check("t", tool_call_id="a", arguments=json.dumps({"name": "city", "value": SECRET}))
    assert SECRET in repr(told)


TEXTS = [
    "enable secret 0 §", "AUTH §", "7z a -p§ out.7z d", "mysql -u root -p§ db", 'if [ "$PASSWORD" = "§" ]; then',
    'std::string dbPassword{"§"};', "password: §", "sshpass -p § ssh root@h",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_caret_that_shows_what_is_wrong_hides_no_secret_from_the_search(text: str) -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema={"type": "object"})])
    told = contract.check("t", tool_call_id="a", arguments=text.replace("§", SECRET))
    assert told.tool_result is not None
    assert "‸" in told.tool_result.content
    assert SECRET not in repr(told)
