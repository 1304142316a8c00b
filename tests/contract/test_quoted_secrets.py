"""What quotes a schema redacts first and shortens afterwards: half a secret is not recognised as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.admission import InvalidSchema, examine
from retrycontract.contract.schemas.document import EXCERPT, excerpt
from retrycontract.contract.schemas.tool_lists import InvalidToolListError, read_tool_list
from tests.contract.quoted_secrets import GITHUB, REFUSED, SPOKEN, WARNED, leaked, texts

WHOLE = ValueSanitizer()


@pytest.mark.parametrize("keyword", REFUSED)
def test_a_refused_schema_is_told_without_its_secrets(keyword: str) -> None:
    make, found = REFUSED[keyword], {}
    for text, secret in texts():
        schema = make(text)
        with pytest.raises(InvalidSchema) as caught:
            examine(schema)
        assert len(caught.value.reason) < 400
        if parts := leaked(secret, str(caught.value), str(WHOLE.redact_schema(schema))):
            found[text] = str(caught.value), parts
    assert found == {}


@pytest.mark.parametrize("keyword", WARNED)
def test_a_warning_is_told_without_the_schemas_secrets(keyword: str) -> None:
    make, found = WARNED[keyword], {}
    for text, secret in texts():
        schema = make(text)
        told = "\n".join(map(str, examine(schema).warnings))
        assert told
        if parts := leaked(secret, told, str(WHOLE.redact_schema(schema))):
            found[text] = told, parts
    assert found == {}


@pytest.mark.parametrize("secret", [GITHUB, f"password={SPOKEN}"])
@pytest.mark.parametrize("padded", [lambda text, at: "b " * at + text, lambda text, at: text + " b" * at])
def test_an_excerpt_cut_anywhere_shows_no_part_of_a_secret(secret: str, padded: Callable[[str, int], str]) -> None:
    for at in range(2 * EXCERPT):
        shown = excerpt(padded(secret, at))
        assert leaked(secret.removeprefix("password="), shown, "") == [], at
        assert len(shown) <= EXCERPT


def test_an_excerpt_of_a_text_without_secrets_is_the_text() -> None:
    assert excerpt("#/components/schemas/Name") == "#/components/schemas/Name"
    assert excerpt("a\nb\u200b") == "a\\nb\\u200b"


@pytest.mark.parametrize(
    "tools",
    [
        [{"name": f"deploy {GITHUB}", "parameters": {}}, {"name": f"deploy {GITHUB}", "parameters": {"type": "null"}}],
        [{"name": "deploy", f"see {GITHUB}": {"type": "object", "properties": {}}}],
    ],
)
def test_a_refused_list_of_tools_is_told_without_its_secrets(tools: Any) -> None:
    with pytest.raises(InvalidToolListError) as caught:
        read_tool_list(tools)
    assert leaked(GITHUB, str(caught.value), "") == []
