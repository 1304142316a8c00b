"""What a text or a value says again and again is looked at once: a call, a line of a certificate, a secret."""

from __future__ import annotations

import base64
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from string import ascii_letters, digits
from typing import Any

import pytest

from retrycontract.contract.redaction import neighbours
from retrycontract.contract.redaction.allowance import SecretSpan
from retrycontract.contract.redaction.echoes import MOST_READ, Echoes
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.redaction.scanner import BALANCED, Scanner, remembering
from retrycontract.contract.redaction.walk import Redactor
from tests.contract import counting
from tests.contract.counting import CountingPattern

SANITIZER = ValueSanitizer()
CHOSEN = random.Random(3)
# A line of a console that repeats how what shows a secret begins, and one as long that begins nothing.
COMMANDS = ("k secret ", "kubectl secret/ ", "pass a/", "echo secret ", 'secret["a"]')
HARMLESS = "a word of a long line "


def word(length: int) -> str:
    return "".join(CHOSEN.choices(ascii_letters + digits, k=length))


def steps(work: Callable[[], object]) -> int:
    """Count the calls that the work makes the second time."""
    work()
    return counting.steps(work)


def seconds(work: Callable[[], object]) -> float:
    def once() -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    return min(once() for _ in range(3))


def test_a_stream_whose_lines_give_one_id_stays_as_it_is() -> None:
    chunk = '{{"id":"chatcmpl-1","usage":{{"prompt_tokens":{0}}},"delta":{{"tool_call_id":"call_9","content":"{0}"}}}}'
    stream = "\n".join(map(chunk.format, range(5_000)))
    assert SANITIZER.redact_text(stream) == stream


def test_a_call_is_read_once_however_many_results_give_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    braces = CountingPattern(neighbours._BRACE)
    monkeypatch.setattr(neighbours, "_BRACE", braces)
    call = '{"a": {}}' * 50 + '{"id": "c1", "name": "list_secrets"}\n'
    results = '{"tool_call_id": "c1", "content": "x"}\n' * 300
    assert SANITIZER.redact_text(call + results) == call + results
    assert 0 < braces.looked < 2_000


def test_a_result_is_hidden_by_the_first_call_of_its_id() -> None:
    call = '{"id": "c1", "name": "get_password", "arguments": "{}"}\n'
    results = '{"tool_call_id": "c1", "content": "S3cretB1rd"}\n' * 3
    assert SANITIZER.redact_text(call + results).count("[REDACTED: PASSWORD]") == 3


def test_a_list_of_calls_takes_little_longer_than_its_calls() -> None:
    calls = "".join(f'{{"command": "cat /run/secrets/a{at}", "n": 1}}\n' for at in range(1_000))
    apart = seconds(lambda: SANITIZER.redact_text(calls))
    assert seconds(lambda: SANITIZER.redact_text(f'{{"calls": [{calls}')) < 5 * apart + 0.02


def test_calls_that_are_never_closed_take_little_longer_than_others() -> None:
    calls = "".join(f'{{"command": "cat /run/secrets/a{at}", "output": "some words"}}\n' for at in range(1_000))
    opened, closed = calls.replace("}", ""), seconds(lambda: SANITIZER.redact_text(calls))
    assert seconds(lambda: SANITIZER.redact_text(opened)) < 3 * closed + 0.02


def test_behind_calls_that_are_never_closed_nothing_is_told() -> None:
    call = '{"command": "cat /run/secrets/db", "output": "S3cretB1rd"\n'
    redacted = SANITIZER.redact_text(call * 2_000)
    assert "S3cretB1rd" not in redacted
    assert SANITIZER.redact_text(redacted) == redacted


def certificates(count: int) -> str:
    """Lines of certificates without the lines around them."""
    body = b"".join(CHOSEN.randbytes(500) + b"\x06\x03\x55\x04\x03" for _ in range(count))
    return re.sub("(.{64})", "\\1\n", base64.b64encode(body).decode())


