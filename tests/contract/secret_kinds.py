"""Kinds of secrets and the ways they are written, made when the tests run, so that none stands in the repository."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from retrycontract.contract.redaction.credentials import CREDENTIALS
from retrycontract.contract.redaction.detectors import Detector, compiled
from tests.contract.credentials import sample

DIGITS = "hunter" + "2two"
WORD = "correct" + "horse"
PHRASE = "correct horse " + "battery staple"
LETTERS = "qRtYvBnMz" + "XcLkJhGfD"
SEED = "JBSWY3DP" + "EHPK3PXP"
AWS = "zq7/Hc2mKxw9" + "+TbVy4Ns8RjLd1PfEo6Gu3Aia0Bz"
OWN = "rc_" + "1a2b3c4d" + "_" + "AbCdEf-GhIjKlMnOpQ" + "rStUvWxYz_0123456789abcde"


def published(detector: Detector) -> tuple[str, str] | None:
    """Give a sample of a published credential, as text and as what must not come through."""
    for seed in range(20):
        text = sample(detector.pattern, seed)
        pattern = compiled(detector.pattern)
        match = pattern.search(text.encode())
        secret = match.group(1 if pattern.groups else 0).decode() if match else ""
        if secret and (detector.verify is None or detector.verify(secret)):
            return text.strip(), secret
    return None


# The words before the secret, in the languages of the world.
SAID = [
    "password: ", "Password is ", "the password was set to ", "Passwort: ", "Das Passwort lautet: ", "Kennwort ist ",
    "mot de passe : ", "Le mot de passe est ", "mdp: ", "contraseña: ", "la contraseña es ", "senha: ", "a senha é ",
    "palavra-passe: ", "la password è ", "parola: ", "wachtwoord: ", "het wachtwoord is ", "hasło: ", "hasło to ",
    "heslo: ", "heslo je ", "jelszó: ", "jelszava: ", "lösenord: ", "lösenordet är ", "passord: ", "passordet er ",
    "adgangskode: ", "salasana: ", "salasana on ", "şifre: ", "Şifreniz: ", "parolanız: ", "lozinka: ", "geslo: ",
    "mật khẩu: ", "kata sandi: ", "kata laluan: ", "nenosiri: ", "parool: ", "slaptažodis: ", "fjalëkalimi: ",
    "pasahitza: ", "contrasenya: ", "парола: ", "пароль: ", "ПАРОЛЬ: ", "пароль — ",
    "лозинка: ", "шифра: ", "κωδικός: ",
    "ο κωδικός είναι ",
    "סיסמה: ", "הסיסמה היא ", "كلمة المرور: ", "كلمة السر هي ", "رمز عبور: ",
    "पासवर्ड: ", "पासवर्ड है: ", "পাসওয়ার্ড: ", "கடவுச்சொல்: ", "รหัสผ่าน: ", "密码：", "密码是", "密碼為", "口令: ",
    "パスワード：", "パスワードは ", "暗証番号: ", "비밀번호: ", "비밀번호는 ", "암호: ", "პაროლი: ", "գաղտնաբառ: ",
    "密钥: ", "令牌: ", "トークン: ", "токен: ", "clé d'API : ", "API-Schlüssel: ", "jeton : ", "API key为",
    "passwordは",
    # "API key", "secret key" and "access token".
    "API-ключ: ", "ключ API: ", "Ваш ключ API — ", "секретний ключ: ", "ключ доступа: ", "clave API: ",
    "La clave de API es ", "token de acceso: ", "chave de API: ", "a chave da API é ", "jeton d'accès : ",
    "chiave segreta: ", "token di accesso: ", "Geheimer Schlüssel: ", "geheime sleutel: ", "tajny klucz: ",
    "klucz dostępu: ", "API anahtarı: ", "gizli anahtar: ", "erişim jetonu: ", "API金鑰：", "APIキー：", "API 키: ",
    "API 키는 ", "مفتاح API: ", "رمز الوصول: ", "کلید API: ", "API कुंजी: ", "API কী: ", "API விசை: ",
    "khóa API: ", "khóa bí mật: ", "kunci rahasia: ", "token akses: ", "hemlig nyckel: ", "API-nøkkel: ",
    "hemmelig nøgle: ", "API-avain: ", "klíč API: ", "tajný kľúč: ", "API kulcs: ", "cheia API: ", "κλειδί API: ",
    "διακριτικό πρόσβασης: ", "מפתח API: ", "אסימון גישה: ", "คีย์ API: ", "API ključ: ", "API raktas: ",
    "slepenā atslēga: ", "salajane võti: ", "clau d'API: ", "ufunguo wa API: ", "çelësi API: ", "API გასაღები: ",
]  # fmt: skip
# Program text, statements, files and commands; the secret stands in the place of the mark.
SHAPES = [
    'if (password == "@W")', "if password != '@W':", 'password: "@P"', "password = '@P'", 'passphrase := "@W"',
    'var password = @"@W";', 'password = b"@W"', 'password = r"@W"', 'password = """@W"""', 'let password = `@W`;',
    'user.setPassword("@W")', 'user.set_password("@D")', 'new User().withPassword("@W").save()', '.password("@W")',
    'setPassword(user, "@W")', 'check_password("@W", row)', 'client.setApiKey("@L")', 'withToken("@L")',
    'new NetworkCredential("ana", "@W")', "auth=('ana', '@W')", "HTTPBasicAuth('ana', '@W')", "login('ana', '@D')",
    "INSERT INTO users (name, password) VALUES ('ana', '@W')", "insert into u(password,x) values('@D',1),('@W',2);",
    "REPLACE INTO `users` (`id`, `api_token`) VALUES (1, '@L')", "INSERT INTO u (a, pwd) VALUES (1, crypt('@W', 'x'))",
    'INSERT INTO "users" ("name",\n "secret")\nVALUES\n (N\'ana\', N\'@W\')', "UPDATE u SET password = '@W' WHERE id=1",
    '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n@W\r\n--b--',
    "Content-Disposition: form-data; name=api_key\nContent-Type: text/plain\n\n@L\n",
    "db:\n  password: &anchor @D\n", "password: !!str @D", 'db:\n  password: &a "@W"\n', "secret: !secret &x '@W'",
    "jdbc:oracle:thin:scott/@W@//h:1521/x", "sqlplus scott/@W@db", "sqlplus -s scott/@D", "impdp system/@W full=y",
    "localhost:5432:db:ana:@W", "*:*:*:ana:@D", "[::1]:5432:*:ana:@W", "net use Z: \\\\srv\\s /user:bob @W",
    "net use Z: \\\\srv\\s @W /user:bob", "net user bob @W /add", 'ConvertTo-SecureString "@W" -AsPlainText -Force',
    "ConvertTo-SecureString -AsPlainText '@D' -Force", "'@W' | ConvertTo-SecureString -AsPlainText",
    'network={\n ssid="x"\n psk="@W"\n}', "WIFI:S:home;T:WPA;P:@W;;", "WIFI:T:WPA;S:home;P:@D;H:true;;",
    "wpa_passphrase home @W", "wifi.psk=@W", "<keyMaterial>@W</keyMaterial>", "TOTP seed: @S", "totp_seed=@S",
    "otpauth://totp/x:ana?secret=@S&issuer=x", "X-Api-Key: @L", "x-auth-token: @L", "-H 'X-Api-Key: @L'",
    'mnemonic: "@P @P @P"', "seed phrase: @P @P @P", "aws_secret_access_key = @A", "key @A end", "{'k': '@A'}",
    'password =\n  "@W"', "PASSWORD='@W'", "PassWord = '@W'", "p-a-s-s: x\npwd='@W'",
    "p\u0430ssword = @D", "pass\u200bword = @D", "pa\u00adssword: '@W'", "ｐａｓｓｗｏｒｄ＝@D", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝: @D",
    "—password @D", "password‐hash: x\npassword： @D", "\x1b[31mpassword=@D", "key: @O",
    "see @O for it", "https://x.org/?k=@O", "@O", "(@O)", "session-@O", 'echo "bob:@W" | chpasswd',
    '<input type="password" value="@W">', "export DB_PASSWORD=@D", "mysql -u root -p@D db", "curl -u ana:@D http://x",
    "postgres://ana:@D@h/db", "Authorization: Bearer @L", "Cookie: session=@L", "DB_PASSWORD @D".replace(" ", "="),
]  # fmt: skip
MARKS = {"@W": WORD, "@D": DIGITS, "@P": PHRASE, "@L": LETTERS, "@S": SEED, "@A": AWS, "@O": OWN}


def kinds() -> list[tuple[str, str]]:
    """List texts, each with the secret in it."""
    found = [pair for detector in CREDENTIALS if (pair := published(detector))]
    found += [(f"{words}{DIGITS}", DIGITS) for words in SAID]
    found += [(f"{words.strip()} '{WORD}'", WORD) for words in SAID if words.strip()[-1] in ":："]
    for shape in SHAPES:
        mark = next(mark for mark in MARKS if mark in shape)
        text = shape
        for each, value in MARKS.items():
            text = text.replace(each, value)
        found.append((text, MARKS[mark]))
    return found


def _unseen(text: str) -> str:
    """Put a character that nobody sees behind every fourth letter."""
    return "".join(f"{c}\u200b" if index % 4 == 3 and c.isalnum() else c for index, c in enumerate(text))


# Each way wraps a text as somebody else would carry it.
PLACES: dict[str, Callable[[str], Any]] = {
    "value": lambda text: {"note": text},
    "object key": lambda text: {text: 1},
    "nested list": lambda text: [[{"deep": [text]}]],
    "content": lambda text: {"content": text},
    "JSON in a string": lambda text: json.dumps({"a": text}),
    "JSON in JSON in a string": lambda text: json.dumps(json.dumps({"a": text})),
    "broken JSON": lambda text: json.dumps({"a": text})[:-1],
    "URL encoded": lambda text: quote(text),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "log line": lambda text: f"2026-11-22 04:11:35 ERROR app.db [pid 7]\n{text}\n",
    "error text": lambda text: f"ValueError: cannot read\n  {text}\n  ^^^^",
    "HTML": lambda text: html.escape(text),
    "unseen characters": _unseen,
}
