"""Find passwords in command lines, where the command says what a short flag means."""

from __future__ import annotations

from collections.abc import Iterator

from retrycontract.contract.redaction.detectors import SecretSpan
from retrycontract.contract.redaction.heads import Allowance, Head
from retrycontract.contract.redaction.literals import Literal, read_literal, unquoted_end
from retrycontract.contract.redaction.sieve import Finder, loosened

_BETWEEN = r"\b[^\n|;]*?[ \t]"
# Commands, and the flag behind which each takes a password, with a blank or without.
_FLAGS = {
    "sshpass": "-p", "mysql(?:dump|admin|import|sh)?": "-p", "mariadb(?:-dump)?": "-p",
    "(?:docker|podman|helm|oc|az|skopeo|buildah)[ \\t][^\\n|;]*?login": "-p",
    "mongo(?:sh|dump|restore|export|import)?": "-p",
    "7z[ar]?": "-p", "cqlsh": "-p", "redis-cli": "-a", "ldap(?:search|modify|add|delete|whoami|passwd)": "-w",
    "(?:un)?zip": "-P", "(?:sqlcmd|bcp|isql|tsql)": "-P", "openssl[ \\t]+(?:enc|aes-?[\\w-]+)": "-k",
    "ssh-keygen": "-N",
    "htpasswd[ \\t]+-\\w*b\\w*[ \\t]+\\S+": "\\S+[ \\t]+", "smbclient": "-U[ \\t]*[^\\s%]+%", "xfreerdp": "/p:",
}  # fmt: skip
_HEADINGS = "|".join(rf"{command}{_BETWEEN}{flag}[ \t]*" for command, flag in _FLAGS.items())
_PASSWORD = Head(rf"\b(?:{_HEADINGS})([^\s-][^\s]*)")
_NETRC = Head(r"(?i)\blogin\s+\S+\s+password\s+([^\s,;]+)")
_REQUIRED = Head(
    r"(?i)\b(?:(?:requirepass|masterauth|identified\s+by(?:\s+values)?)[ \t]+|(?-i:PASSWORD)\()([^\s-][^\s;]*)"
)
_PIPED = Head(
    r"\becho[ \t]+(?:-[neE]+[ \t]+)?[\"']?([^\s\"'|]+)[\"']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)*(?:-S|--stdin)"
    r"|(?:sudo[ \t]+)?(?:chpasswd|passwd[ \t]+--stdin|cryptsetup|kinit)"
    r"|(?:docker|podman|helm)[ \t][^\n|;]*?--password-stdin)"
)
# Oracle's own form of an address, `user/password@host`.
_ORACLE = Head(
    r"(?i)(?:\bjdbc:oracle:(?:thin|oci8?):|\b(?:sqlplus|sqlldr|expdp|impdp|exp|imp|rman)\b[^\n|;]*?[ \t=]"
    r"|\bconn(?:ect)?[ \t]+)[\"']?[\w$#.]+/([^\s@/\"'<>|;,][^\s@/\"'<>|;,]+)"
)
_PGPASS = Head(
    r"(?m)(?:^|[\"'\s>])(?:[\w.*-]+|\[[0-9a-fA-F:]+\]):(?:\d{4,5}|\*):[\w.*$-]+:[\w.*$@-]+"
    r":([^\s:\"'<>\\/]{3,})[ \t]*(?:$|[\"'<\r\\,])"
)
_NET_USE = Head(
    r"(?i)\bnet[ \t]+(?:use[ \t]+[^\n]*?/u(?:ser)?:[^\s]+[ \t]+([^\s/][^\s]*)"
    r"|use[ \t]+(?:[a-z*]:?[ \t]+)?\\\\[^\s]+[ \t]+([^\s/*][^\s]*)|user[ \t]+[\w.\\-]+[ \t]+([^\s/*][^\s]*))"
)
_SECURE_STRING = Head(
    r"(?i)\bConvertTo-SecureString(?:[ \t]+-(?:String|AsPlainText|Force))*[ \t]+[\"']([^\"'\r\n$][^\"'\r\n]*)"
)
_INTO_SECURE_STRING = Head(r"(?i)[\"']([^\"'\r\n$][^\"'\r\n]*)[\"'][ \t]*\|[ \t]*ConvertTo-SecureString\b")
_WIFI = Head(
    r"(?i)\bWIFI:(?:[ST]:[^;\n]*;|H:[^;\n]*;)*P:([^;\n]+)|\bwpa_passphrase[ \t]+(?:\"[^\"\n]+\"|[^\s]+)[ \t]+([^\s]+)"
    r"|\bwpa-psk[ \t]+([^\s]+)"
)
_POSITIONAL = (_ORACLE, _PGPASS, _NET_USE, _SECURE_STRING, _INTO_SECURE_STRING, _WIFI)
_USER = Head(r"(?:^|\s)(?:-u|--user|--proxy-user)(?:[ \t]+|=)([^\s]+)")
_JOINED_USER = Head(r"\bcurl\b[^\n|;]*?[ \t]-u([^\s:=-][^\s:]*:[^\s]+)")
_COOKIE = Head(r"\bcurl\b[^\n|;]*?[ \t](?:-b|--cookie)[ \t=]*[\"']?(\w[^=\s\"']*=[^\n\"']+)")


