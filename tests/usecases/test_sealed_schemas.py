"""Secrets that an author wrote into a schema judge outputs and lie sealed; nobody is shown them."""

from __future__ import annotations

import secrets
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, ToolVersion
from retrycontract.usecases.answers.give_guidance import RefusedAnswerError
from tests.factories import DEPLOY, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.file_database import bytes_at_rest
from tests.usecases.conftest import NOON, Send, configure, judge_all

pytestmark = pytest.mark.django_db
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"


def token() -> str:
    """Make a secret that no compiled schema of another test has."""
    return "ghp_" + "".join(secrets.choice(LETTERS) for _ in range(36))


def schema_with(secret: str, *, at: str = "enum") -> dict[str, Any]:
    places: dict[str, dict[str, Any]] = {
        "enum": {"properties": {"a": {"enum": [secret, "b"]}}},
        "const": {"properties": {"a": {"const": secret}}},
        "default": {"properties": {"a": {"default": secret}}},
        "description": {"properties": {"a": {"description": f"Send {secret} along."}}},
        "x-hint": {"properties": {"a": {"type": "null", "x-hint": f"try {secret}"}}},
        "examples": {"examples": [{"a": secret}]},
        "pattern": {"properties": {"a": {"pattern": f"^{secret}$"}}},
        "an escaped pattern": {"properties": {"a": {"pattern": f"^ghp\\x5f{secret[4:]}$"}}},
        "a field's name": {"properties": {secret: {}}, "required": [secret]},
        "title": {"title": secret},
    }
    return {"type": "object"} | places[at]


@pytest.mark.parametrize(
    "place",
    [
        "enum",
        "const",
        "default",
        "description",
        "x-hint",
        "examples",
        "pattern",
        "an escaped pattern",
        "a field's name",
        "title",
    ],
)
def test_a_secret_in_a_schema_is_not_at_rest_and_not_shown(file_database: Path, place: str) -> None:
    secret = token()
    schema = schema_with(secret, at=place)
    version = make_tool(make_agent(), "note", schema).current_version
    assert version is not None
    assert secret[4:].encode() not in bytes_at_rest(file_database)
    assert secret[4:] not in str(version.schema)
    assert ToolVersion.objects.get().judged_by == schema


SECRET_FIELDS: dict[str, dict[str, Any]] = {
    "x-sensitive": {"a": {"x-sensitive": True}}, "writeOnly": {"a": {"writeOnly": True}},
    "format": {"a": {"format": "password"}}, "its name": {"password": {}},
}  # fmt: skip


@pytest.mark.parametrize("keyword", ["enum", "const", "default", "examples"])
@pytest.mark.parametrize("field", SECRET_FIELDS)
def test_what_a_secret_field_allows_is_not_at_rest_and_not_told(
    file_database: Path, send: Send, field: str, keyword: str
) -> None:
    secret = f"Tr0ub4dor&{secrets.token_hex(3)}"  # by which nothing but its field tells that it is a secret
    ((name, mark),) = SECRET_FIELDS[field].items()
    value = [secret, "bb"] if keyword in ("enum", "examples") else secret
    schema = {"type": "object", "properties": {name: {"type": "string", **mark, keyword: value}}}
    version = make_tool(make_agent(), "note", schema, max_attempts=1).current_version
    assert version is not None
    assert send(make_agent(), {name: secret}, tool="note").is_valid
    wrong = send(make_agent(), {name: 1}, tool="note")
    assert not wrong.is_valid
    assert secret not in str(version.schema) + wrong.feedback + str(wrong.errors_json)
    assert version.sealed is not None
    make_tool(make_agent(), "note", schema, description=f"Send {secret} along.")
    assert secret.encode() not in bytes_at_rest(file_database)
    assert ToolVersion.objects.get().judged_by == schema


def test_without_the_sanitiser_it_would_be_at_rest(file_database: Path, settings: Settings) -> None:
    settings.CONTRACT = type(settings.CONTRACT)(redact_secrets=False)
    secret = token()
    make_tool(make_agent(), "note", schema_with(secret))
    assert secret.encode() in bytes_at_rest(file_database)


def test_outputs_are_judged_by_what_the_author_wrote(send: Send) -> None:
    secret = token()
    make_tool(make_agent(), "note", schema_with(secret))
    assert send(make_agent(), {"a": secret}, tool="note").is_valid
    wrong = send(make_agent(), {"a": "[REDACTED: GITHUB_TOKEN]"}, tool="note")
    assert not wrong.is_valid
    assert secret not in wrong.feedback


def test_a_schema_without_secrets_is_not_sealed_and_needs_no_key() -> None:
    version = make_tool(make_agent()).current_version
    assert version is not None
    assert (version.sealed, version.judged_by) == (None, DEPLOY)


def lose_the_keys(settings: Settings) -> None:
    import_module("retrycontract.usecases.tools.contracts")._kept.clear()  # another process
    configure(settings, encryption_keys=[Fernet.generate_key().decode()])


@pytest.mark.parametrize("judge", ["auto", "worker"], ids=["at the door", "by the worker"])
def test_with_its_key_lost_nothing_is_judged_and_nothing_blocked(settings: Settings, judge: str) -> None:
    configure(settings, judge=judge)
    make_tool(make_agent(), "note", schema_with(token()))
    lose_the_keys(settings)
    call = None
    for _ in range(5):
        call = submit(make_agent(), {"a": 1}, tool="note", call=call, at=NOON).call
        judge_all(now=NOON)
    assert Call.objects.get().state == "retrying"
    assert set(Attempt.objects.values_list("state", "is_valid")) == {("discarded", None)}


def test_registering_the_tool_again_mends_it(settings: Settings) -> None:
    secret = token()
    make_tool(make_agent(), "note", schema_with(secret))
    lose_the_keys(settings)
    make_tool(make_agent(), "note", schema_with(secret))
    assert submit(make_agent(), {"a": secret}, tool="note").is_valid
    assert ToolVersion.objects.count() == 1


def test_corrected_arguments_that_cannot_be_checked_are_refused_with_the_reason(settings: Settings) -> None:
    make_tool(make_agent(), "note", schema_with(token()))
    call = make_blocked(make_agent(), tool="note", output={"a": 1})
    lose_the_keys(settings)
    with pytest.raises(RefusedAnswerError, match="registered again"):
        answer(call, make_user(), Decision.CORRECTED, arguments={"a": "b"})
