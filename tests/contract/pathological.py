"""Inputs that make careless scanners slow: each name maps to a function from a size to a text or a value.

The tests use small sizes, the benchmarks large ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

from tests.contract.credentials import sample

UNITS = {
    "a": "a", "a run of words": "lorem ipsum dolor ", "spaces": " ", "newlines": "\n",
    "carriage returns": "\r\n",
    "tabs": "\t", "equals": "=", "colons": ":", "double quotes": '"', "single quotes": "'",
    "backslashes": "\\",
    "escaped quotes": '\\"', "escaped newlines": "\\n", "brackets": "[", "braces": "{", "closers": "}])",
    "angles": "<", "elements": "<token>x</token>", "open elements": "<token>", "commas": ",", "dashes": "-",
    "dots": ".", "dotted letters": "a.b.c.", "slashes": "/", "percent": "%", "url starts": "://",
    "users of urls": "a://b:", "loose users of urls": "postgres://u:p", "userinfo": "u:p@",
    "jwt starts": "eyJ",
    "dotted jwt starts": "eyJ.", "pem starts": "-----BEGIN", "pem headers": "-----BEGIN RSA PRIVATE KEY-----",
    "pem headers and ends": "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END ",
    "putty heads": "Private-Lines: 1 ",
    "tokens with a quote": 'token="', "tokens": "token=", "spaced tokens": "token = ",
    "spoken tokens": "token is ",
    "token words": "token", "passwords": "password=", "passwords in quotes": 'password="x" ',
    "passwords in lines": "password: x\n", "passwords in lists": 'passwords: ["x", ',
    "values of passwords":
    'name: password, value: ', "flags": "--password ", "flags that end the text": " -p", "aws starts": "AKIA",
    "openai starts": "sk-", "github starts": "ghp_", "slack starts": "xoxb-1", "telegram middles": "1:A",
    "facebook middles": "1|", "azure middles": "Q~", "bearer": "Bearer ", "authorization": "Authorization: ",
    "basic": "Basic ", "cookies": "Cookie: a=", "curl users": " -u a:b", "mysql": "mysql -",
    "netrc": "login x password ",
    "json": '{"a":', "json strings": '"a":"b",', "zero-width joiners": "\u200d",
    "combining accents": "e\u0301",
    "one cluster": "\u0301", "families": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "flags of states": "\U0001f1e9",
    "lone surrogates": "\ud800", "bidi overrides": "\u202e", "digits": "4", "card starts": "4111 1111 ",
    "card numbers": "4111111111111112 ", "short tokens": "a1B2c3D4 ", "marks": "[REDACTED: TOKEN]",
    "mark starts": "[REDACTED: ", "paths": "/home/x/a ", "windows paths": "C:\\Users\\x\\", "one path": "/a",
    "kubernetes values": "data:\n a: b\n", "kubernetes heads": "kind: Secret\n", "sql": "IDENTIFIED BY '",
    "mail addresses": "a@b.", "long mail addresses": "a@", "phone numbers": "+49 30 ", "ibans": "DE89 3704 ",
    "unseen between letters": "a\u200b", "controls between letters": "a\0", "colours": "\x1b[31ma",
    "entities": "&#112;",
    "escaped letters": "\\u0070", "escaped bytes": "%E5%AF%86", "calls": 'setPassword("x",',
    "open calls": "setPassword(",
    "rows": "insert into u(password) values ('a'),", "open rows": "insert into u(password) values ('",
    "inserts":
    "insert into u(", "parts": 'name="password"\nA: b\n', "network uses": "net use x /user:a ",
    "columns": "a:5432:b:c:",
    "addresses of oracle": "sqlplus a/", "codes of networks": "WIFI:S:", "anchors": "password: &a ",
    "Chinese": "密码是",
    "Russian": "Привет, пароля нет. ", "weak names": "key=a1B2c3D4e5F6 ", "blocks": 'password="""',
    "words of ours": "rc_",
    "words of a phrase": "mnemonic: abc ", "random of forty": "zq7/Hc2mKxw9+TbVy4Ns8RjLd1PfEo6Gu3Aia0Bz ",
    "escaped characters": "%3D", "hexadecimal": "0a", "uuids": "8f14e45f-ceea-467f-a9c4-0e2b1d5a7c33 ",
    "names between commas": "pass,", "weak names between commas": "key,KEY,", "weak names of escapes": "%3DKEY",
    "names of a walrus": "(auth:=", "types without end": "secretCookie:", "branches without end": ":elseKEY",
    "quotes after names": 'Cookie": ', "loud names": "KEY", "equal signs": "=", "question marks": "?:",
    "titles": "\n密码", "flags beside foreign names": "--password value密码是",
    "identifiers behind a verb": "passwd8f14e45f-ceea-467f-a9c4-0e2b1d5a7c33 ",
    "identifiers beside names": "8f14e45f-ceea-467f-a9c4-0e2b1d5a7c33 key密码", "a name without an end": "密码\u0301",
    "names of several values": "\nkey,KEY,key=a1B2c3D4e5F6 \\%22",
    "names in rows": "bob,password\n", "columns without an end": "| password |\n|---|\n| a |\n",
    "tables of data frames": "   a  password\n0  b  c\n",
    "escapes between marks": '?:[REDACTED: TOKEN]пароль4111111111111112 Cookie\\"%key,KEY,u:p@',
}  # fmt: skip