def find_passwords(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `sshpass -p value`, `mysql -pvalue`, netrc lines and their relatives."""
    for head in (_PASSWORD, _NETRC, _REQUIRED):
        for find in head.telling(text, allowance):
            literal = read_literal(text, find.span(1)[0])
            if literal and not literal.is_placeholder and not literal.is_word_of_code:
                yield SecretSpan(literal.start, literal.end, "PASSWORD")


def find_piped_passwords(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `echo value | sudo -S`."""
    for find in _PIPED.telling(text, allowance):
        if not Literal(find[1], *find.span(1), quoted=False).is_placeholder:
            yield SecretSpan(*find.span(1), "PASSWORD")


def find_positional_passwords(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find passwords that only their place tells: `scott/value@`, lines of `.pgpass`, `net use`, codes for Wi-Fi."""
    for head in _POSITIONAL:
        for find in head.telling(text, allowance):
            start, end = next(find.span(group) for group in (1, 2, 3) if find.span(group) != (-1, -1))
            literal = Literal(text[start:end].rstrip("\"'"), start, end, quoted=False)
            if not literal.is_placeholder and not literal.is_word_of_code:
                yield SecretSpan(start, start + len(literal.text), "PASSWORD")


def find_users(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `curl -u user:password`."""
    for head in (_USER, _JOINED_USER):
        for find in head.telling(text, allowance):
            yield from _user_and_password(text, *find.span(1))


def _user_and_password(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    if text[start] in "\"'":
        end = max(unquoted_end(text, start), end)
    user, colon, password = text[start:end].partition(":")
    secret = password.strip("\"'{} ")
    if not colon or not secret or "://" in text[start:end]:
        return
    if not Literal(secret, start, end, quoted=False).is_placeholder:
        yield SecretSpan(start + len(user) + 1, end - (text[end - 1] in "\"'"), "PASSWORD")


def find_cookies(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `curl -b name=value`."""
    for find in _COOKIE.telling(text, allowance):
        yield SecretSpan(*find.span(1), "COOKIE")


FINDERS = (
    Finder(loosened(f"{_PASSWORD.pattern}|{_NETRC.pattern}|{_REQUIRED.pattern}"), find_passwords),
    Finder.of(_PIPED, find_piped_passwords),
    Finder(loosened("|".join(head.pattern for head in _POSITIONAL)), find_positional_passwords),
    Finder(loosened(f"{_USER.pattern}|{_JOINED_USER.pattern}"), find_users),
    Finder.of(_COOKIE, find_cookies),
)
