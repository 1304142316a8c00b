"""Find secrets that well-known functions of libraries take by place, what is compared with one, and rows of a dump."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.detectors import Allowance, Finder, Head, SecretSpan, has_digit
from retrycontract.contract.redaction.field_names import SECRET_NAME, is_secret_name, judge
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret
from retrycontract.contract.redaction.values import read_literal

_QUOTE = r"(?:[@$bBrRuULNEe]?[\"'`])"
_STRING = r"(?:[bru]?\"[^\"\n]*\"|[bru]?'[^'\n]*')"
# Behind a host and a user, behind a user or a network, behind what is signed; and as the first that is given.
_THIRD = (
    r"(?:mysqli_connect|mysqli|mysql_(?:real_)?connect|(?:pymysql|MySQLdb|ssh|client)\.connect|DBI->connect|getConnection|PDO|PlainAuth|create_user"
    r"|create_superuser|FTP|ssh2_auth_password|ldap_bind|ftp_login|odbc_connect|pg_auth)"
)
_SECOND = r"(?:NetworkCredential|NetworkCredential\]::new|PSCredential|WiFi\.begin|HttpBasicAuth|BasicCredentials)"
_SIGNING = r"jwt\.(?:sign|encode|verify|decode)\([^()\n]*?[\w})]\s*,\s*|createHmac\(\s*_STRING\s*,\s*"
_FIRST = r"(?:hmac\.new|bcrypt\.hash(?:pw|Sync)?|generate_password_hash|make_password|password_hash|scrypt\.hash)"
_TAKEN = (
    Head(rf"(?i)\b{_THIRD}\(\s*(?:[\w&*.$]+\s*,\s*)?{_STRING}\s*,\s*(?:[0-9]+\s*,\s*)?{_STRING}\s*,\s*({_QUOTE})"),
    Head(rf"(?i)\b{_SECOND}\(\s*{_STRING}\s*,\s*({_QUOTE})"),
    Head(rf"(?i)\b(?:{_SIGNING.replace('_STRING', _STRING)})({_QUOTE})"),
    Head(rf"(?i)\b{_FIRST}\(\s*({_QUOTE})"),
)
_COMPARED = Head(rf"(?i)([\"'])[^\"'`\n]+[\"'][ \t]*[=!]==?[ \t]*(?:[\w$]+\.)*({SECRET_NAME})")
_COPY = Head(r"(?i)\bcopy\s+[\w.\"]+\s*\(([^()]+)\)\s+from\s+stdin;[ \t]*\r?\n")
SHORTEST, LONGEST_ROW = 6, 20_000
_PASSWORDS = frozenset({"PASSWORD", "SECRET"})
# What is told before its name: `Use … as the password`.
_FIRST_SAID = Head(
    r"(?i)([^\s\"'`]*[0-9!#$%^&*+?~][^\s\"'`]*)[\"'`]?[ \t]+(?:is|as|als|comme|como|come|jako|when asked for)[ \t]+"
    r"(?:(?:the|your|my|our|a|an|das|dein|mein|le|la|el|il|new|root|admin)[ \t]+){0,2}(?:pass(?:word|phrase|code)"
    r"|passwort|kennwort|mot de passe|contrasena|senha|wachtwoord|haslo)\b"
)


def find_taken(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `mysqli_connect("host", "ana", "…")`, `jwt.sign(claims, "…")` and `hmac.new(b"…")`."""
    for find in head.telling(text, allowance):
        literal = read_literal(text, find.span(1)[0])
        if literal and literal.quoted and _is_secret(literal):
            yield SecretSpan(literal.start, literal.end, "PASSWORD")


def find_compared(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `"…" == password`."""
    for find in _COMPARED.all(text, allowance):
        literal, mark = read_literal(text, find.span(1)[0]), judge(find[2]).mark
        if mark in _PASSWORDS and literal and _is_secret(literal):
            allowance.spend(literal.start)
            yield SecretSpan(literal.start, literal.end, mark)


def _is_secret(literal: Literal) -> bool:
    """Say whether a string is written as no word of English and no name is."""
    if literal.is_placeholder or is_secret_name(literal.text) or len(literal.text) < SHORTEST:
        return False
    return literal.telling and has_digit(literal.text) and is_quoted_secret(literal, "PASSWORD")


def find_copied(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the rows of a dump of PostgreSQL below `COPY users (name, password) FROM stdin;`."""
    start = 0
    for find in _COPY.all(text, allowance):
        if find.span(0)[0] < start:  # a row that holds such a statement
            continue
        marks = [judge(column.strip(' "')).mark for column in find[1].split(",")]
        start = find.span(0)[1]
        while any(marks) and not text.startswith("\\.", start):
            end = text.find("\n", start, start + LONGEST_ROW)
            cells = text[start : end if end >= 0 else len(text)].split("\t")
            for mark, cell in zip(marks, cells, strict=False):
                if mark and len(cell.strip()) >= SHORTEST and cell != "\\N":
                    allowance.spend(start)
                    yield SecretSpan(start, start + len(cell.rstrip()), mark)
                start += len(cell) + 1
            if end < 0:
                break
            start = end + 1


def find_said_first(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `Use … as the password`, whose value only its mixture of letters and digits tells."""
    for find in _FIRST_SAID.all(text, allowance):
        start, _ = find.span(1)
        word = find[1].rstrip(".,;:!?)")
        if len(word) >= SHORTEST and _WORD.fullmatch(word) and not Literal.whole(word).is_placeholder:
            allowance.spend(start)
            yield SecretSpan(start, start + len(word), "PASSWORD")


_WORD = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])(?!\w+://|[\w./-]+\.[a-z]{1,5}\Z)[^(){}<>\[\]=,/\\]{6,80}")

FINDERS = (
    *(Finder.of(head, partial(find_taken, head)) for head in _TAKEN),
    Finder.of(_COMPARED, find_compared),
    Finder.of(_COPY, find_copied),
    Finder.of(_FIRST_SAID, find_said_first),
)
