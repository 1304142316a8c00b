"""Field names: which make a value secret, and which only look as if."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
PLAIN = "hunter" + "2-two"
RANDOM_KEY = "aB3xY9kQ" + "2mZ7pL"

SECRET_NAMES = """
password Password PASSWORD passwd pwd pass passphrase passcode user_password newPassword password2
db-pass passwordHash PGPASSWORD MYSQL_ROOT_PASSWORD dbpassword rootpasswd login.password secret secrets
client_secret clientSecret SECRET_KEY_BASE secretKey webhook_secret secret_value token access_token
accessToken refresh-token id_token apiToken GITHUB_TOKEN token_github csrf_token xsrfToken authtoken
session_token bearer bearer_token bot_token api_key apiKey API-KEY apikey APIKey x-api-key X-Api-Key
openai_api_key stripe.api.key subscription_key access_key secret_access_key private_key privateKey
PRIVATE_KEY_PEM ssh_key signing_key encryption_key auth Authorization proxy-authorization auth_header
auth_code authKey basic_auth credential credentials aws_credentials creds jwt jwt_token session cookie
cookies set-cookie connection_string connectionString dsn SENTRY_DSN conn_str pin otp cvv ssn mnemonic
seed_phrase recovery_codes contraseña senha senha_acesso clave_acceso claveDeAcceso claveUsuario CLAVE_BD
claveSecreta clave_secreta clave_privada 密码 пароль ａｐｉ＿ｋｅｙ ＰＡＳＳＷＯＲＤ
"""

ORDINARY_NAMES = """
max_tokens maxTokens token_count tokenCount total_tokens prompt_tokens completion_tokens page_token
next_page_token nextPageToken continuation_token page_token_hint token_type token_limit tokens stop_token
eos_token pad_token_id token_address token_symbol tokenizer tokenization author authors authority
authored_by authentic oauth_provider auth_type authMethod auth_url auth_enabled password_length
password_policy passwordField password_hint is_password has_secret require_password forgot_password_url
secretary secretariat secret_name secret_id secretArn session_id sessionId session_name session_count
sessionDuration cookie_domain cookie_name key keys primary_key foreignKey sort_key partition_key
cache_key public_key issue_key s3_key idempotency_key monkey keyboard hotkey turkey passenger compass
bypass_cache passport_country spinner pinned mapping id uuid commit sha256 content text message query
path url user username email name title description clave chave clave_primaria clave_producto palabra_clave
"""


@pytest.mark.parametrize("name", [*SECRET_NAMES.split(), *ORDINARY_NAMES.split(), "_", "", "v1"])
@pytest.mark.parametrize("number", ["7", "_12", "2026"])
def test_a_number_behind_a_name_says_nothing(name: str, number: str) -> None:
    assert SANITIZER.is_secret_name(name + number) == SANITIZER.is_secret_name(name)


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_a_secret_name_is_known_in_every_spelling(name: str) -> None:
    assert SANITIZER.is_secret_name(name)


@pytest.mark.parametrize("name", ORDINARY_NAMES.split())
def test_a_name_that_only_resembles_a_secret_is_ordinary(name: str) -> None:
    assert not SANITIZER.is_secret_name(name)


@pytest.mark.parametrize("name", [name for name in SECRET_NAMES.split() if name not in ("pin", "otp", "cvv", "ssn")])
def test_a_string_below_a_secret_name_is_redacted(name: str) -> None:
    redacted = SANITIZER.redact({name: PLAIN, "user": "ana"})
    assert redacted["user"] == "ana"
    assert redacted[name].startswith("[REDACTED: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 5),
        ("max_tokens", "5"),
        ("token_count", 1200),
        ("page_token_hint", 3),
        ("token", 5),
        ("tokens", 4096),
        ("tokens", ["the", "quick", "fox"]),
        ("author", "Ana Maria Lopez"),
        ("page_token", "CAUQAA"),
        ("session_id", "browser-1"),
        ("session", 3),
        ("auth", "basic"),
        ("authorization", "none"),
        ("auth", True),
        ("password", None),
        ("password", ""),
        ("password", False),
        ("pin", 7),
        ("pin", "left"),
        ("otp", "send"),
        ("password_hint", "my first dog"),
        ("key", "ENTER"),
        ("sort_key", "created_at"),
        ("cache_key", "d41d8cd98f00b204" + "e9800998ecf8427e"),
        ("idempotency_key", "8f14e45f-ceea-467f-a9c4-" + "0e2b1d5a7c33"),
        ("api_key", "${OPENAI_API_KEY}"),
        ("password", "{{ vault_password }}"),
        ("commit", "da39a3ee5e6b4b0d3255" + "bfef95601890afd80709"),
        ("sha256", "e3b0c44298fc1c149afbf4c8996fb924" + "27ae41e4649b934ca495991b7852b855"),
        ("content", "aGVsbG8gd29ybGQsIHRoaXMgaXMg" + "b25seSBzb21lIHRleHQ="),
        ("image_base64", "iVBORw0KGgoAAAANSUhEUgAAAAEA" + "AAABCAYAAAAfFcSJAAAADUlEQVR42"),
    ],
)
def test_an_ordinary_value_stays_as_it_is(name: str, value: Any) -> None:
    assert SANITIZER.redact({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", 12345678),
        ("pin", 4821),
        ("pin", "4821"),
        ("cvv", "123"),
        ("otp", "493021"),
        ("ssn", "078-05-1120"),
        ("token", 493021),
        ("token", "da39a3ee5e6b4b0d3255" + "bfef95601890afd80709"),
        ("api_key", "8f14e45f-ceea-467f-a9c4-" + "0e2b1d5a7c33"),
        ("heroku_key", "8f14e45f-ceea-467f-a9c4-" + "0e2b1d5a7c33"),
        ("key", "q7Zp2LxV9tRb4Ns" + "W8mKc3JdY6hGf1T"),
    ],
)
def test_no_shape_exempts_a_value_below_a_secret_name(name: str, value: Any) -> None:
    assert str(value) not in str(SANITIZER.redact({name: value}))


def test_names_on_the_path_count_as_parents() -> None:
    assert SANITIZER.redact(PLAIN, "/database/password") == "[REDACTED: PASSWORD]"
    assert SANITIZER.redact([PLAIN], "/secrets") == ["[REDACTED: SECRET]"]
    assert SANITIZER.redact({"primary": PLAIN}, "/credentials/0") == {"primary": "[REDACTED: CREDENTIAL]"}
    assert SANITIZER.preview(PLAIN, "/api~1key") == '"[REDACTED: API_KEY]"'
    assert SANITIZER.redact(PLAIN, "/username") == PLAIN


def test_below_a_secret_name_what_describes_stays_and_what_holds_goes() -> None:
    value = {"auth": {"type": "oauth2", "url": "https://id.example.org", "enabled": True, "user": "ana", "data": PLAIN}}
    redacted = SANITIZER.redact(value)["auth"]
    assert redacted == value["auth"] | {"data": "[REDACTED: AUTHORIZATION]"}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "api_key", "value": PLAIN},
        {"key": "Authorization", "value": PLAIN},
        {"header": "X-Api-Key", "value": PLAIN},
        {"env": [{"name": "LOG_LEVEL", "value": "debug"}, {"name": "DB_PASSWORD", "value": PLAIN}]},
        {"selector": "#login-password", "text": PLAIN},
        {"element": "Password input", "ref": "e12", "text": PLAIN},
        {"kind": "Secret", "data": {"blob": PLAIN}},
        ["mysql", "--password", PLAIN],
        ["login", "-Password", PLAIN],
        ["tool", f"--api-key={PLAIN}"],
        [["Accept", "text/html"], ["X-Auth-Token", PLAIN]],
        ["curl", "-u", f"ana:{PLAIN}"],
    ],
)
def test_a_neighbour_that_names_a_secret_redacts_it(value: Any) -> None:
    assert PLAIN not in str(SANITIZER.redact(value))


@pytest.mark.parametrize(
    "value",
    [
        {"name": "get_token", "description": "Gets a token", "value": 3},
        {"name": "auth.py", "content": "import os"},
        {"columns": ["username", "password", "email"]},
        {"fields": ["password", "email"]},
        {"properties": {"password": {"type": "string", "description": "The password", "minLength": 8}}},
        ["--token-count", "500"],
        ["git", "commit", "-m", "rotate the token"],
        {"required": ["path", "token"]},
    ],
)
def test_talking_about_secrets_is_no_secret(value: Any) -> None:
    assert SANITIZER.redact(value) == value


def test_a_schema_mark_redacts_the_whole_value() -> None:
    document = {
        "profile": {"note": {"a": 1}, "age": 41, "flag": True, "nothing": None, "name": "ana"},
        "rows": [{"x": "y"}],
    }
    marked = ["/profile/note", "/profile/age", "/profile/flag", "/profile/nothing", "/rows/0/x"]
    redacted = SANITIZER.redact(document, marked=marked)
    mark = "[REDACTED: SENSITIVE]"
    assert redacted == {
        "profile": {"note": mark, "age": mark, "flag": mark, "nothing": None, "name": "ana"},
        "rows": [{"x": mark}],
    }
    assert SANITIZER.redact("y", "/rows/0/x", marked=marked) == mark
    assert SANITIZER.redact({"b": 1}, "/profile/note/deep", marked=marked) == mark
    assert SANITIZER.preview(41, "/profile/age", marked=marked) == f'"{mark}"'


def test_the_spanish_word_for_key_and_password_asks_for_a_value_that_looks_random() -> None:
    assert SANITIZER.redact({"clave": "A-102", "chave": "rojo"}) == {"clave": "A-102", "chave": "rojo"}
    assert SANITIZER.redact({"clave": RANDOM_KEY}) == {"clave": "[REDACTED: API_KEY]"}
    assert PLAIN not in SANITIZER.redact_text(f"CLAVE_ACCESO={PLAIN}")