# Beside those that bombs are drawn from, so that these stay what they are.
LATER_UNITS = {
    "names between commas in lines": "sig,\n", "names between commas and numbers": "sid,1\n",
    "names in frames": "sig|1|\n", "names and rules": ",key\n-\n",
    "heads of other keys": "---- BEGIN SSH2 PRIVATE KEY ----", "cards in groups": " .3150-870670-88030_",
    "names of structures": "struct { chave } {", "tests without names": "parametrize( argnames= ",
    "doubled quotes behind names": '1 ""sig',
}  # fmt: skip


def _repeat(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def _noise(alphabet: str, words: range | None = None) -> Callable[[int], str]:
    """Make characters that look random and are the same in every run, in words of the lengths or in one."""

    def text(size: int) -> str:
        random = Random(size)
        if words is None:
            return "".join(random.choices(alphabet, k=size))
        parts: list[str] = []
        left = size
        while left > 0:
            parts.append("".join(random.choices(alphabet, k=random.choice(words))))
            left -= len(parts[-1]) + 1
        return " ".join(parts)[:size]

    return text


LETTERS = "abcdefghijklmnopqrstuvwxyz"
BASE64 = LETTERS + LETTERS.upper() + "0123456789+/"

TEXTS: dict[str, Callable[[int], str]] = {
    **{name: _repeat(unit) for name, unit in UNITS.items()},
    "base64": _noise(BASE64),
    "tokens of base64": _noise(BASE64[:62], range(32, 65)),
    "short words of base64": _noise(BASE64[:62], range(4, 24)),
    "digits in groups": _noise("0123456789", range(3, 20)),
    "punctuation": _noise("\"'`\\=:;,.-_/@#%&?!<>()[]{}| \n"),
    "printable": _noise("".join(map(chr, range(32, 127)))),
    "one long secret": lambda size: "password=" + "x1" * (size // 2),
    "one long quoted secret": lambda size: 'password="' + "x1 " * (size // 3) + '"',
    "one private key without an end": lambda size: "-----BEGIN PRIVATE KEY-----\n" + "Ab+/\n" * (size // 5),
    "one long url": lambda size: "https://" + "u" * size,
    "one long header": lambda size: "Authorization: Bearer " + "a1" * (size // 2),
}
ALL_TEXTS = TEXTS | {name: _repeat(unit) for name, unit in LATER_UNITS.items()}


def _deep(size: int) -> Any:
    value: Any = "x"
    for level in range(size // 8):
        value = {"a": value} if level % 2 else [value]
    return value


def mixtures(count: int) -> Iterator[str]:
    """Give pieces of text that nobody chose, the same in every run: a few units, now and then behind a filler."""
    random, units = Random(16), [*UNITS.values(), "AAAA,IAAI,", "x y ", "or", "if", "->", ":=", "(", ")", "的"]
    for _ in range(count):
        mixed = "".join(random.choices(units, k=random.choice((1, 2, 2, 3, 3, 4, 6))))
        yield random.choice(units[-9:]) * 100 + mixed if random.random() < 0.2 else mixed


def near_misses(patterns: Iterable[str], size: int) -> Iterator[str]:
    """Give for each pattern, as far as Python reads it, many lines that it nearly matches, or does."""
    for pattern in patterns:
        random = Random(pattern)
        with suppress(re.error, ValueError):  # few are written as only RE2 reads them, or match nothing at all
            form = sample(pattern, 1)
            places = (random.randrange(len(form)) for _ in range(size // (len(form) + 1)))
            yield "".join(f"{form[:at]}{random.choice(LETTERS[:3] + ' 0=:_-/')}{form[at + 1 :]}\n" for at in places)


# About as many characters of JSON as the size says.
VALUES: dict[str, Callable[[int], Any]] = {
    "short strings": lambda size: [f"w{n}" for n in range(size // 10)],
    "keys": lambda size: {f"k{n}": n for n in range(size // 10)},
    "keys with short strings": lambda size: {f"key{n}": f"word {n}" for n in range(size // 20)},
    "keys that look secret": lambda size: {f"password{n}": f"word{n}" for n in range(size // 25)},
    "records": lambda size: [{"id": n, "name": "ana", "city": "Bonn"} for n in range(size // 40)],
    "numbers": lambda size: list(range(size // 8)),
    "deep": _deep,
    "deep below a secret name": lambda size: {"password": _deep(size)},
    "flags": lambda size: ["--password", "x1y2"] * (size // 20),
    "one long key": lambda size: {"k" * size: 1},
}
