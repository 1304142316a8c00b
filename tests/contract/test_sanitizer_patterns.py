"""Secrets in the patterns of a schema, written as patterns are: with signs escaped, in groups, between anchors."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import Tool
from retrycontract.in_process import RetryContract

SANITIZER = ValueSanitizer()
MIXED = string.ascii_letters + string.digits
SIGNS = ".-/_:@="
NEIGHBOURS = 200


def secret(dice: random.Random) -> tuple[str, str]:
    """Give a text, and what of it nobody may read."""

    def body(length: int, characters: str = MIXED) -> str:
        return "".join(dice.choices(characters, k=length))

    def part(content: dict[str, str]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    before, core, after = dice.choice([
        (f"SG.{body(22)}.", body(43), ""),
        (f"{part({'alg': 'HS256'})}.{part({'sub': body(8)})}.", body(43), ""),
        ("ghp" + "_", body(36), ""),
        (f"xoxb-{body(12, string.digits)}-", body(24), ""),
        ("AK" + "IA", body(16, string.ascii_uppercase + string.digits), ""),
        ("https://bob:", body(12), "@example.com/x"),
        ("postgresql://app:", body(12), "@db.example.com:5432/prod"),
        ("sk-ant-api03" + "-", body(40), ""),
        ("glpat" + "-", body(20), ""),
        ("-----BEGIN RSA PRIVATE" + " KEY-----\n", body(60), "\n-----END RSA PRIVATE KEY-----"),
        ("Server=db;User Id=sa;Password=", body(14), ";"),
        ("4111-", "1111-1111-1111", ""),
        ("password=", body(12), ""),
    ])  # fmt: skip
    return before + core + after, core


def in_groups(text: str) -> str:
    middle = len(text) // 2
    return f"(?:{re.escape(text[:middle])})({re.escape(text[middle:])})"


WRITTEN: list[Callable[[str], str]] = [
    re.escape,
    lambda text: "".join(f"\\{c}" if c in ".-/+*?$^()[]{}|" else c for c in text),
    lambda text: "".join(f"\\x{ord(c):02x}" if c in SIGNS else c for c in text),
    lambda text: "".join(f"\\u{ord(c):04x}" if c in SIGNS else c for c in text),
    lambda text: "".join(f"[{c}]" if c in ".-/_" else re.escape(c) for c in text),
    lambda text: re.escape(text).replace(r"\-\-\-\-\-", "-{5}").replace(r"\ ", r"\s"),
    in_groups,
]
AROUND = ("^{}$", "{}", r"\b{}\b", "^({}|other)$", "^(?:other|{})$", r"\A{}\Z", "^prefix-{}$", "(?={})", "^(?P<x>{})$")
PLACES: list[Callable[[str], Any]] = [
    lambda pattern: {"properties": {"p": {"type": "string", "pattern": pattern}}},
    lambda pattern: {"patternProperties": {pattern: {}}},
    lambda pattern: {"propertyNames": {"pattern": pattern}},
    lambda pattern: {"x-form": pattern},
]
# A pattern describes; what it leaves open is nobody's secret.
HEADS = ("https?", "password", "token", "api_key", "AKIA", "ghp_", "sk-", r"SG\.", "eyJ", "Bearer ", "user", "4")
CLASSES = (r"\w+", "[A-Za-z0-9]{36}", "[^@]+", r"\S+", ".+", r"\d{4}", "[0-9a-f]{32}", r"[\w-]+", r"\d+(?:\.\d+)*")
SEPARATORS = ("=", ":", r"\:", r"\/", "@", r":\/\/", r"\.", "-", "_", r"\s*=\s*")


def read_back(schema: Any) -> str:
    text = re.sub(r"\\+(?:u00|x)(..)", lambda match: chr(int(match[1], 16)), json.dumps(schema))
    return re.sub(r"[\\\[\](?:)]", "", text)


@pytest.mark.parametrize("written", WRITTEN)
def test_a_secret_in_a_pattern_goes_however_its_signs_are_written(written: Callable[[str], str]) -> None:
    dice = random.Random(11)
    for number in range(NEIGHBOURS):
        text, core = secret(dice)
        schema = PLACES[number % len(PLACES)](AROUND[number % len(AROUND)].format(written(text)))
        shown = SANITIZER.redact_schema(schema)
        assert shown != schema
        assert core not in read_back(shown), schema


def test_patterns_that_leave_a_choice_stay() -> None:
    dice = random.Random(12)
    for _ in range(NEIGHBOURS):
        rest = "".join(dice.choice(SEPARATORS) + dice.choice(CLASSES) for _ in range(dice.randint(1, 3)))
        pattern = f"^{dice.choice(HEADS)}{rest}$"
        # Some read like an assignment; that was not for the way in which their signs are written.
        assert SANITIZER.redact_identifier(pattern) == SANITIZER.redact_text(pattern)


@pytest.mark.parametrize("words", [
    r"^(\w+)\.(js|ts)x?$", r"^C:\\Users\\[^\\]+\\token\.txt$", "see [token] (or [api_key]): a.b", "f(x)[0].password",
    r"^(?!password)\S+$", r"^\+?[0-9]{1,3}-?\d{6,14}$", "[" * 50, "(" * 50 + "\\", r"\x", r"a\u{110000}b",
])  # fmt: skip
def test_other_words_of_schemas_stay(words: str) -> None:
    assert SANITIZER.redact_identifier(words) == words


def test_the_model_reads_no_secret_of_a_pattern() -> None:
    key = "abcdefghijklmnopqrstuv." + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
    schema = {"type": "object", "properties": {"p": {"type": "string", "pattern": f"^{re.escape('SG.' + key)}$"}}}
    outcome = RetryContract([Tool(name="send", input_schema=schema)]).check("send", "c", '{"p": "x"}')
    assert outcome.tool_result is not None
    assert "Value doesn't match pattern: ^[REDACTED: SENDGRID_KEY]$" in outcome.tool_result.content
