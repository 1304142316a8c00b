"""Labels, messages, keys, routes, files and scripts where a secret could stand, and secrets that read alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
# `{0}` is the name, `{1}` the value; of those that need quotes, and of those that do without.
QUOTED = ('{{"{0}": "{1}"}}', "const labels = {{ '{0}': `{1}`, a: 1 }};", "'{0}' => \"{1}\",", '-  "{0}": "{1}",')
BARE = ("de:\n  {0}: {1}\n  user: ana", "{0}={1}\nuser=ana\n")

LABELS = {
    "password": (
        "Passwort", "Kennwort", "Contraseña", "Password", "PASSWORD", "Password:", "Mot de passe", "Senha",
        "Wachtwoord", "Hasło", "Lösenord", "Şifre", "Mật khẩu", "Kata sandi", "Adgangskode", "密码", "パスワード",
        "新しいパスワード", "비밀번호", "새 비밀번호",
        "Пароль", "Введите пароль", "Неверный пароль", "كلمة المرور", "Nouveau mot de passe", "Nowe hasło",
        "Ongeldig wachtwoord", "Confirmação da senha", "Passwort eingeben", "Passwort vergessen?", "Wrong credentials",
        "Incorrect password", "Reset password", "New password:", "¿Olvidó su contraseña?", "Login", "Log in",
    ),
    "api_key": ("API-sleutel", "Clave de API", "API key", "API anahtarı", "Kunci API"),
    "secret_key": ("Geheimer Schlüssel", "Gizli anahtar", "Tajny klucz", "Clé secrète"),
    "token": ("Token", "Zugangstoken", "Token eingeben", "Expired token", "令牌", "Токен"),
    "client_secret": ("Geheimnis", "Client secret", "Секрет"),
    "passwordKey": ("admin-password", "db_password", "userPassword"),
    "TOKEN_KEY": ("auth_token", "authToken", "app.token"),
    "secretKey": ("DB_PASSWORD",),
    "refreshToken": ("app.refreshToken", "session:refreshToken", "/oauth/token"),
    "resetPassword": (
        "/account/password", "/password/reset", "https://acme.io/help/password", "./password.txt", "~/.vault_pass",
        "../secrets/db1", "/etc/app/password.txt",
    ),
}  # fmt: skip
# Quotes part the words of these.
SCRIPTS = {"reset-password": ("node scripts/reset-password.js", "python3 -u tools/reset.py", "php bin/token.php")}
SECRETS = {
    "password": (
        "Sommer2024", "swordfish", "Swordfish", "Mypassword", "MyPassword", "Passwort1", "Passwort!", "P@sswort",
        "Tiger Lion", "passwort", "пароль1", "密码123", "Secret Garden", "rootpw", "dbpass", "Boarding pass",
        "tiger-password", "Garden-Passwort", "app.password", "admin-password", "/swordfish", "/Ab/cd", "/dragon/pass",
        "node hunter2", "node x.js hunter2", "https://acme.io/hunter2", "~hunter2", ".hunter2", "geheim",
        "SUPER_SECRET",
    ),
    "passwordKey": ("hunter2x", "Swordfish", "hunter-2x", "db_password2x"),
    "secretKey": ("my9secret", "SUPER_SECRET_KEY1"),
    "token": ("abcdefghijkl", "/token/abcdefghijkl", "my-secret-token", "app.key.aB3dEf9h"),
    "api_key": ("Abcdefghij", "/k3J9/xPq2vB7nM1zL0w/+aa"),
    "password_reset": ("https://acme.io/reset/aB3dEf9hIjK1mN0pQr",),
    "masterKey": ("my-password",),
}  # fmt: skip


def pairs(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(name, value) for name, values in table.items() for value in values]


@pytest.mark.parametrize("form", [*QUOTED, *BARE, None])
@pytest.mark.parametrize(("name", "value"), pairs(LABELS))
def test_what_only_names_a_secret_stays_in_its_place(name: str, value: str, form: str | None) -> None:
    written: Any = form.format(name, value) if form else {name: value, "user": "ana"}
    assert SANITIZER.redact(written) == written


@pytest.mark.parametrize("form", [*QUOTED, None])
@pytest.mark.parametrize(("name", "value"), pairs(SCRIPTS))
def test_the_script_of_that_name_stays(name: str, value: str, form: str | None) -> None:
    written: Any = form.format(name, value) if form else {name: value}
    assert SANITIZER.redact(written) == written


@pytest.mark.parametrize(("name", "value"), pairs(SECRETS))
def test_a_secret_that_reads_a_little_like_it_goes(name: str, value: str) -> None:
    assert value not in json.dumps(SANITIZER.redact({name: value}), ensure_ascii=False)
    if name in ("password", "passwordKey"):
        assert value not in SANITIZER.redact_text(QUOTED[0].format(name, value))


@pytest.mark.parametrize(
    "line", ["Password: hunter for the login", "password: Tiger is the password", "Password=Senha1;x"]
)
def test_a_line_that_tells_a_password_is_no_label(line: str) -> None:
    assert not {"hunter", "Tiger", "Senha1"} & set(
        SANITIZER.redact_text(line).replace(";", " ").replace("=", " ").split()
    )
