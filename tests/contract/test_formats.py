"""What a text lacks of its format is told, with a valid example."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import Tool, ValueSanitizer
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.schemas.type_expressions import FORMATS
from retrycontract.contract.tool import CompiledTool


def formatted(schema: Any, value: str) -> list[Any]:
    return violations(
        CompiledTool.of(Tool(name="t", input_schema=schema)).schema, value, strict=True, sanitizer=ValueSanitizer()
    )


@pytest.mark.parametrize(
    ("form", "value", "missing"),
    [
        ("date-time", "2026-11-23T10:00:00.5", "the zone is missing: Z or +01:00 at the end"),
        ("date-time", "2026-11-23 10:00:00Z", "T and not a blank stands between date and time"),
        ("date-time", "2026-11-23T10:00Z", "the seconds are missing"),
        ("date-time", "2026-11-23", "the time and its zone are missing"),
        ("date-time", "2026-11-23T10:00:00+0100", "the zone is not written as +01:00"),
        ("date-time", "tomorrow", None),
        ("time", "10:00:00", "the zone is missing: Z or +01:00 at the end"),
        ("time", "10:00", "the seconds are missing"),
        ("date", "2026-11-23T10:00:00Z", "a time follows the date"),
        ("uri", "www.example.com/a", "the scheme is missing: https:// at the beginning"),
        ("uuid", "1234", None),
        ("email", "Bob <bob@example.com>", "the address alone, without a name"),
        ("email", '"Bob B" <bob@example.com> ', "the address alone, without a name"),
        ("email", "<bob@example.com>", "the address alone, without a name"),
        ("idn-email", "Böb <böb@example.com>", "the address alone, without a name"),
        ("email", "bob", None),
    ],
)
def test_what_a_value_lacks_of_its_format_is_told(form: str, value: str, missing: str | None) -> None:
    (error,) = formatted({"format": form}, value)
    assert error.message == f"Invalid format: {form}" + (f" ({missing})" if missing else "")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_that_is_asserted_has_a_valid_example_in_its_hint(form: str) -> None:
    assert not formatted({"format": form}, FORMATS[form])
    wrong = next(text for text in ("{", "\\", "^ (") if formatted({"format": form}, text))
    (error,) = formatted({"format": form}, wrong)
    assert (error.hint or "").endswith(f"in the format {form}, such as {FORMATS[form]}")


def test_what_one_value_lacks_is_not_told_of_the_next() -> None:
    schema = CompiledTool.of(Tool(name="t", input_schema={"items": {"format": "time"}})).schema
    found = violations(schema, ["10:00:00", "10:00", "soon"], strict=True, sanitizer=ValueSanitizer())
    assert [error.message.partition("(")[2][:11] for error in found] == ["the zone is", "the seconds", ""]


@pytest.mark.parametrize("draft", ["draft-04/schema#", "draft-07/schema#"])
@pytest.mark.parametrize("address", ["bob@example.com", '"a<b>"@example.com', "bob@[192.0.2.1]"])
def test_an_address_alone_is_one_in_every_draft(draft: str, address: str) -> None:
    schema = {"$schema": f"http://json-schema.org/{draft}", "items": {"format": "email"}}
    found = violations(
        CompiledTool.of(Tool(name="t", input_schema=schema)).schema, [address, f"Bob <{address}>"], strict=True,
        sanitizer=ValueSanitizer(),
    )  # fmt: skip
    assert [error.field_path for error in found] == ["/1"]
