"""What names of parents and neighbours tell, in parsed JSON and in the same JSON that was not read as such."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
SECRET = "hunter" + "2Tr0ub"
RANDOM = "f9Kx2mQ7" + "vLp3Zt8R"
CODE = "48" + "2193"

PARENTS: list[Any] = [
    {"password": {"value": SECRET}},
    {"passwords": {"bob": SECRET, "eve": "x"}},
    {"credentials": {"bob": SECRET}},
    {"secrets": {"a": SECRET}},
    {"secrets": {"a": {"b": [SECRET]}}},
    {"tokens": [RANDOM]},
    {"recovery_codes": [SECRET]},
    {"backupCodes": ["a1", SECRET]},
    {"sid": RANDOM},
    {"mfa_code": CODE},
    {"twoFactorCode": CODE},
    {"security_code": "482"},
    {"mật_khẩu": SECRET},
    {"kata_sandi": SECRET},
    {"kata-laluan": SECRET},
    {"κωδικός_πρόσβασης": SECRET},
    {"mot_de_passe": SECRET},
    {"dbpass": SECRET},
    {"userpass": SECRET},
    {"rootpw": SECRET},
    {"loginpw": SECRET},
]
NEIGHBOURS: list[Any] = [
    {"name": "DB_PASSWORD", "value": SECRET},
    {"value": SECRET, "name": "DB_PASSWORD"},
    {"Name": "password", "Value": SECRET},
    {"label": "Password", "text": SECRET},
    {"label": "API key", "text": SECRET},
    {"element": "Passwort", "text": SECRET},
    {"xpath": "//input[@id=password]", "text": SECRET},
    {"name": "password", "default": SECRET},
    {"selector": "#password", "text": SECRET},
    {"element": "Password field", "ref": "e12", "text": SECRET},
    {"op": "replace", "path": "/db/password", "value": SECRET},
    {"id": "password", "value": SECRET},
    {"column": "password", "value": SECRET},
    {"k": "password", "v": SECRET},
    {"type": "password", "value": SECRET},
    {"variable": "DB_PASSWORD", "contents": SECRET},
    {"NAME": "API_KEY", "VALUE": SECRET},
    {"columns": ["user", "password"], "values": ["bob", SECRET]},
    {"label": "Password", "answer": SECRET},
    {"path": "/spec/password", "value": SECRET},
    {"variable": "DB_PASSWORD", "to": SECRET},
    {"setting": "password", "new": SECRET},
    {"kind": "Secret", "apiVersion": "v1", "stringData": {"a": SECRET}},
    {"columns": ["id", "password"], "rows": [["a", "b"], ["bob", SECRET]]},
    {"headers": ["u", "password"], "data": [["b", SECRET]]},
    {"sql": "UPDATE u SET password=$1", "parameters": [SECRET]},
    {"query": "INSERT INTO u (a, password) VALUES (?, ?)", "params": ["x", SECRET]},
    {"sql": "select 1 where a = ? and password = ?", "args": ["x", SECRET]},
    {"items": [{"name": "secret", "value": SECRET}]},
]
FORMS: dict[str, Callable[[Any], Any]] = {
    "parsed": lambda value: {"x": value},
    "cut off": lambda value: json.dumps({"x": value}, ensure_ascii=False)[:-1],
    "cut off twice": lambda value: json.dumps({"x": {"y": value}})[:-2],
    "in a string": lambda value: {"x": json.dumps(value, ensure_ascii=False)},
    "in a string that is cut off": lambda value: json.dumps({"x": json.dumps(value)})[:-1],
    "of Python": lambda value: repr({"x": value}),
    "of Python in a string": lambda value: {"x": repr(value)},
    "on lines": lambda value: json.dumps({"x": value}, indent=2, ensure_ascii=False) + ",",
    "among words": lambda value: f"Call it with {json.dumps(value, ensure_ascii=False)} please.",
    "in a fence": lambda value: f"```json\n{json.dumps(value, indent=1)}\n```",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [*PARENTS, *NEIGHBOURS], ids=lambda value: json.dumps(value, ensure_ascii=False))
def test_what_parsed_json_hides_is_hidden_however_it_is_written(value: Any, form: str) -> None:
    written = FORMS[form](value)
    shown = SANITIZER.redact(written)
    shown = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    for secret in (SECRET, RANDOM, CODE, '"482"'):
        assert secret not in shown.replace("'", '"').replace("\\", "")


DOCKER = [{"Cmd": "mysql", "Args": [f"-p{SECRET}"]}, {"CMD": ["mysql"], "ARGS": [f"-p{SECRET}"]}]


@pytest.mark.parametrize("value", DOCKER, ids=json.dumps)
def test_a_command_line_in_the_spelling_of_docker_is_one(value: Any) -> None:
    assert SECRET not in json.dumps(SANITIZER.redact(value))


HARMLESS: list[Any] = [
    {"name": "user", "value": "bob123"},
    {"id": "header", "value": "a1b2"},
    {"type": "token", "value": "x1("},
    {"path": "/password.txt", "content": "a1"},
    {"path": "/db/host", "op": "replace", "value": "db1"},
    {"columns": ["user", "age"], "values": ["bob1", "x2"]},
    {"sql": "UPDATE u SET name=$1", "parameters": ["bob1"]},
    {"password": {"type": "string", "minLength": 8, "description": "At least 8 letters"}},
    {"name": "password", "type": "string"},
    {"tokens": {"prompt": 12, "completion": 7}},
    {"keys": ["name", "size1"]},
    {"compass": "n1"},
    {"bypass": "rule7x"},
    {"theme": {"token": {"colorPrimary": "#00b96b"}}, "x": 1},
    {"sid": "abc"},
    {"residual": "a1b2c3d4e5f6g7"},
    {"name": "password", "required": True, "label": "Password"},
    {"field": "password", "message": "is too short"},
]


@pytest.mark.parametrize("form", [name for name in FORMS if name != "parsed"])
@pytest.mark.parametrize("value", HARMLESS, ids=json.dumps)
def test_what_is_harmless_stays_however_it_is_written(value: Any, form: str) -> None:
    written = FORMS[form](value)
    assert SANITIZER.redact(written) == written


@pytest.mark.parametrize(
    "piece",
    [
        '{"name": "password", "a": ',
        '"name": "password", ',
        '"password": {"',
        "x password={ ",
        '"keys": ["a1", ',
        '{"sql": "password=?',
    ],
)
def test_what_opens_without_end_is_read_to_its_end(piece: str) -> None:
    SANITIZER.redact_text(piece * 2_000)
