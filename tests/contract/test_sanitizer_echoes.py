"""What one place tells to be secret is redacted wherever else it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.feedback.answer import examine_and_redact
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool, Tool

SANITIZER = ValueSanitizer(RetryConfiguration())
SECRETS = ("Ab3dEf6hIj", "hunter2", "Summer2024!", "x8Kq2LmW9zRt4VbN7yPc", "9f86d081-884c-4d63-a159-4c1b9a540e2b")
TEXTS = (
    "password: §\nand then § failed",
    'const password = "§";\nexpect(out).toContain("§");',
    "export DB_PASSWORD=§\n./deploy.sh § --now",
    '{"request": {"password": "§"}, "error": "\'§\' is too short"}',
    '{"log": "first\\n§\\tlast", "login": {"password": "§"}}',  # behind the letter of an escape
    "§ is wrong\npassword: §\n(§)",
)
VALUES: tuple[Any, ...] = (
    {"request": {"password": "§"}, "error": "'§' is too short"},
    {"lines": ["login failed for §", {"deep": [["§"]]}], "db_password": "§"},
    {"note": "try § again", "config": "password: §"},
    ["--password", "§", "curl -d §"],
    {"password": "§", "by value": {"§": 1, "and §": [2, "§"]}},
)
# JSON in a string is read as the value that it is, too: what its neighbours tell stands there without a name.
TOLD_AS_VALUES = (
    {"title": "WiFi password", "content": "§"},
    {"value": "§", "secret": True},
    {"command": "mysql", "args": ["-p§"]},
    [{"variable": "DB_PASSWORD", "to": "§"}, {"said": "it was §"}],
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_holds_it_nowhere_else(text: str, secret: str) -> None:
    redacted = SANITIZER.redact_text(text.replace("§", secret))
    assert secret not in redacted
    assert SANITIZER.redact_text(redacted) == redacted


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_holds_it_nowhere_else(value: Any, secret: str) -> None:
    value = json.loads(json.dumps(value).replace("§", secret))
    redacted = SANITIZER.redact(value)
    assert secret not in json.dumps(redacted)
    assert SANITIZER.redact(redacted) == redacted
    assert secret not in SANITIZER.preview(value)


@pytest.mark.parametrize("value", TOLD_AS_VALUES)
def test_json_in_a_string_tells_what_it_tells_as_a_value(value: Any) -> None:
    written = json.dumps(value).replace("§", SECRETS[0])
    for text in (written, json.dumps({"arguments": written})):
        assert SECRETS[0] not in SANITIZER.redact_text(text)
        assert SECRETS[0] not in json.dumps(SANITIZER.redact({"out": text}))


@pytest.mark.parametrize(("named", "elsewhere"), [
    ("password: hunter2", "hunter22 and ahunter2 and hunter2_a"),  # parts of words
    ("password: 12345678", "on 12345678 pages"),
    ("password: postgres", "the postgres server"),
    ("PASS: test-3.8", "Session test-3.8"),  # what documents call things
    ("token: op12", "op12 is too short to tell"),
])  # fmt: skip
def test_what_may_stand_there_by_chance_stays(named: str, elsewhere: str) -> None:
    assert SANITIZER.redact_text(f"{named}\n\n{elsewhere}").endswith(elsewhere)
    assert SANITIZER.redact({"log": named, "note": elsewhere})["note"] == elsewhere


def test_an_error_far_from_the_secret_does_not_show_it() -> None:
    value = {
        "login": {"password": SECRETS[0]}, "filler": ["words"] * 20_000, "count": f"{SECRETS[0]} of 3",
    }  # fmt: skip
    schema = {"type": "object", "properties": {"login": {}, "filler": {}, "count": {"type": "integer"}}}
    tool = CompiledTool.of(Tool(name="count", description="", input_schema=schema))
    examined = examine_and_redact(json.dumps(value), tool, SANITIZER, tool_name="count")
    assert [error.field_path for error in examined.findings.errors] == ["/count"]
    assert SECRETS[0] not in json.dumps([error.to_json() for error in examined.findings.errors])
    assert SECRETS[0] not in json.dumps(examined.kept)


def test_a_value_of_thousands_of_secrets_is_a_dump_of_them() -> None:
    many = SANITIZER.redact([{"t": f"password: v{number}x"} for number in range(5_000)] + [{"t": "plain words"}])
    assert many[0] == {"t": "password: [REDACTED: PASSWORD]"}
    assert many[-2] == {"t": "[REDACTED: SECRET]"}
    assert many[-1] == {"t": "plain words"}
