"""Find secrets that well-known functions of libraries take by place, and what is compared with one."""

from __future__ import annotations

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
SHORTEST = 6
_PASSWORDS = frozenset({"PASSWORD", "SECRET"})


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


FINDERS = (
    *(Finder.of(head, partial(find_taken, head)) for head in _TAKEN),
    Finder.of(_COMPARED, find_compared),
)
