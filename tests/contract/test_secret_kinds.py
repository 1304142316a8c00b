"""Hundreds of kinds of secrets, each in a dozen places; with the sanitiser off all of them would be seen."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from tests.contract.secret_kinds import DIGITS, OWN, PLACES, WORD, kinds

SANITIZER = ValueSanitizer()
KINDS = kinds()
LEAST_KINDS = 300


def shows(value: Any, original: Any, secret: str) -> bool:
    """Say whether a reader who undoes escapes and overlooks what is unseen still reads the secret."""
    text = json.dumps(value, ensure_ascii=False).replace("\u200b", "")
    readings = (text, unquote(text), html.unescape(text), text.replace("\\", ""))
    return value == original or any(secret in reading for reading in readings)


def leaks(sanitizer: ValueSanitizer, wrap: Callable[[str], Any]) -> list[str]:
    wrapped = [(wrap(text), text, secret) for text, secret in KINDS]
    return [text for value, text, secret in wrapped if shows(sanitizer.redact(value), value, secret)]


@pytest.mark.parametrize("place", PLACES)
def test_no_kind_of_secret_comes_through(place: str) -> None:
    assert len(KINDS) >= LEAST_KINDS
    # Shorter base64 is not looked into: most words are valid base64 of something.
    leaked = [text for text in leaks(SANITIZER, PLACES[place]) if place != "base64" or len(text) >= 18]
    assert leaked == []


def test_with_the_sanitizer_off_every_kind_comes_through() -> None:
    off = ValueSanitizer(RetryConfiguration(redact_secrets=False))
    assert len(leaks(off, PLACES["value"])) == len(KINDS)


@pytest.mark.parametrize("redact", [SANITIZER.redact_name, SANITIZER.redact_identifier, SANITIZER.redact_text,
                                    lambda text: SANITIZER.redact_pointer(f"/a/{text}"),
                                    lambda text: SANITIZER.preview_text(text, 200),
                                    lambda text: SANITIZER.redact_schema({"const": text, "description": text}),
                                    lambda text: SANITIZER.redact_schema({"properties": {text: True}})])  # fmt: skip
def test_a_key_of_ours_is_known_wherever_a_name_or_a_word_of_a_schema_stands(redact: Callable[[str], Any]) -> None:
    for text in (OWN, f"session-{OWN}", f"{OWN}.json", f"a{OWN}", f"call_{OWN}_1"):
        assert OWN[12:] not in repr(redact(text)), text


def test_what_is_cut_is_the_original_with_everything_unseen_in_it() -> None:
    hidden = f"{DIGITS[:3]}\u200b{DIGITS[3:]}"
    assert SANITIZER.redact(f"naïve\u200b text, password={hidden}; next é") == (
        "naïve\u200b text, password=[REDACTED: PASSWORD]; next é"
    )
    assert SANITIZER.redact(f"\u0430\u200b\u00ad x p\u0430ss\u00adword: '{WORD}'!") == (
        "\u0430\u200b\u00ad x p\u0430ss\u00adword: '[REDACTED: PASSWORD]'!"
    )


@pytest.mark.parametrize("name", ["p\u0430ssword", "pass\u200bword", "pa\u00adssword", "ｐａｓｓｗｏｒｄ",
                                  "mot de passe",
                                  "hasło", "Şifre", "пароль", "비밀번호", "كلمة المرور", "密码", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝",
                                  "wachtwoord"])  # fmt: skip
def test_a_field_named_so_is_secret(name: str) -> None:
    assert SANITIZER.redact({name: WORD}) == {name: "[REDACTED: PASSWORD]"}


HARMLESS = [
    'password: "The password must have at least eight characters"', 'get_password("vault/prod")', 'token("abc")',
    "if password == other.password:", 'fetchSecret("db/main")', "setPassword(password)", 'input_password("Password")',
    "INSERT INTO users (name, age) VALUES ('correcthorse', 3)", "INSERT INTO t (password) SELECT secret FROM u",
    "main.c:1234:12:5:x", "src/components/Dashboard/widgets/Tables12", "connect to db/main", "net use help",
    "Le mot de passe est obligatoire", "Das Passwort ist falsch", "hasło to podstawa", "密码是必填的",
    "비밀번호는 필수입니다",
    "Пароль не может быть пустым", "كلمة المرور مطلوبة", "X-Api-Key: required", "Authorization: Bearer token",
    "Привет, как дела?", "naïve café über Straße", "password - required", "see WIFI: settings", "rc_file", "rc_1",
    "the token on node2", "on password reset go to page2", "Change password to continue", "sqlplus --help/usage",
    "100%25 sure", "C:\\new\\table", "say \\\"hi\\\" to bob", "&quot;quoted&quot; text", "пример кода: value=1",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_them_stays(text: str) -> None:
    assert SANITIZER.redact(text) == text


def test_more_weak_names_than_are_weighed_lose_nothing_of_their_secrets() -> None:
    text = "\n".join(f"key=a1B2c3D4e5F6g{index:05}" for index in range(5000))
    assert "a1B2c3" not in SANITIZER.redact(text)
