"""Value detectors: published credentials, context, blocks, random tokens, and what must stay."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any

import pytest

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, has_redaction

SANITIZER = ValueSanitizer()
LOWER, UPPER, DIGITS, HEX = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "0123456789abcdef"
BASE62 = LOWER + UPPER + DIGITS
URLSAFE = BASE62 + "-_"


def noise(alphabet: str, length: int, seed: int = 7) -> str:
    """Make characters that look random and are the same in every run; both ends are letters or digits."""
    random = Random(f"{alphabet}{length}{seed}")
    inner = "".join(random.choice(alphabet) for _ in range(length - 2))
    ends = [c for c in alphabet if c.isalnum()]
    return f"{random.choice(ends)}{inner}{random.choice(ends)}"


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


JWT = f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{encoded({'sub': '1234567890'})}.{noise(URLSAFE, 43)}"
PEM_BODY = "\n".join(noise(BASE62 + "+/", 64, seed) for seed in range(5))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"
UUID = "-".join(noise(HEX, length) for length in (8, 4, 4, 4, 12))

CREDENTIALS = [
    ("JWT", JWT),
    ("OPENAI_KEY", "sk-" + noise(BASE62, 48)),
    ("OPENAI_KEY", "sk-proj-" + noise(URLSAFE, 120)),
    ("OPENAI_KEY", "sk-svcacct-" + noise(URLSAFE, 74)),
    ("OPENAI_KEY", "sk-admin-" + noise(URLSAFE, 74)),
    ("ANTHROPIC_KEY", "sk-ant-" + "api03-" + noise(URLSAFE, 93) + "AA"),
    ("OPENROUTER_KEY", "sk-or-" + "v1-" + noise(HEX, 64)),
    ("AWS_ACCESS_KEY", "AKIA" + noise(UPPER + DIGITS, 16)),
    ("AWS_ACCESS_KEY", "ASIA" + noise(UPPER + DIGITS, 16)),
    *[("GITHUB_TOKEN", prefix + noise(BASE62, 36)) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")],
    ("GITHUB_TOKEN", "github_" + "pat_" + noise(BASE62, 22) + "_" + noise(BASE62, 59)),
    ("GITLAB_TOKEN", "glpat-" + noise(URLSAFE, 20)),
    ("SLACK_TOKEN", "xoxb-" + noise(DIGITS, 12) + "-" + noise(DIGITS, 12) + "-" + noise(BASE62, 24)),
    ("SLACK_TOKEN", "xapp-" + "1-A0" + noise(UPPER + DIGITS, 9) + "-" + noise(DIGITS, 13) + "-" + noise(HEX, 64)),
    ("STRIPE_KEY", "sk_" + "live_" + noise(BASE62, 24)),
    ("STRIPE_KEY", "rk_" + "test_" + noise(BASE62, 24)),
    ("STRIPE_KEY", "whsec_" + noise(BASE62, 32)),
    ("GOOGLE_API_KEY", "AIza" + noise(URLSAFE, 35)),
    ("GOOGLE_OAUTH", "ya29." + noise(URLSAFE, 68)),
    ("NPM_TOKEN", "npm_" + noise(BASE62, 36)),
    ("PYPI_TOKEN", "pypi-" + "AgEIcHlwaS5vcmc" + noise(URLSAFE, 70)),
    ("HUGGINGFACE_TOKEN", "hf_" + noise(LOWER + UPPER, 34)),
    ("SENDGRID_KEY", "SG." + noise(URLSAFE, 22) + "." + noise(URLSAFE, 43)),
    ("TWILIO_KEY", "SK" + noise(HEX, 32)),
    ("TELEGRAM_TOKEN", noise("123456789", 10) + ":AA" + noise(URLSAFE, 33)),
    ("DIGITALOCEAN_TOKEN", "dop_" + "v1_" + noise(HEX, 64)),
    ("SHOPIFY_TOKEN", "shpat_" + noise(HEX, 32)),
    ("DATABRICKS_TOKEN", "dapi" + noise(HEX, 32)),
    ("GRAFANA_TOKEN", "glsa_" + noise(BASE62, 32) + "_" + noise(HEX, 8)),
    ("VAULT_TOKEN", "hvs." + noise(URLSAFE, 90)),
    ("NEW_RELIC_KEY", "NRAK-" + noise(UPPER + DIGITS, 27)),
    ("MAILGUN_KEY", "key-" + noise(HEX, 32)),
    ("API_KEY", "gsk_" + noise(BASE62, 52)),
    ("PASSWORD_HASH", "scrypt:32768:8:1$" + noise(BASE62, 16) + "$" + noise(HEX, 128)),
    ("PASSWORD_HASH", "pbkdf2:sha256:600000$" + noise(BASE62, 16) + "$" + noise(HEX, 64)),
    ("PASSWORD_HASH", "$P$B" + noise(BASE62, 30)),
    ("PASSWORD_HASH", "*" + noise(HEX, 40).upper()),
    ("PASSWORD_HASH", "$9$" + noise(BASE62, 20)),
    ("K3S_TOKEN", "K10" + noise(HEX, 64) + "::server:" + noise(HEX, 32)),
    ("MAILGUN_KEY", noise(HEX, 32) + "-" + noise(HEX, 8) + "-" + noise(HEX, 8)),
    ("API_KEY", "waka_" + UUID),
    ("API_KEY", "signkey-prod-" + noise(HEX, 64)),
    ("API_KEY", "st." + UUID + "." + noise(HEX, 32)),
    ("API_KEY", "api-" + UUID),
    ("API_KEY", "pdus+_" + noise(BASE62, 8) + "_" + UUID),
    ("API_KEY", "*:production." + noise(HEX, 56)),
    ("API_KEY", "WPL_AP1." + noise(BASE62, 16) + "." + noise(BASE62, 6) + "=="),
    ("TWITCH_TOKEN", "oauth:" + noise("abcdefghij0123456789", 30)),
    ("CREDIT_CARD", "4111 1111 " + "1111 1111"),
    ("CREDIT_CARD", "5555-5555-" + "5555-4444"),
    ("CREDIT_CARD", "37144963" + "5398431"),
    ("PRIVATE_KEY", PEM),
]
PLACES = [
    "{}",
    "see {} here",
    '"{}"',
    "({})",
    "key={}",
    "https://example.org/?x={}",
    "a\n{}\nb",
    '{{"k": "{}"}}',
    "`{}`,",
    "x: {}.",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "credential"), CREDENTIALS)
def test_a_credential_is_redacted_wherever_it_stands(kind: str, credential: str, place: str) -> None:
    text = place.format(credential)
    redacted = SANITIZER.redact(text)
    assert credential not in redacted
    assert has_redaction(redacted)
    before, _, _ = place.partition("{}")
    assert redacted.startswith(before.replace("{{", "{"))
    if "key=" not in place:
        assert f"[REDACTED: {kind}]" in redacted


@pytest.mark.parametrize(("kind", "credential"), CREDENTIALS)
def test_a_credential_is_redacted_in_structures_and_in_their_text(kind: str, credential: str) -> None:
    value = {"a": [{"b": f"use {credential} now"}], credential: 1}
    for result in (SANITIZER.redact(value), json.loads(SANITIZER.redact(json.dumps(value)))):
        assert credential not in json.dumps(result)
        assert json.dumps(credential)[1:-1] not in json.dumps(result)
    assert credential not in SANITIZER.preview(value)
    assert credential not in SANITIZER.redact_name(f"tool-{credential}")
    assert credential not in SANITIZER.redact_pointer(f"/a/{credential}/b")
    assert SANITIZER.redact_text(credential) == f"[REDACTED: {kind}]"


PASSWORD = "Tr0ub4dor" + "&3x"
SPOKEN_PLACES = [
    "PASSWORD={}",
    "export DB_PASSWORD={}\nexport DB_USER=ana",
    "password: {}",
    "  password: '{}'  # of the database",
    'spring.datasource.password = "{}"',
    '{{"user": "ana", "password": "{}", "port": 5}}',
    '{{\\"password\\": \\"{}\\"}}',
    '"config": "{{\\n  \\"db_password\\": \\"{}\\"\\n}}"',
    "config['password'] = '{}'",
    "password = b'{}'"[:11] + "'{}'",
    "connect(user='ana', password='{}')",
    "Server=db;User Id=ana;Password={};Database=x",
    "postgres://ana:{}@db.example.org:5432/app",
    "https://ana:{}@example.org/path",
    "redis://:{}@cache:6379/0",
    "mysql -u root --password {} -h db",
    "tool --password={} --verbose",
    "New-User -Password '{}'",
    "curl -u ana:{} https://example.org",
    "curl --user 'ana:{}' https://example.org",
    "sshpass -p '{}' ssh ana@host",
    "machine example.org login ana password {}",
    "<password>{}</password>",
    '<add key="Password" value="{}" />',
    "- name: DB_PASSWORD\n  value: {}",
    "ALTER USER ana IDENTIFIED BY '{}'",
    "my password is {}",
    'let password: String = "{}";',
    "password := `{}`",
    "'password' => '{}',",
    'System.setProperty("DB_PASSWORD", "{}")',
    "?user=ana&password={}&x=1",
    "Passwort: {}",
    '{{"passwords": ["{}", "other"], "max": 5',
    '{{\\"passwords\\": [\\"x\\", \\"{}\\"]',
]


@pytest.mark.parametrize("place", SPOKEN_PLACES)
def test_the_text_beside_a_secret_gives_it_away(place: str) -> None:
    text = place.format(PASSWORD)
    redacted = SANITIZER.redact_text(text)
    assert PASSWORD[:9] not in redacted
    assert "[REDACTED: " in redacted
    assert SANITIZER.redact_text(redacted) == redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer {}", "Authorization: Bearer [REDACTED: AUTHORIZATION]"),
        ('-H "Authorization: token {}"', '-H "Authorization: token [REDACTED: AUTHORIZATION]"'),
        ('{{"Authorization": "{}"}}', '{{"Authorization": "[REDACTED: AUTHORIZATION]"}}'),
        ("use bearer {} for it", "use bearer [REDACTED: BEARER_TOKEN] for it"),
        ("Cookie: sid={}; theme=dark\nAccept: */*", "Cookie: [REDACTED: COOKIE]\nAccept: */*"),
        (
            "https://example.org/cb?code=1&access_token={}&x=1",
            "https://example.org/cb?code=1&access_token=[REDACTED: TOKEN]&x=1",
        ),
        ("https://ana:{}@example.org/a", "https://ana:[REDACTED: PASSWORD]@example.org/a"),
        ("postgres://ana:{}@db/app", "postgres://ana:[REDACTED: CONNECTION_STRING]@db/app"),
        ("LOG=1\nAPI_KEY={}\nPORT=80", "LOG=1\nAPI_KEY=[REDACTED: API_KEY]\nPORT=80"),
        (
            "DefaultEndpointsProtocol=https;AccountKey={};x=1",
            "DefaultEndpointsProtocol=https;AccountKey=[REDACTED: API_KEY];x=1",
        ),
    ],
)
def test_only_the_secret_span_is_replaced(text: str, expected: str) -> None:
    secret = noise(HEX, 29)
    assert SANITIZER.redact_text(text.format(secret)) == expected.format()


def test_basic_credentials_and_base64_are_looked_into_once() -> None:
    basic = base64.b64encode(b"ana:" + PASSWORD.encode()).decode()
    assert basic not in SANITIZER.redact_text(f"Proxy: Basic {basic}")
    hidden = base64.b64encode(f"DB_PASSWORD={PASSWORD}\nDB_USER=ana".encode()).decode()
    assert SANITIZER.redact({"content": hidden})["content"].startswith("[REDACTED: ")
    harmless = base64.b64encode(b"hello world, this is some plain text").decode()
    assert SANITIZER.redact({"note": harmless}) == {"note": harmless}


def test_a_private_key_is_redacted_whole_even_when_it_is_cut_off() -> None:
    assert SANITIZER.redact_text(f"before\n{PEM}\nafter") == "before\n[REDACTED: PRIVATE_KEY]\nafter"
    assert PEM_BODY[-20:] not in SANITIZER.redact_text(PEM.partition("\n-----END")[0])
    one_line = json.dumps({"pem": PEM})
    assert SANITIZER.redact_text(one_line) == '{"pem": "[REDACTED: PRIVATE_KEY]"}'
    public = PEM.replace("RSA PRIVATE", "PUBLIC")
    assert SANITIZER.redact_text(public) == public


def test_kubernetes_secrets_lose_their_values_only() -> None:
    manifest = (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: YW5h\n  extra: c2VjcmV0\ntype: Opaque\n"
    )
    mark = "[REDACTED: SECRET]"
    assert SANITIZER.redact_text(manifest) == manifest.replace("YW5h", mark).replace("c2VjcmV0", mark)


@pytest.mark.parametrize("alphabet", [BASE62, LOWER + DIGITS, UPPER + DIGITS, URLSAFE])
@pytest.mark.parametrize("length", [32, 40, 48, 64])
@pytest.mark.parametrize("seed", range(5))
def test_a_long_random_token_is_redacted_without_any_context(alphabet: str, length: int, seed: int) -> None:
    token = noise(alphabet, length, seed)
    assert token not in SANITIZER.redact_text(f"try {token} please")


@pytest.mark.parametrize(
    "text",
    [
        "www.example.com",
        "report.final.pdf",
        "1.2.3",
        "1.2.3-rc.1+build.5",
        "org.springframework.beans.factory.support.DefaultListableBeanFactory",
        "com.example.myapplication.authentication.TokenProvider",
        "da39a3ee5e6b4b0d3255" + "bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb924" + "27ae41e4649b934ca495991b7852b855",
        "d41d8cd98f00b204" + "e9800998ecf8427e",
        "sha256:e3b0c44298fc1c149afbf4c8996fb924" + "27ae41e4649b934ca495991b7852b855",
        "sha512-" + noise(BASE62, 86) + "==",
        "8f14e45f-ceea-467f-a9c4-0e2b1d5a7c33",
        "task-8f14e45f-ceea-467f-a9c4-0e2b1d5a7c33.json",
        "0x52908400098527886E0F" + "7030069857D2E4169EE7",
        "1234567890123456789012345678901234567890",
        "2024-05-01T12:30:00.000+02:00",
        "Donaudampfschifffahrtsgesellschaftskapitaen",
        "TheQuickBrownFoxJumpsOverTheLazyDogAgain",
        "this-is-a-rather-long-kebab-case-identifier-2024",
        "getUserAuthenticationTokenProviderFactoryBean",
        "AbstractSingletonProxyFactoryBean2Configuration",
        "/home/ana/projects/retrycontract/src/long_module_name_of_somebody.py",
        "https://docs.google.com/document/d/" + noise(URLSAFE, 44) + "/edit",
        "https://github.com/vercel/ai/commit/da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "https://example.org:8080/path@1.2.3?page=2",
        "git@github.com:ana/project.git",
        "ana@example.org",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "max_tokens: 500, temperature: 0.2",
        '{"max_tokens": 5, "tokens": ["a", "b"]}',
        "The token is sent in the Authorization header.",
        "Enter your password: it must have at least 12 characters.",
        "Password must not be empty",
        "authorization: required",
        "password: string",
        "password: ${DB_PASSWORD}",
        "api_key = os.environ['API_KEY']",
        "api_key=process.env.API_KEY",
        "token = tokenizer.encode(text)",
        "token: str | None = None",
        "def login(self, user, password=None):",
        "login(user=user, password=password)",
        "if token == expected_token:",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <your token>",
        "curl -u $USER:$PASSWORD https://example.org",
        "secret: the number of the beast",
        "The key: practice, practice, practice.",
        "primary_key=True, unique_key='user_id'",
        "key: value",
        "<token>next</token> <author>Ana</author>",
        "session: morning yoga",
        "It costs 4111 dollars and 1111 cents, not 4111111111111112.",
        "Order 1234 5678 9012 3456, phone +49 30 901820",
        "eyJ.eyJ.x",
        "kind: ConfigMap\ndata:\n  a: b\n",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + noise(BASE62, 43) + " ana@host",
        "import { Table, Button } from 'antd'; const x = a ? b : c;",
        "SELECT * FROM users WHERE session_key = ? AND token_id IN (1, 2)",
        "\u0633\u0644\u0627\u0645 \u062f\u0646\u06cc\u0627 \U0001f600",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert SANITIZER.redact(text) == text
    assert SANITIZER.redact({"text": [text]}) == {"text": [text]}


def test_whole_numbers_may_be_cards_and_mostly_are_not() -> None:
    card = int("41111111" + "11111111")
    assert SANITIZER.redact({"n": card}) == {"n": "[REDACTED: CREDIT_CARD]"}
    grouped = "4111 1111 " + "1111 1111"
    for around in ("add {} cafe", "{} 1225 123", "card 1 {}"):
        assert SANITIZER.redact_text(around.format(grouped)) == around.format("[REDACTED: CREDIT_CARD]")
    assert SANITIZER.redact({"n": card + 1, "t": 1748503543012}) == {"n": card + 1, "t": 1748503543012}
    assert SANITIZER.redact({"channel_id": card}) == {"channel_id": card}


def test_numbers_that_are_no_secret_stay_as_they_are() -> None:
    assert repr(SANITIZER.redact([-0.0, 0.0, 5.0, 5])) == "[-0.0, 0.0, 5.0, 5]"


def test_keys_that_become_equal_are_kept_apart() -> None:
    first, second = "ghp_" + noise(BASE62, 36, 1), "ghp_" + noise(BASE62, 36, 2)
    value = {first: 1, second: 2, "[REDACTED: GITHUB_TOKEN]": 3, "plain": 4}
    redacted = SANITIZER.redact(value)
    assert list(redacted.values()) == [1, 2, 3, 4]
    assert all(name == "plain" or name.startswith("[REDACTED: GITHUB_TOKEN]") for name in redacted)
    assert SANITIZER.redact(redacted) == redacted


def test_redaction_can_be_switched_off() -> None:
    off = ValueSanitizer(RetryConfiguration(redact_secrets=False))
    value = {"password": PASSWORD, "text": JWT, "list": ["--password", PASSWORD]}
    assert off.redact(value, marked=["/text"]) == value
    assert off.redact_text(JWT) == JWT
    assert PASSWORD.replace('"', '\\"') in off.preview(value)


def test_marks_are_recognised_wherever_they_stand() -> None:
    mark = "[REDACTED: TOKEN]"
    assert has_redaction(mark)
    assert has_redaction({"a": [1, {"b": f"x {mark} y"}]})
    assert has_redaction({mark: 1})
    assert not has_redaction({"a": ["[REDACTED]", "REDACTED: TOKEN", None, 1.5, "[REDACTED: not a mark]"]})
    loop: list[Any] = []
    loop.append(loop)
    assert not has_redaction(loop)
