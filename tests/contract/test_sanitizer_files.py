"""Secrets that the form of a file, a page, a statement, a sentence or a command tells, and what resembles them."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import certifi
import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
SECRET = "hunter" + "2Tr0ub"

TELLING = [
    "x: &pw §\npassword: *pw",
    "password: *p\nother: &p '§'",
    "passwords:\n  - §",
    "passwords:\n- a\n- §\nother: 1",
    "credentials:\n  bob: §",
    "db:\n  password:\n    value: §",
    "secrets:\n  - '§'",
    '[db.password]\nvalue = "§"',
    "[credentials]\nuser='a'\nbob='§'",
    "<property name='password'><value>§</value></property>",
    "<property><name>db.password</name><value>§</value></property>",
    '<entry key="password">§</entry>',
    "SSHPASS=§ sshpass -e ssh",
    "export SSHPASS='§'",
    "Driver={x};Uid=a;Pwd={§};",
    "sudo -S ls <<< '§'",
    "sudo -S ls <<<§",
    "printf '%s\\n' § | sudo -S ls",
    "printf § | sudo -S ls",
    "printf '%s\n' § | sudo -S ls",
    "- value: §\n  name: DB_PASSWORD",
    'env:\n  - value: "§"\n    name: DB_PASSWORD\n',
    "kubectl create secret generic s --from-literal=foo=§",
    "kubectl create secret generic s --from-literal foo='§'",
    "kubectl create secret generic s -n x --from-literal=a=1 --from-literal='b=§'",
    "Password for bob: §",
    "Password for user bob is §.",
    "password of bob: §",
    "my password's §",
    "set password to §",
    "change the password to §",
    "new password will be §",
    "the password should be §",
    "Password (temporary): §",
    "<b>Password:</b> §",
    "**Password**: §",
    "Password: <code>§</code>",
    "<td>Password</td><td>§</td>",
    "SET PASSWORD FOR 'bob'@'localhost' = '§'",
    "where passwd in ('§')",
    "where passwd in ('a', '§')",
    "password like '§'",
    'variable "db_password" {\n default = "§"\n}',
    'variable "db_password" {\n  type = string\n  default = "§"\n}',
    "docker login --password-stdin <<< §",
    "printf '%s' § | docker login --password-stdin",
    'expect "password:"\nsend "§\\r"',
    "<wsse:Password Type='x#PasswordText'>§</wsse:Password>",
    "<ns2:dbPassword>§</ns2:dbPassword>",
    "<input value='§' type='password'>",
    '<input name="password" type="text" value="§">',
    '<property value="§" name="password"/>',
    '<add\n  key="DbPassword"\n  value="§" />',
    "<env-entry-name>db.password</env-entry-name><env-entry-type>String</env-entry-type><env-entry-value>§</env-entry-value>",
    "<init-param>\n<param-name>password</param-name>\n<param-value>§</param-value>\n</init-param>",
    "password:\n  type: string\n  default: §",
    "inputs:\n  db_password:\n    required: true\n    default: '§'\n",
    "? password\n: §",
    "env:\n  - name: DB_PASSWORD\n    description: of the db\n    value: §",
    "Password:\n§",
    "User:\nbob\nPassword:\n\n§",
    "password; §",
    "${DB_PASSWORD:-'§'}",
    "password = \"{{ db_password | default('§') }}\"",
    "std::string password{'§'};",
    "use the password §",
    "with password '§'.",
    "log in with bob / §",
    "Log in as bob with §",
    "login: bob/§",
    "mit dem Passwort §",
    "avec le mot de passe §",
    "con la contraseña §",
    "Adgangskoden er §",
    "Паролата е §",
    "паролата ми е §",
    "Лозинка је §",
    "lykilorðið er §",
    "die wagwoord is §",
    "a jelszavam §",
    "ο κωδικός είναι §",
    "הסיסמה שלי היא §",
    "รหัสผ่านของฉันคือ §",
    "z hasłem §",
    "kata sandinya adalah §",
]
HARMLESS = [
    "<input name='username' type='text' value='bob1'>",
    "<option id='password-policy' value='strict2'>",
    "<input type='password' value=''>",
    "password:\n  type: string\n  default: null",
    "? region\n: eu-west-1",
    "Password:\nat least 8 characters",
    "password:\nuser: bob1x2",
    "use the password Argon2id makes",
    "with password SHA256",
    "hash the password with PBKDF2WithHmac",
    "password utf8mb4",
    "log in with bob/alice",
    "login: see docs/login.md and RFC6749",
    "use the password field",
    "- name: DB_PASSWORD\n  description: x\n- name: REGION\n  value: eu1x2",
    "secrets:\n  - name: db1\n    key: a1b2",
    "auth:\n  type: basic\n  retries: 3\n",
    "password:\n  minLength: 8\n  type: string",
    "session:\n  timeout: 30m\n  path: /x1",
    "[tokens]\nmax = 500\n",
    "x: &anchor v1\nname: *anchor",
    "passwords:\n  - <your password>",
    '<property name="port"><value>8080</value></property>',
    '<string name="password">Password</string>',
    "Pwd={pw};",
    "Pwd={0};Uid={1}",
    "kubectl create configmap c --from-literal=a=b1",
    "printf '%s' x1 | grep x",
    "- value: a1\n  name: USER",
    "Token for step 2: go1",
    "set the page to v2beta",
    "the password should be changed",
    "the password will be sent",
    "**Password**: required",
    "password in use",
    'variable "region" {\n default = "eu-west-1"\n}',
    "<b>Password:</b> at least 8 characters",
    "where password like '%a%'",
    "Password for bob: ${BOB}",
    "the user's key 1",
    "Bob's password's length is 8",
    "<td>Password</td><td>yes</td>",
]


LONG = "an ordinary line of a log, with the number 5\n" * 250


@pytest.mark.parametrize("text", TELLING)
@pytest.mark.parametrize(
    "form",
    ["as it is", "among lines", "in JSON", "in JSON that is cut off", "in a long text", "escaped in a long text"],
)
def test_a_secret_is_found_by_the_form_around_it(text: str, form: str) -> None:
    written = text.replace("§", SECRET)
    if form == "among lines":
        written = f"Read this:\n\n{written}\n\nand go on"
    if "long text" in form:
        inner = json.dumps({"x": written})[1:-1] if form.startswith("escaped") else written
        written = f"{LONG}{inner}\n{LONG}"
    if form.startswith("in JSON"):
        written = json.dumps({"x": written})[: None if form == "in JSON" else -1]
    assert SECRET not in SANITIZER.redact_text(written)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text


def test_a_token_behind_the_end_of_a_certificate_is_found() -> None:
    token = "".join(("Zq7pV2xK9m", "Tb4Ws8Rn1L", "d6Hy3Jc5Fg", "0QaEu2"))
    certificate = f"-----BEGIN CERTIFICATE-----\n{token[::-1] * 2}\n-----END CERTIFICATE-----\n"
    redacted = SANITIZER.redact_text(f"{certificate}{token}\n{certificate}")
    assert redacted == f"{certificate}[REDACTED: RANDOM_TOKEN]\n{certificate}"


CERTIFICATES = Path(certifi.where()).read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["text", "JSON", "JSON in JSON", "one line"])
def test_certificates_stay_as_they_are(form: str) -> None:
    text = CERTIFICATES
    if form == "one line":
        text = re.sub(r"(?<=[A-Za-z0-9+/=])\n(?=[A-Za-z0-9+/=])", "", text)
    for _ in range(form.count("JSON")):
        text = json.dumps({"ca": text})
    assert SANITIZER.redact_text(text) == text


@pytest.mark.parametrize("heading", ["CERTIFICATE", "PUBLIC KEY", "AWS SECRET", "PGP MESSAGE", "PRIVATE KEY"])
@pytest.mark.parametrize("body", ["password=Hunter2Zq7", "AKIA" + "Z7QK3M5T" * 2])
@pytest.mark.parametrize("end", ["\n-----END {}-----\n", "\n", "", "\n\npassword: x\n"])
def test_what_only_stands_below_the_heading_of_a_certificate_is_redacted(heading: str, body: str, end: str) -> None:
    redacted = SANITIZER.redact_text(f"-----BEGIN {heading}-----\n{body}{end.format(heading)}")
    assert body.split("=")[-1] not in redacted


def test_digests_in_the_record_of_a_package_stay() -> None:
    lines = (
        f"pkg/module_{number}.py,sha256={urlsafe_b64encode(sha256(str(number).encode()).digest()).decode()[:43]},{number}"
        for number in range(3000)
    )
    text = "\n".join(lines)
    assert SANITIZER.redact_text(text) == text


# What a table calls `key` or `author` is no secret however long the table is, and what stands behind it is looked at.
@pytest.mark.parametrize("name", ["key", "author", "sort_key", "shipping", "login"])
@pytest.mark.parametrize("planted", ["password", "db_passwd", "api_key", "client_secret", "AUTH_TOKEN", "rootpass"])
def test_behind_a_long_table_of_weak_names_a_secret_is_redacted(name: str, planted: str) -> None:
    table = "".join(f'{{"{name}": "row {number}", "n": {number}}}\n' for number in range(8_000))
    redacted = SANITIZER.redact_text(f'{table}{{"{planted}": "Hunter2-Zq7w"}}\n')
    assert redacted.startswith(table)
    assert "Hunter2" not in redacted


CERTIFICATE = (
    "MIIDUzCCAjugAwIBAgIUPz8SVGJvCMoP9rs+VUGSUDB6LhYwDQYJKoZIhvcNAQEL\n"
    "BQAwOTELMAkGA1UEBhMCRVMxFDASBgNVBAoMC0V4YW1wbGUgT3JnMRQwEgYDVQQD\n"
    "DAtleGFtcGxlLm9yZzAeFw0yNjExMjkxNjE2NThaFw0yNjEyMjkxNjE2NThaMDkx\n"
)
NOISE = "".join(("Zq7pV2xK9m", "Tb4Ws8Rn1L", "d6Hy3Jc5Fg", "0QaEu2iP8o", "X3vN7kB5zM", "1wU9tY4rC6", "hG2j")) + "\n"


@pytest.mark.parametrize(
    "text", [CERTIFICATE, f"{NOISE * 3}-----END CERTIFICATE-----\n", f"{NOISE}-----END PGP PUBLIC KEY BLOCK-----"]
)
def test_lines_of_a_certificate_whose_beginning_is_cut_off_stay(text: str) -> None:
    assert SANITIZER.redact_text(text) == text


@pytest.mark.parametrize("text", [NOISE * 3, f"{NOISE * 3}-----END RSA PRIVATE KEY-----\n"])
def test_lines_that_may_be_of_a_key_do_not(text: str) -> None:
    assert NOISE not in SANITIZER.redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "undefined reference to `_ZNSt6vectorIiSaIiEE9push_backERKi'",
        "T _RINvNtCs8NwYtU1Mohg_4core9panicking13assert_",
        "#define PKCS12_F_PKCS12_SAFEBAG_CREATE0_PKCS8 0", "S/N: 00B3963E0E6C2D65125853E970665402E5",
        'pin-sha256="vRU+17BDT2iGsXvOi76E7TQMcTLXAqj0+jGPdW7L1vM="',
        "x-amz-id-2: Zq7pV2xK9mTb4Ws8Rn1Ld6Hy3Jc5Fg0QaEu2i",
    ],
)  # fmt: skip
def test_symbols_numbers_and_pins_stay(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