def test_the_lines_of_certificates_are_read_once() -> None:
    text = certificates(200)
    assert SANITIZER.redact_text(text).count("[REDACTED") < text.count("\n") / 20
    assert steps(lambda: SANITIZER.redact_text(text)) < 200 * text.count("\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_that_repeats_how_a_command_begins_takes_little_longer_than_another(command: str) -> None:
    def console(unit: str) -> str:
        return "".join(f"$ {(unit * 580)[: 580 - number]}\nanswer{number}\n" for number in range(100))

    repeated, harmless = console(command), console(HARMLESS)
    ordinary = seconds(lambda: SANITIZER.redact_text(harmless))
    assert seconds(lambda: SANITIZER.redact_text(repeated)) < 20 * ordinary + 0.02


def test_many_long_secrets_are_sought_as_fast_as_short_ones() -> None:
    def echoes(length: int) -> Echoes:
        found = Echoes()
        for _ in range(1_000):
            found.add(word(length), "TOKEN")
        return found

    text, short, long = "ordinary words and lines of a text, in Any 0rder\n" * 4_000, echoes(12), echoes(190)
    assert seconds(lambda: long.hidden_in(text)) < 8 * seconds(lambda: short.hidden_in(text)) + 0.02


@pytest.mark.parametrize("secret", ["Abc123def", "Abc123d", "Abc123defGhi"])
def test_of_secrets_that_begin_alike_the_longest_is_taken(secret: str) -> None:
    echoes = Echoes()
    for each in ("Abc123d", "Abc123defGhi", "Abc123def", *(word(12) for _ in range(20))):
        echoes.add(each, "TOKEN")
    assert echoes.hidden_in(f"it was {secret} again") == "it was [REDACTED: TOKEN] again"


def test_strings_that_open_a_bracket_take_no_longer_than_others_where_each_holds_a_secret() -> None:
    plain = [f"x token={word(20)}" for _ in range(1_000)]
    opened = [f"[{each}" for each in plain]
    assert seconds(lambda: SANITIZER.redact(opened)) < 2 * seconds(lambda: SANITIZER.redact(plain))


def test_strings_that_repeat_a_secret_take_little_longer_than_others() -> None:
    def value(told: str) -> Any:
        return {"password": "Tr0ub4dor9x", "items": [f"item {at} word{at} has {told} inside" for at in range(500)]}

    assert SANITIZER.redact(value("Tr0ub4dor9x"))["items"][7] == "item 7 word7 has [REDACTED: PASSWORD] inside"

    def redacted(told: str) -> Any:
        BALANCED._harmless.clear()  # what was seen before takes few steps
        return SANITIZER.redact(value(told))

    assert steps(lambda: redacted("Tr0ub4dor9x")) < 2.5 * steps(lambda: redacted("Trombone9x"))


def test_what_a_repeated_secret_hid_is_found_behind_its_mark() -> None:
    value = {"password": "Tr0ub4dor9x", "items": [f"pwd=Tr0ub4dor9x {at} mysql -psecret{at}B1rd" for at in range(30)]}
    redacted = SANITIZER.redact(value)
    assert SANITIZER.redact(redacted) == redacted
    assert "B1rd" not in json.dumps(redacted)


class CountingLooks(Scanner):
    """Count the characters that are looked at."""

    __slots__ = ("looked",)

    def __init__(self) -> None:
        super().__init__(strict=False)
        self.looked = 0

    def _find(self, text: str, most: int | None, places: list[int] | None = None) -> Iterator[SecretSpan]:
        self.looked += len(text)
        return super()._find(text, most, places)


@pytest.mark.parametrize(
    "value",
    [
        "token=S3cretB1rd99",
        {"password": "S3cretB1rd99"},
        ['{"password": "S3cretB1rd99"}'],
        ["[1] token=S3cretB1rd99"],
    ],
)
def test_within_one_check_no_text_is_searched_twice(value: Any) -> None:
    scanner = CountingLooks()

    def redacted() -> Any:
        return Redactor(scanner, secrets=True, marked=(), bounded=False).redact(value, "")

    with remembering():
        first, looked = redacted(), scanner.looked
        assert "S3cretB1rd99" not in json.dumps(first)
        assert redacted() == first
    assert scanner.looked == looked > 0


def test_a_preview_asks_no_call_that_it_does_not_show() -> None:
    calls = [{"id": f"c{at}", "name": "get_password", "arguments": {"of": at}} for at in range(2_000)]
    value = [*calls, {"tool_call_id": "c7", "content": "S3cretB1rd"}]
    assert "S3cretB1rd" not in SANITIZER.preview(value)
    assert steps(lambda: SANITIZER.preview(value)) < 100 * len(calls)


def arguments(**more: str) -> str:
    return json.dumps({"path": f"src/{word(4)}.py", "query": HARMLESS * 4, "limit": 20, **more})


def test_arguments_that_name_no_secret_cost_as_much_as_other_texts() -> None:
    texts = [arguments() for _ in range(200)]
    others = [f"a{text}" for text in texts]
    assert steps(lambda: SANITIZER.redact(texts)) < 2 * steps(lambda: SANITIZER.redact(others))


def test_of_very_many_arguments_that_may_tell_of_a_secret_not_all_are_read() -> None:
    texts = [arguments(key="a note") for _ in range(MOST_READ // 28)]
    few = texts[: len(texts) // 5]  # as many as are read
    assert steps(lambda: SANITIZER.redact(texts)) < 4 * steps(lambda: SANITIZER.redact(few))
