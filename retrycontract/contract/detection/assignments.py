"""Find secrets in text by what stands beside them: names with values, headers, URLs, command lines, blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import re2

from retrycontract.contract.detection.detectors import Span
from retrycontract.contract.detection.field_names import judge
from retrycontract.contract.detection.literals import Literal, is_secret_literal, read_list, read_literal, unquoted_end
from retrycontract.contract.detection.randomness import decode_base64

# Words of which a secret's name has at least one; a text without any of them is not looked at by name.
NAME_WORDS = (
    "pass|pwd|passwort|kennwort|contrase|senha|secret|token|key|auth|cred|jwt|bearer|session|sessid|cookie|otp|cvv|"
    "cvc|ssn|sig|dsn|conn|login|access_?id|accessid|mnemonic|art-api|client_srt|csrf|xsrf|pin|salt|sas|pw|пароль|密码"
)
_NAME = rf"[\w.$@-]*(?:{NAME_WORDS})[\w.$-]*(?:[ ](?:key|secret|token|phrase|string|code))?"
_SPACE = r"[ \t]{0,8}"
_CLOSERS = r"[\"'`\\\])}]{0,4}"
# `name: type =`, `name type =`, `=>`, `:=`, `?=`, `.=`, `=`, `:`, `,` (between two quoted strings), ` is `
_OPERATOR = rf"(?::{_SPACE}\w{{1,16}}{_SPACE}=|{_SPACE}\w{{1,12}}{_SPACE}=|=>|:{{1,3}}=|[?+.|]?={{1,3}}|!=|:|,|is )"
_ASSIGNMENT = re2.compile(rf"(?i)({_NAME})({_CLOSERS}{_SPACE})({_OPERATOR})")
_FLAG = re2.compile(rf"(?i)(?:^|[\s\"'`(\[,])--?({_NAME})([\"']?,?[ \t]+)")
_ELEMENT = re2.compile(rf"(?i)<({_NAME})(?:[ \t][^<>]{{0,200}})?>\s*([^<>\s][^<>]*?)\s*</")
_PAIR = re2.compile(
    rf"(?i)(?:name|key|id|field|property|header)[\"']?{_SPACE}[=:]{_SPACE}[\"']?({_NAME})[\"']?[\s,;/]{{1,40}}"
    rf"[\"']?[\w]{{0,12}}value[\"']?{_SPACE}[=:]{_SPACE}"
)
_SPOKEN = re2.compile(
    r"(?i)\b(password|passwd|passphrase|secret|identified by|private_key|(?:api|access|secret) ?key|token)"
    r"[ \t]{1,8}([\"'`])[^\s\"'`]"
)
_NETRC = re2.compile(r"(?i)\blogin\s+\S+\s+password\s+([^\s,;]+)")
_HEADER = re2.compile(
    r"(?i)authori[sz]ation[\"'\\]{0,3}\s{0,4}[:=,]\s{0,4}[\"'\\]{0,3}"
    r"((?:(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|oauth|key|flyv1|jwt)[ \t:]+)?)"
    r"([^\s\"'`<>(),;][^\s\"'`<>]*)"
)
_BEARER = re2.compile(r"(?i)\b(bearer|flyv1|token)[ \t]+([A-Za-z0-9][\w.~+/=-]{7,})")
_BASIC = re2.compile(r"(?i)\bbasic[ \t]+([A-Za-z0-9+/_-]{8,}={0,2})")
_COOKIE = re2.compile(r"(?i)\bcookie[\"'\\]{0,3}\s{0,4}[:,]\s{0,4}[\"'\\]{0,3}(\w[^=\s\"';]*=[^\n\r\"'`]+)")
_USERINFO = re2.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30})://([^\s/?#\"'`<>@:]*)(?::([^\s/?#\"'`<>]*))?@")
_LOOSE_USERINFO = re2.compile(
    r"((?:postgres|mysql|mariadb|mongodb|redis|amqp|mssql|sqlserver|oracle|clickhouse|kafka|nats|ldap|smtp)[a-z0-9+.-]{0,20})"
    r"://([^\s\"'`<>@:/]*):([^\s\"'`<>@]+)@"
)
_CURL_USER = re2.compile(r"(?:^|\s)(?:-u|--user|--proxy-user)(?:[ \t]+|=)([^\s]+)")
_SHORT_PASSWORD = re2.compile(
    r"\b(?:sshpass[ \t]+-p[ \t]*|(?:mysql(?:dump|admin)?|docker[ \t]+login)\b[^\n|;]{0,200}?[ \t]-p[ \t]*"
    r"|redis-cli\b[^\n|;]{0,200}?[ \t]-a[ \t]+|requirepass[ \t]+)([^\s-][^\s]*)"
)
_DATABASES = ("postgres", "mysql", "mariadb", "mongodb", "redis", "rediss", "amqp", "mssql", "sqlserver", "oracle",
              "clickhouse", "kafka", "nats", "ldap", "jdbc")  # fmt: skip

# A quoted word of this length right behind the name of a secret is taken for it.
LONG_WORD = 12
Finder = Callable[[str], Iterator[Span]]


def _assignments(text: str) -> Iterator[Span]:
    """Find `name = value`, `"name": "value"`, `?name=value`, `name: value` and their relatives."""
    taken = 0
    for match in _ASSIGNMENT.finditer(text):
        if match.start() < taken:
            continue
        name, operator = match.group(1), match.group(3)
        verdict = judge(name)
        if not verdict.mark and not verdict.weak:
            continue
        spaced = text[match.end() : match.end() + 1] in (" ", "\t") or match.group(2).endswith((" ", "\t"))
        if verdict.mark and text.startswith("[", match.end() + spaced):
            for item in read_list(text, match.end() + spaced + 1):
                taken = item.end
                yield Span(item.start, item.end, verdict.mark)
            continue
        literal = read_literal(text, match.end(), in_query=text[match.start() - 1 : match.start()] in ("?", "&", "#"))
        if literal is None or (operator == "," and not _between_quotes(match.group(2), literal, verdict.mark)):
            continue
        if operator.strip() == "is" and not (literal.telling and any(c.isdigit() for c in literal.text)):
            continue
        starts_line = _starts_line(text, match.start())
        if is_secret_literal(literal, verdict, name, operator=operator.strip(), spaced=spaced, starts_line=starts_line):
            taken = literal.end
            yield Span(literal.start, literal.end, verdict.mark or "API_KEY")


def _between_quotes(closers: str, literal: Literal, mark: str | None) -> bool:
    """Say whether a comma parts two quoted strings of which the second is no mere word of a list."""
    if not literal.quoted or closers.strip() not in ('"', "'", "`", '\\"'):
        return False
    return literal.is_noise or (mark == "PASSWORD" and literal.telling and not literal.text.isalpha())


def _starts_line(text: str, start: int) -> bool:
    """Say whether only white space, a list dash or a word such as `export` stands before on the line."""
    before = text[max(text.rfind("\n", max(start - 40, 0), start) + 1, start - 40) : start].strip(" \t\"'`-#*$")
    return before.casefold() in ("", "export", "set", "arg", "env", "const", "let", "var", "string", "declare -x")


def _flags(text: str) -> Iterator[Span]:
    """Find `--password value` and `-ClientSecret 'value'`."""
    for match in _FLAG.finditer(text):
        verdict = judge(match.group(1))
        literal = read_literal(text, match.end()) if verdict.mark or verdict.weak else None
        if literal is None or literal.text.startswith("-"):
            continue
        if is_secret_literal(literal, verdict, match.group(1), operator="--", spaced=False, starts_line=True):
            yield Span(literal.start, literal.end, verdict.mark or "API_KEY")


def _elements(text: str) -> Iterator[Span]:
    """Find `<apiToken>value</apiToken>`."""
    for match in _ELEMENT.finditer(text):
        verdict, literal = judge(match.group(1)), Literal.of(match, 2, quoted=True)
        if is_secret_literal(literal, verdict, match.group(1), operator="=", spaced=False, starts_line=True):
            yield Span.of(match, 2, verdict.mark or "API_KEY")


def _pairs(text: str) -> Iterator[Span]:
    """Find `name: API_TOKEN` followed by `value: …`, in YAML, JSON, XML attributes and Terraform."""
    for match in _PAIR.finditer(text):
        verdict = judge(match.group(1))
        literal = read_literal(text, match.end()) if verdict.mark or verdict.weak else None
        if literal and is_secret_literal(
            literal, verdict, match.group(1), operator="=", spaced=False, starts_line=True
        ):
            yield Span(literal.start, literal.end, verdict.mark or "API_KEY")


def _spoken(text: str) -> Iterator[Span]:
    """Find `password 'value'`, where only a quote follows the name."""
    for match in _SPOKEN.finditer(text):
        literal = read_literal(text, match.start(2))
        if literal and literal.quoted and (literal.telling or len(literal.text) >= LONG_WORD):
            yield Span(literal.start, literal.end, judge(match.group(1)).mark or "PASSWORD")


def _headers(text: str) -> Iterator[Span]:
    """Find credentials of Authorization and Cookie headers, and bearer tokens that stand alone."""
    for match in _HEADER.finditer(text):
        literal = Literal.of(match, 2, trailing=",;)}]\\")
        if literal.telling and not literal.is_placeholder:
            yield Span(literal.start, literal.end, "AUTHORIZATION")
    for match in _BEARER.finditer(text):
        literal = Literal.of(match, 2, trailing=".")
        certain = literal.is_noise if match.group(1).casefold() == "token" else literal.telling
        if certain and not literal.is_placeholder:
            yield Span(literal.start, literal.end, "BEARER_TOKEN")
    for match in _BASIC.finditer(text):
        if ":" in (decode_base64(match.group(1)) or ""):
            yield Span.of(match, 1, "AUTHORIZATION")
    for match in _COOKIE.finditer(text):
        yield Span.of(match, 1, "COOKIE")


def _userinfo(text: str) -> Iterator[Span]:
    """Find the password in `scheme://user:password@host`, and a token in the user's place."""
    for pattern in (_USERINFO, _LOOSE_USERINFO):
        for match in pattern.finditer(text):
            group = 3 if match.span(3) != (-1, -1) else 2
            literal = Literal.of(match, group, quoted=True)
            if not literal.text or literal.is_placeholder or (group == 2 and not literal.is_noise):
                continue
            database = match.group(1).casefold().startswith(_DATABASES)
            yield Span(literal.start, literal.end, "CONNECTION_STRING" if database else "PASSWORD")


