"""Secrets that the form of a file, a page, a statement, a sentence or a command tells, and what resembles them."""

from __future__ import annotations

import json

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
]
HARMLESS = [
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


@pytest.mark.parametrize("text", TELLING)
@pytest.mark.parametrize("form", ["as it is", "among lines", "in JSON", "in JSON that is cut off"])
def test_a_secret_is_found_by_the_form_around_it(text: str, form: str) -> None:
    written = text.replace("§", SECRET)
    if form == "among lines":
        written = f"Read this:\n\n{written}\n\nand go on"
    if form.startswith("in JSON"):
        written = json.dumps({"x": written})[: None if form == "in JSON" else -1]
    assert SECRET not in SANITIZER.redact_text(written)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
