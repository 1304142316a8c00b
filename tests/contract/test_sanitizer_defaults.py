"""Passwords that stand behind the name of a variable alone, and mixed ones in sentences of several languages."""

from __future__ import annotations

import random
import string
from itertools import pairwise

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
NEIGHBOURS = 200
NAMES = ("DB_PASSWORD", "REDIS_PASSWORD", "ADMIN_PASSWD", "SESSION_SECRET", "SMTP_PASS")
# `{0}` is the name, `{1}` the value.
TAKEN_INSTEAD = [
    'os.getenv("{0}") or "{1}"', 'db = connect(os.getenv("{0}") or "{1}")', 'const p = process.env.{0} || "{1}"',
    "const p = process.env.{0} ?? '{1}'", 'connect({{p: process.env["{0}"] || "{1}"}})', 'ENV["{0}"] || "{1}"',
    'x = ENV.fetch("{0}") {{ "{1}" }}', "$p = getenv('{0}') ?: '{1}';", "$p = $_ENV['{0}'] ?? '{1}';",
    'val p = System.getenv("{0}") ?: "{1}"', "echo ${{{0}:-{1}}}", ': "${{{0}:={1}}}"',
    'var p = Environment.GetEnvironmentVariable("{0}") ?? "{1}";',
    'let p = env::var("{0}").unwrap_or("{1}".to_string());', 'env::var("{0}").unwrap_or_else(|_| "{1}".into());',
    'ProcessInfo.processInfo.environment["{0}"] ?? "{1}"', 'sys.env.get("{0}").getOrElse("{1}")',
    'Optional.ofNullable(System.getenv("{0}")).orElse("{1}");', 'my $p = $ENV{{{0}}} // "{1}";',
    'System.get_env("{0}") || "{1}"', '(or (System/getenv "{0}") "{1}")', '$p = $env:{0} ?? "{1}"',
    'p <- Sys.getenv("{0}", unset = "{1}")', 'p := cmp.Or(os.Getenv("{0}"), "{1}")',
    'p = os.environ.get("{0}") if ready else "{1}"', 'p = process.env.{0}!.trim() || "{1}"',
    'p = (process.env.{0}) || ("{1}")', 'p = os.getenv("{0}") or \\\n    "{1}"', 'p = process.env.{0}\n  || `{1}`',
    'password = os.getenv("PW") or "{1}"', 'const dbPassword = process.env.PW || "{1}"',
]  # fmt: skip
WORDS = ("hunter2pass", "Sup3r_Secret", "Zx81kQ77", "ch4ngeme!", "P@ssw0rd!", "tr0ub4dor&3")
HARMLESS = (
    "Required", "Enter your password", "*****", "${DB_PASSWORD}", "DB_PASSWORD", "password", "input-lg",
    "changeme", "null", "SMTP_PASSWORD_2", "argon2id", "sha256", "utf-8", "oauth2", "must have 8 characters",
)  # fmt: skip
LABELS = (
    'label = errors.{0} || "{1}"', 'x = os.getenv("{0}") or "{1}"', "x = $_ENV['{0}'] ?? '{1}';",
    'show(t("{0}") or "{1}")',
)  # fmt: skip
SENTENCES = (
    "with the password {}", "Log in with the password {} please", "mit dem Passwort {}", "log in with bob / {}",
    "用密码{}登录", "请用密码{}",
    "用户bob密码{}登录", "パスワード{}でログイン", "비밀번호{}로", "ใช้รหัสผ่าน{}เข้าสู่ระบบ", "我的口令{}",
)  # fmt: skip
METHODS = (
    "Argon2id", "PBKDF2WithHmacSHA256", "SHA-256", "x509v3", "TLSv1.2", "NTLMv2", "MSCHAPv2", "IPv6only", "HTTP2Server",
    "AES256GCM", "Utf8Reader", "Md5Digest", "ISO8601Date", "RFC2617Digest", "v1.2.3-rc1", "SNMPv3User", "APIv2Client",
    "Base64Url", "bcrypt", "OAuth2Token",
)  # fmt: skip


def mixed(dice: random.Random) -> str:
    """Make a password in which letters and digits change places at least three times."""
    while True:
        word = "".join(dice.choices(string.ascii_letters + string.digits, k=dice.randint(8, 16)))
        if sum(one.isdigit() != other.isdigit() for one, other in pairwise(word)) >= 3:
            return word


@pytest.mark.parametrize("form", TAKEN_INSTEAD)
def test_what_is_taken_where_a_variable_is_missing_goes(form: str) -> None:
    dice = random.Random(form)
    for word in (*WORDS, *(mixed(dice) for _ in range(20))):
        name = dice.choice(NAMES)
        assert word not in SANITIZER.redact_text(form.format(name, word)), (name, word)


def test_labels_names_and_messages_taken_instead_stay() -> None:
    dice = random.Random(3)
    for _ in range(NEIGHBOURS):
        text = dice.choice(LABELS).format(
            dice.choice(("DB_PASSWORD", "password", "sessionSecret")), dice.choice(HARMLESS)
        )
        assert SANITIZER.redact_text(text) == text


@pytest.mark.parametrize("sentence", SENTENCES)
def test_mixed_passwords_in_sentences_go(sentence: str) -> None:
    dice = random.Random(7)
    left = [
        word
        for word in (mixed(dice) for _ in range(NEIGHBOURS))
        if word in SANITIZER.redact_text(sentence.format(word))
    ]
    assert left == []


@pytest.mark.parametrize("sentence", SENTENCES)
def test_methods_and_versions_in_sentences_stay(sentence: str) -> None:
    for method in METHODS:
        text = sentence.format(method)
        assert SANITIZER.redact_text(text) == text


def test_names_of_code_in_other_scripts_stay() -> None:
    for text in (
        "设置passwordEncoder2Impl类",
        "使用passwordHash方法",
        "变量pwd1请",
        "パスワードは8文字以上",
        "密码password1",
    ):
        assert SANITIZER.redact_text(text) == text
