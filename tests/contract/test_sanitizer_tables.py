"""Tables in texts: what stands below the name of a secret is hidden, in whatever way the table is written."""

from __future__ import annotations

import json
from itertools import product

import pytest

from retrycontract.contract.redaction.headers import MOST_SOUGHT
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
    "a description between": "| Name | Description | Default |\n|---|---|---|\n| GRU_PASSWORD | Gru's password | {} |"
    "\n| DB_PASSWORD | yes | `{}` | the database's |",
    "a description between, without a frame": "GRU_PASSWORD | Gru's SSH password | {}\nDB_PASSWORD | the other | {}\n",
    "users and passwords": "| System | Zugangsdaten |\n|---|---|\n| Test | ana / {} |\n| Next | `bob`:`{}` |\n",
    "cells of HTML": "<td>Password</td>\n<td>{}</td>\n</tr>\n<td>Password</td>\n  <td><code>{}</code></td>\n",
    "HTML": "<table><tr><th>User</th><th class=x>Password</th></tr>\n<tr><td>bob</td><td>{}</td></tr>"
    "<tr><td>amy</td><td><code>{}</code></td></tr></table>",
    "HTML in capitals": "<TR><TH>Password</TH><TH>x</TH></TR><TR><TD>{}</TD></TR><TR><TD>{}</TD></TR></TABLE>",
    "CSV with an unnamed column": ",id,password\n0,1,{}\n1,2,{}\n",
    "CSV with cells left empty": "id,,password\n1,,{}\n\t,,\n2,,{}\n",
    "CSV with odd names": 'id,50%,"x, y",who is it?,password\n1,2,3,4,{}\n5,6,7,8,{}\n',
    "CSV with a comment and a short row": "id,password\n# all of them\n1,{}\n2\n3,{}\n",
    "CSV behind a blank line": "id,password\n\n1,{}\n2,{}\n",
    "CSV of names and values": "key,value\nDB_PASSWORD,{}\nADMIN_PASSWORD,{}\n",
    "sqlite3 with an empty cell": "name|password\n|{}\nbob|{}\n",
    "psql with an empty cell": " id | password \n----+----------\n    | {}\n  1 | {}\n",
    "psql, expanded": "-[ RECORD 1 ]---\nid       | 1\npassword | {}\n-[ RECORD 2 ]---\npassword | {}\n",
    "Markdown with bars in cells": "| id | password |\n|---|---|\n| a \\| b | {} |\n| c | {} |\n",
    "a quoted message": "> | id | password |\n> |---|---|\n> | 1 | {} |\n> | 2 | {} |\n",
    "numbered lines": "     9\tid,password\n    10\t1,{}\n    11\t2,{}\n",
    "a comment": "# id,password\n# 1,{}\n# 2,{}\n",
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
    "suite,pass,fail\nunit,4216,3\nslow,98.5%,1.5%\n",
    "user,last_password_change\nbob,2024-02-11\n",
    "| Secret | Use |\n|---|---|\n| NPM_TOKEN | CI |\n",
    "id,word\n1,password\n2,abc123\n",
    "kpasswd\t464/tcp\nsubmissions\t465/tcp\n",
    "pt\tbase-passwd\t3.6.1\npt\tbash\t5.2.15-2+b8\n",
    "| Spec | Auth |\n|---|---|\n| a | HMAC-SHA256 |\n",
    "Password rules\n==============\n\nAt least 12 signs, 2 of them digits.\n",
    "r'Login|Password|Token|'\nr'Name2|User3|Role4|'\n",
    "| Login | Password |\n|---|---|\n| a | b |\n",
    "| User | Password |\n|---|---|\n| ana | required |\n| bob | expired |\n| eve | not known |\n",
    "<tr><th>User</th><th>Password</th></tr><tr><td>bob</td><td>optional</td></tr>",
    "| Method | Password |\n|---|---|\n| basic | cleartext |\n", "| DB_PASSWORD | yes | v2.3.1 | 2024-01-01 |\n",
    "token | python3 | sort -k2\n", "cat token | utf8dec | sort\n", "* - Password\n  - Description\n",
    "| DB_PASSWORD | the password | string | SHA-256 | 12 signs |\n", "<td>Password</td>\n<td>Required</td>\n",
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


HEADINGS = (
    "Wi-Fi Password", "Password:", "Password (initial)", "Password [plain]", "Password #1", "Username/Password",
    "<b>Password</b>", "[Password](x)", "Api key (live)", "max(password)", "password for db", "Benutzerpasswort",
    "用户密码", "初期パスワード", "비밀번호 (초기)", "Пароль пользователя", "Senha do usuário",
)  # fmt: skip