def _command_lines(text: str) -> Iterator[Span]:
    """Find `curl -u user:password`, `sshpass -p value`, `mysql -pvalue` and netrc lines."""
    for match in _CURL_USER.finditer(text):
        start, end = match.span(1)
        if text[start] in "\"'":
            end = max(unquoted_end(text, start), end)
        user, colon, password = text[start:end].partition(":")
        secret = password.strip("\"'{} ")
        if (
            colon
            and secret
            and not Literal(secret, start, end, quoted=False).is_placeholder
            and "://" not in text[start:end]
        ):
            yield Span(start + len(user) + 1, end - (text[end - 1] in "\"'"), "PASSWORD")
    for pattern in (_SHORT_PASSWORD, _NETRC):
        for match in pattern.finditer(text):
            literal = read_literal(text, match.start(1))
            if literal and not literal.is_placeholder:
                yield Span(literal.start, literal.end, "PASSWORD")


FINDERS: tuple[Finder, ...] = (
    _assignments, _flags, _elements, _pairs, _spoken, _headers, _userinfo, _command_lines,
)  # fmt: skip
# What the finders look for first: a text that matches none of these has nothing for them.
HEADS = tuple(
    head.pattern
    for head in (_ASSIGNMENT, _FLAG, _ELEMENT, _PAIR, _SPOKEN, _HEADER, _BEARER, _BASIC, _COOKIE, _USERINFO,
                 _LOOSE_USERINFO, _CURL_USER, _SHORT_PASSWORD, _NETRC)
)  # fmt: skip


def find_by_context(text: str) -> Iterator[Span]:
    """Give the secrets that the text around them gives away."""
    for finder in FINDERS:
        yield from finder(text)
