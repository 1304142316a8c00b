"""Secrets in texts whose lines are strings of a list: cells of notebooks, edits, what programs wrote."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
CHOSEN = "Tr0ub" + "4dor"

OVER_LINES = [
    "user,password\nalice,§",
    "password = \\\n  '§'", "- name: DB_PASSWORD\n  value: §", "curl -u \\\n  bob:§ \\\n  x.org/",
    "kind: Secret\ndata:\n  pw: §", "machine x.org\nlogin bob\npassword §", "$ echo $DB_PASSWORD\n§", "Password:\n§",
    "password: |\n  §", "| user | password |\n|---|---|\n| bob | § |", 'def get_password():\n    return "§"',
    "INSERT INTO users (name, password) VALUES\n('bob', '§');", "auth = (\n'bob',\n'§'\n)", '"pass":\n   "§"',
    "passwords:\n  - §", "admin_pw = os.environ.get(\n  'PW',\n  '§'\n)",
]  # fmt: skip
HARMLESS = [
    "import os\nprint('password')\n", "# Password\n\nHow to choose one.\n", "user,name\nalice,Tr0ub4dor\n",
    "passwords:\n  min_length: 12\n", "def get_password():\n    return ask()\n", "Enter\nyour\npassword\nhere\n",
]  # fmt: skip
DRESSES: dict[str, Callable[[list[str]], Any]] = {
    "lines that end as lines do": lambda lines: {"cells": [{"cell_type": "code", "source": lines}]},
    "lines": lambda lines: {"new_lines": [line.removesuffix("\n") for line in lines]},
    "lists of lines": lambda lines: [{"hunks": [["x\n", "y\n"], lines]}],
    "a notebook's text": lambda lines: json.dumps({"cells": [{"source": lines}]}),
    "indented": lambda lines: json.dumps({"cells": [{"source": lines, "outputs": []}]}, indent=1),
    "cut off": lambda lines: json.dumps({"cells": [{"source": lines}]}, indent=2)[:-8],
    "written into a file": lambda lines: {"path": "a.ipynb", "content": json.dumps({"source": lines}, indent=1)},
}


def lines_of(text: str) -> list[str]:
    return ["import os\n", *text.splitlines(keepends=True), "print(1)\n"]


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@pytest.mark.parametrize("form", OVER_LINES)
def test_a_secret_that_another_line_tells_is_redacted(form: str, dress: Callable[[list[str]], Any]) -> None:
    value = dress(lines_of(form.replace("§", CHOSEN) + "\n"))
    assert CHOSEN in json.dumps(value)
    redacted = SANITIZER.redact(value)
    assert CHOSEN not in json.dumps(redacted)
    assert "print(1)" in json.dumps(redacted)
    assert SANITIZER.redact(redacted) == redacted
    assert CHOSEN not in str(SANITIZER.preview(value))


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@pytest.mark.parametrize("text", HARMLESS)
def test_lines_without_a_secret_stay_as_they_are(text: str, dress: Callable[[list[str]], Any]) -> None:
    value = dress(lines_of(text))
    assert SANITIZER.redact(value) == value


REFUSING: dict[str, Any] = {
    "the line": {"items": {"not": {"pattern": CHOSEN[2:]}}}, "each line": {"items": {"maxLength": 1}},
    "their number": {"maxItems": 1}, "a list": {"type": "string"}, "its name": False,
}  # fmt: skip


@pytest.mark.parametrize("name", ["source", "new_lines"])
@pytest.mark.parametrize("before", [0, 49, 1_600])
@pytest.mark.parametrize("refusing", REFUSING.values(), ids=REFUSING)
@pytest.mark.parametrize("form", OVER_LINES)
def test_an_error_shows_no_line_that_another_one_tells_is_a_secret(
    form: str, refusing: Any, before: int, name: str
) -> None:
    lines = ["import os\n"] * before + form.replace("§", CHOSEN).splitlines(keepends=True)
    if name == "new_lines":
        lines = [line.removesuffix("\n") for line in lines]
    contract = RetryContract()
    contract.register(Tool(name="edit", input_schema={"type": "object", "properties": {name: refusing}}))
    outcome = contract.check("edit", tool_call_id="1", arguments=json.dumps({name: lines}))
    assert outcome.status == "retry"
    told = [
        f"{outcome.tool_result and outcome.tool_result.content}",
        *(f"{error.to_json()}" for error in outcome.errors),
    ]
    assert not [text for text in told if CHOSEN in text]


def test_of_the_lines_of_a_list_only_those_with_the_secret_change() -> None:
    lines = ["a = 1\n", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB" + "kd\n", "AwEHoUQDQgAE" + "9hsU==\n",
             "-----END EC PRIVATE KEY-----\n", "b = 2\n", "auth = (\n", "'bob',\n", f"'{CHOSEN}'\n", ")"]  # fmt: skip
    redacted = SANITIZER.redact({"source": lines})["source"]
    key = "[REDACTED: PRIVATE_KEY]"
    assert redacted[:5] == ["a = 1\n", f"{key}\n{key}\n", f"{key}\n", f"{key}\n", "b = 2\n"]
    assert [*redacted[5:7], redacted[8]] == ["auth = (\n", "'bob',\n", ")"]


KEY = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *(
        encoded[at : at + 64]
        for encoded in [base64.b64encode(Random(5).randbytes(603)).decode()]
        for at in range(0, 804, 64)
    ),
    "-----END RSA PRIVATE KEY-----",
]
APART: dict[str, Callable[[list[str]], Any]] = {
    "a list": lambda lines: {"anything": lines},
    "edits": lambda lines: {"edits": [{"op": "insert", "line": at, "text": line} for at, line in enumerate(lines)]},
    "edits with paths": lambda lines: [
        {"path": "/etc/key.pem", "at": at, "new": line} for at, line in enumerate(lines)
    ],
    "members": lambda lines: {f"{at}": line for at, line in enumerate(lines)},
    "rows": lambda lines: {"rows": [[at, line] for at, line in enumerate(lines)]},
    "two to a string": lambda lines: ["\n".join(islice(lines, at, at + 2)) for at in range(0, len(lines), 2)],
    "never ended": lambda lines: {"anything": lines[:-1]},
}


@pytest.mark.parametrize("dress", APART.values(), ids=APART)
def test_a_private_key_whose_lines_stand_apart_is_redacted_and_what_follows_is_not(
    dress: Callable[[list[str]], Any],
) -> None:
    follows = {"sha": "9f2c4e1ab03d5c6e", "word": "internationalization"}
    redacted = SANITIZER.redact({"key": dress(KEY), "between": ["a.b"] * 9, "follows": follows})
    assert not [line for line in KEY[1:-1] if line in json.dumps(redacted)]
    assert redacted["follows"] == follows


def test_what_comes_behind_a_public_key_or_an_ended_one_is_no_private_one() -> None:
    word = "internationalization"
    assert SANITIZER.redact([KEY[0].replace("PRIVATE", "PUBLIC"), word])[1] == word
    assert SANITIZER.redact([*KEY, word])[-1] == word