@pytest.mark.parametrize("name", HEADINGS)
def test_a_heading_may_say_more_than_the_name(name: str) -> None:
    for text in (f"name,{name},city\nbob,aB3$xK9mQ2z,Rome\n", f"| {name} | x |\n|---|---|\n| aB3$xK9mQ2z | y |\n"):
        assert "aB3$xK9mQ2z" not in SANITIZER.redact_text(text)


@pytest.mark.parametrize("user", ["User", "Username", "E-Mail", "Benutzername", "Login"])
def test_beside_a_user_a_word_is_a_password(user: str) -> None:
    markdown = f"| {user} | Password | Role |\n|---|---|---|\n| ana | bluemonkey | admin |\n| bob | sunshine | |\n"
    page = f"<tr><th>{user}</th><th>Password</th></tr><tr><td>ana</td><td>bluemonkey</td></tr>"
    for text in (markdown, page):
        shown = SANITIZER.redact_text(text)
        assert "bluemonkey" not in shown
        assert "sunshine" not in shown
        assert "ana" in shown


@pytest.mark.parametrize("value", ["!Passw0rd", "(Passw0rd1", "[Passw0rd1", "Passw0rd1()", "hunter2.x", "Abc12.def"])
def test_in_data_a_value_may_look_like_code(value: str) -> None:
    assert value not in SANITIZER.redact_text(f"name,password,city\nbob,{value},Rome\n")


@pytest.mark.parametrize("text", OTHERS)
def test_what_only_looks_like_such_a_table_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_is_found_behind_however_many_lines_that_might_head_one(name: str) -> None:
    lines = "".join(f"sid of {number} | key\n" for number in range(MOST_SOUGHT + 1_000))
    table = f"\nThat was that.\n\n{filled(name)}\nSo much for this.\n"
    assert SANITIZER.redact_text(f"{lines}{table}") == f"{lines}{SANITIZER.redact_text(table)}"


@pytest.mark.parametrize("row", ["bob,NULL", "bob {},NULL", "bob,", "bob {},********"])
def test_rows_without_a_secret_hide_none_behind_them(row: str) -> None:
    rows = "".join(f"{row}\n".format(number) for number in range(5_000))
    text = f"user,password\n{rows}amy,hunter2two\namy,hunter2two\n"
    assert SANITIZER.redact_text(text) == text.replace("hunter2two", "[REDACTED: PASSWORD]")


def test_of_lines_that_might_each_head_another_table_nothing_is_shown_that_was_not_judged() -> None:
    names = ("".join(letters) for letters in product("abcdefgh", repeat=5))
    lines = "".join(f"{name} key,\n" for name in names)
    assert "hunter2two" not in SANITIZER.redact_text(f"{lines}\nuser,password\nbob,hunter2two\n")


def test_a_table_ends_where_its_rows_end() -> None:
    text = "user,password\nbob,hunter2two\n\nIn 2024, version3\n"
    assert SANITIZER.redact_text(text) == text.replace("hunter2two", "[REDACTED: PASSWORD]")


def test_of_a_long_table_nothing_is_shown_that_was_not_judged() -> None:
    rows = "".join(f"user{number},hunter{number}two\n" for number in range(20_000))
    assert "hunter" not in SANITIZER.redact_text(f"user,password\n{rows}")


@pytest.mark.parametrize("mark", ["password", "API key", "Kennwort"])
def test_the_first_row_of_a_sheet_names_its_columns(mark: str) -> None:
    sheet = {"range": "A1", "values": [["user", mark, "role"], ["bob", "hunter2two", "admin"], ["amy", "Winter"]]}
    rows = SANITIZER.redact(sheet)["values"]
    assert rows[0] == ["user", mark, "role"]
    assert "hunter2two" not in str(rows)
    assert "Winter" not in str(rows)
    assert [row[0] for row in rows] == ["user", "bob", "amy"]
    assert rows[1][2] == "admin"


@pytest.mark.parametrize("rows", [
    [["token", "count"], ["the", 5123456], ["of", 31]], [["password"]], [["user", "password"]], ["password", ["x"]],
    [["word", "kind"], ["password", "noun"], ["secret", "noun"]], [[], []], [["password", "x"], ["y"]],
])  # fmt: skip
def test_rows_without_the_name_of_a_secret_above_them_stay(rows: list[object]) -> None:
    assert SANITIZER.redact({"values": rows}) == {"values": rows}
