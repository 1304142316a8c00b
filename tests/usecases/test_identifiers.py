"""Identifiers with a secret in them: never stored as they came, and still themselves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.store.models import Call, Tool
from retrycontract.usecases.calls.repeat_request import (
    opened_identifier,
    safe_identifier,
    safe_tool_name,
    sealed_identifier,
)
from tests.factories import DEPLOY, WRONG, make_agent, make_tool, submit

pytestmark = pytest.mark.django_db

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
OTHER = "ghp_" + "zB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA6"


@pytest.mark.parametrize(
    "identifier",
    ["toolu_01A09q90qw90lq917835lq9", "call_abc123", "7f3b2a9c-5d1e-4c1b-9a54-444455556666", "chatcmpl-tool-8c2f",
     "session-5f4dcc3b5aa765d61d8327deb882cf99", "user@example.com/42", "Sitzung 7", ""],
)  # fmt: skip
def test_an_ordinary_identifier_stays_as_it_is(identifier: str) -> None:
    assert safe_identifier(identifier) == identifier


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"run-{TOKEN}",
        f"{TOKEN}\n{'x' * 500}",
        "\x00" * 500 + TOKEN,
        f"{TOKEN} {TOKEN}",
        "x" * 150 + TOKEN,
        "postgres://a:b3Xq9@h/d",
    ],
)
def test_an_identifier_with_a_secret_is_redacted_and_hashed(text: str) -> None:
    safe = safe_identifier(text)
    assert re.search(r"\[REDACTED: \w+\].*-[0-9a-f]{16}$", safe)
    assert TOKEN[4:20] not in safe
    assert len(safe) <= 200
    assert safe_identifier(text) == safe


@example("", ":pypi-AgN")  # together with the hash that would be a token
@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_safe_stays_what_it_is(before: str, after: str) -> None:
    for text in (f"{before}{TOKEN}{after}"[:200], f"{before}{after}\n", (before + after) * 9, f"{before}x" * 200):
        safe = safe_identifier(text)
        assert safe_identifier(safe) == safe
        assert len(safe) <= 200


def test_two_secrets_never_become_the_same_identifier() -> None:
    assert safe_identifier(TOKEN) != safe_identifier(OTHER)
    assert safe_tool_name(TOKEN) != safe_tool_name(OTHER)


def test_the_hash_is_keyed(settings: Settings) -> None:
    before = safe_identifier(TOKEN)
    settings.SECRET_KEY = "another"
    assert safe_identifier(TOKEN) != before


def test_what_the_sanitiser_is_told_to_leave_is_left(settings: Settings) -> None:
    settings.CONTRACT = RetryConfiguration(redact_secrets=False)
    assert safe_identifier(TOKEN) == TOKEN


def test_a_sealed_identifier_opens_and_nothing_else_does() -> None:
    assert TOKEN not in sealed_identifier(TOKEN)
    assert opened_identifier(sealed_identifier(TOKEN)) == TOKEN
    assert [opened_identifier(text) for text in ("", "gAAAAA", "ü")] == [None, None, None]


@pytest.mark.parametrize(
    "fields",
    [{"tool_call_id": TOKEN, "session_id": "s"}, {"session_id": TOKEN, "tool_call_id": "id"}],
    ids=["the provider's id", "the session"],
)
def test_attempts_with_the_same_secret_in_their_ids_are_one_call(fields: dict[str, Any]) -> None:
    agent = make_agent()
    make_tool(agent)
    calls = {submit(agent, WRONG, **fields).call_id for _ in range(2)}
    assert len(calls) == 1
    submit(agent, WRONG, **{name: OTHER if value == TOKEN else value for name, value in fields.items()})
    assert Call.objects.count() == 2
    stored = Call.objects.order_by("pk").values_list("session_id", "last_tool_call_id")
    assert TOKEN not in repr(list(stored))


def test_a_tool_whose_name_holds_a_secret_is_found_by_that_name() -> None:
    agent = make_agent()
    make_tool(agent, f"tool-{TOKEN}")
    make_tool(agent, f"tool-{TOKEN}", DEPLOY | {"title": "again"})
    attempt = submit(agent, WRONG, tool=f"tool-{TOKEN}")
    tool = Tool.objects.get()
    assert (attempt.call.tool, tool.versions.count()) == (tool, 2)
    assert TOKEN not in tool.name + attempt.feedback
    assert submit(agent, WRONG, tool=f"tool-{OTHER}").call.tool is None
