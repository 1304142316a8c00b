"""Tables in texts: what stands below the name of a secret is hidden, in whatever way the table is written."""

from __future__ import annotations

import json

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
SECRETS = ("hunter2two", "Winter-2024!x")
WRITTEN = {
    "CSV": "user,password\nbob,{}\namy,{}\n",
    "CSV of Windows": "user;password\r\nbob;{}\r\namy;{}\r\n",
    "CSV with quotes and commas in them": '"id","user","password"\n"1","Doe, Bob","{}"\n"2","x",{}\n',
    "CSV with more cells than names": "user,password,note\nbob,{},likes a, b\namy,{},none\n",
    "CSV with blanks": "Here they are:\n\nUser name, Password\nbob, {}\namy, {}\n",
    "tabs": "user\tpassword\troles\nbob\t{}\tadmin\namy\t{}\t\n",
    "Markdown": "| user | password |\n| --- | :---: |\n| bob | {} |\n| amy | {} |\n",
    "Markdown without a frame": "user | password\n--- | ---\nbob | {}\namy | {}\n",
    "Markdown with marks": "|**User**|**Password**|\n|-|-|\n|bob|`{}`|\n|amy|**{}**|\n",
    "psql": " user | password \n------+----------\n bob  | {}\n amy  | {}\n(2 rows)\n",
    "psql, one column": " password \n----------\n {}\n {}\n(2 rows)\n",
    "mysql": "+----+--------+\n| u  | password |\n+----+--------+\n| b  | {} |\n| a  | {} |\n+----+--------+\n",
    "sqlite3": "user|password\nbob|{}\namy|{}\n",
    "columns": "user  password       note\n----  -------------  ----\nbob   {:<13}  x y\namy   {:<13}  z\n",
    "reStructuredText": "====  ========\nuser  password\n====  ========\nbob   {}\namy   {}\n====  ========\n",
    "kubectl": "NAME   PASSWORD        AGE\nbob    {}      3d\namy    {}   12m\n",
    "a data frame": "   user       password\n0   bob     {}\n1   amy  {}\n",
    "a frame of lines": "┏━━━┳━━━┓\n┃ user ┃ password ┃\n┡━━━╇━━━┩\n│ bob │ {} │\n│ amy │ {} │\n└───┴───┘",
    "rows that name": "| Setting | Value |\n|---|---|\n| DB_PASSWORD | {} | x |\n| Host | db |\n| root password | {} |",
    "HTML": "<table><tr><th>User</th><th class=x>Password</th></tr>\n<tr><td>bob</td><td>{}</td></tr>"
    "<tr><td>amy</td><td><code>{}</code></td></tr></table>",
    "HTML in capitals": "<TR><TH>Password</TH><TH>x</TH></TR><TR><TD>{}</TD></TR><TR><TD>{}</TD></TR></TABLE>",
    "German": "Benutzer;Kennwort\nbob;{}\namy;{}\n",
    "Japanese": "| ユーザー | パスワード |\n|---|---|\n| bob | {} |\n| amy | {} |\n",
    "Chinese": "用户,密码\nbob,{}\namy,{}\n",
}
OTHERS = (
    "| Name | Type | Default |\n|---|---|---|\n| password | string | none |\n| token | bytes | required |\n",
    "| Method | Password | Token |\n|---|---|---|\n| Basic | required | no |\n| OAuth2 | no | yes |\n",
    "| Pin | Function |\n|---|---|\n| 1 | GND |\n| D13 | LED |\n| GPIO4 | SDA |\n",
    "| Setting | Kind |\n|---|---|\n| password | Argon2id |\n| DB_PASSWORD | {{ password }} |\n| token | ${TOKEN} |\n",
    "token,count\nthe,512\ncat4,12\n",
    "user,password\nbob,\namy,NULL\njoe,********\n",
    "kind,event\npassword,login\ntoken,refresh\n",
    "def connect(host, user, password):\n    return open(host, user, password)\n",
    "import token, secrets\nimport re, string\n",
    "names = [\n    'user', 'password',\n    'host', 'port',\n]\n",
    "Enter your name, your password\nand press return, then wait 20s.\n",
    "SELECT name, password\nFROM users u1, roles r2\n",
    "cat password | grep bob\nls -l | sort -k2\n",
    " Column | Type \n--------+------\n password | text \n token | varchar2 \n",
    "password   the password that is asked for\nuser2      the name of the user\n",
)  # fmt: skip


def filled(name: str) -> str:
    return WRITTEN[name].format(*SECRETS)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_stands_below_the_name_of_a_secret_is_hidden(name: str) -> None:
    text = filled(name)
    shown = SANITIZER.redact_text(text)
    hidden = "[REDACTED: PASSWORD]"
    assert shown == text.replace(SECRETS[0], hidden).replace(SECRETS[1], hidden)
    assert SANITIZER.redact_text(shown) == shown


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_within_other_texts_is_hidden_as_well(name: str) -> None:
    table = filled(name).strip("\n")
    for text in (f"Done.\n\n```\n{table}\n```\nBye, all.", json.dumps({"content": table}), f'{{"content": "{table}'):
        shown = SANITIZER.redact_text(text)
        assert not any(secret in shown for secret in SECRETS), shown
    assert not any(secret in str(SANITIZER.redact({"content": table})) for secret in SECRETS)


@pytest.mark.parametrize("text", OTHERS)
def test_what_only_looks_like_such_a_table_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text


def test_a_table_ends_where_its_rows_end() -> None:
    text = "user,password\nbob,hunter2two\n\nIn 2024, version3\n"
    assert SANITIZER.redact_text(text) == text.replace("hunter2two", "[REDACTED: PASSWORD]")


def test_of_a_long_table_nothing_is_shown_that_was_not_judged() -> None:
    rows = "".join(f"user{number},hunter{number}two\n" for number in range(20_000))
    assert "hunter" not in SANITIZER.redact_text(f"user,password\n{rows}")
