"""Find secrets by what surrounds them, or by their place alone: headers, URLs, lines that hold a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Find, Finder, Head, has_digit
from retrycontract.contract.redaction.field_names import KINDS, word_set
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.randomness import decode_base64, looks_random

_HEADER = Head(
    r"(?i)authori[sz]ation[\"'\\]{0,3}\s{0,4}[:=,]\s{0,4}[\"'\\]{0,3}"
    r"((?:(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|oauth|key|flyv1|jwt|splunk|geniekey|sso-key"
    r"|bot|pat|ghost)[ \t:]+)?)"
    r"([^\s\"'`<>(),;][^\s\"'`<>]*)"
)
_CALLED = re.compile(
    r"[A-Za-z_]\w*(?:\.\w+|\[\w*\])*(?:\(|\[\Z)|[A-Za-z_$]{1,40}(?:\.[A-Za-z_$]{1,40})+[,;)\s]*\Z|(?:[\w.]+\.)?[A-Z][A-Za-z]+\["
)
# A pass phrase as the token; of documentation it names one: `Bearer your-access-token`.
_PHRASE = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,7}")
_SAID_OF_TOKENS = word_set(
    "token tokens key keys secret jwt api your the some access auth bearer example sample test here user my valid "
    "invalid expired fake dummy string value credentials base64 encoded and"
)
_HEADER_NAME = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+[0-9]{0,3})+")  # the next one of a list
_BEARER = Head(r"(?i)\b(bearer|flyv1|token)[ \t]+([A-Za-z0-9][\w.~+/=-]{7,})")
_BASIC = Head(r"(?i)\bbasic[ \t]+([A-Za-z0-9+/_-]{8,}={0,2})")
_COOKIE = Head(
    r"(?i)\bcookie(?:[\"'\\]{0,3}\s{0,4}:|[\"'\\]{1,3}\s{0,4},\s{0,4}[\"'])[\s\"'\\]{0,4}(\w[^=\s\"';]*=[^\n\r\"'`]+)"
)
# A line of a cookie jar.
_JAR = Head(r"(?m)^(?:#HttpOnly_)?[\w.-]+\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t[0-9]+\t[^\t\n]+\t([^\s]{8,})")
_USERINFO = Head(r"([A-Za-z][A-Za-z0-9+.-]{0,30})://([^\s/?#\"'`<>@:]*)(?::([^\s/?#\"'`<>]*))?@")
_LOOSE_USERINFO = Head(
    r"((?:postgres|mysql|mariadb|mongodb|redis|amqp|mssql|sqlserver|oracle|clickhouse|kafka|nats|ldap|smtp)[a-z0-9+.-]{0,20})"
    r"://([^\s\"'`<>@:/]*):([^\s\"'`<>@]+)@"
)
_DATABASES = ("postgres", "mysql", "mariadb", "mongodb", "redis", "rediss", "amqp", "mssql", "sqlserver", "oracle",
              "clickhouse", "kafka", "nats", "ldap", "jdbc")  # fmt: skip

# Oracle's own form of an address, `user/password@host`.
_ORACLE = Head(
    r"(?i)(?:\bjdbc:oracle:(?:thin|oci8?):|\b(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n|;]*?[ \t=]"
    r"|(?:^|\n|\r|SQL>|[\"'(`;])[ \t]*conn(?:ect)?[ \t]+)[\"']?[\w$#.]+/([^\s@/\"'<>|;,][^\s@/\"'<>|;,]+)"
)
# Two of its commands are words of mathematics, too: `exp(2j*pi*f1/fs)`.
_ORACLE_DUMP = Head(
    r"(?i)\b(?:exp|imp)[ \t]+(?:userid=)?[\"']?[a-z][\w$#.]*/([^\s@/\"'<>|;,()]{2,})(?:@|[\"']?[ \t]+[a-z_]+=)"
)
_PGPASS = Head(
    r"(?m)(?:^|[\"'\s>])(?:[\w.*-]+|\[[0-9a-fA-F:]+\]):(?:\d{4,5}|\*):[\w.*$-]+:[\w.*$@-]+"
    r":([^\s:\"'<>\\/]{3,})[ \t]*(?:$|[\"'<\r\\,])"
)
_NET_USE = Head(
    r"(?i)\bnet[ \t]+(?:use[ \t]+[^\n]*?(?:\n\S+[ \t]+)?/u(?:ser)?:[^\s]+[ \t]+([^\s/][^\s]*)"
    # A share whose name begins with `n` reads as if a line ended there.
    r"|use[ \t]+(?:[a-z*]:?[ \t]+)?(?:\\\\|\n[^\s\\]+\\)[^\s]+[ \t]+([^\s/*][^\s]*)"
    r"|user[ \t]+[\w.\\-]+[ \t]+([^\s/*][^\s]*))"
)
_SECURE_STRING = Head(
    r"(?i)\bConvertTo-SecureString(?:[ \t]+-(?:String|AsPlainText|Force))*[ \t]+[\"']([^\"'\r\n$][^\"'\r\n]*)"
    r"|\bConvertTo-SecureString(?:[ \t]+-(?:AsPlainText|Force))*[ \t]+-String[ \t]+([^\s\"'$(-][^\s\"']*)"
    r"|\bConvertTo-SecureString[ \t]+([^\s\"'$(-][^\s\"']*)[ \t]+-AsPlainText\b"
)
_INTO_SECURE_STRING = Head(r"(?i)[\"']([^\"'\r\n$][^\"'\r\n]*)[\"'][ \t]*\|[ \t]*ConvertTo-SecureString\b")
_WIFI = Head(
    r"(?i)\bWIFI:(?:[ST]:[^;\n]*;|H:[^;\n]*;)*P:([^;\n]+)|\bwpa_passphrase[ \t]+(?:\"[^\"\n]+\"|[^\s]+)[ \t]+([^\s]+)"
    r"|\bwpa-psk[ \t]+([^\s]+)"
)
_GO_ADDRESS = Head(r"[\w.-]+:([^\s@/\"'`:(]+)@(?:tcp|unix)\(")
_WINDOWS_HASH = Head(r"[\w.$-]+:[0-9]+:[0-9a-f]{32}:([0-9a-f]{32}):::")
POSITIONAL = (
    _GO_ADDRESS,
    _WINDOWS_HASH,
    _ORACLE,
    _ORACLE_DUMP,
    _PGPASS,
    _NET_USE,
    _SECURE_STRING,
    _INTO_SECURE_STRING,
    _WIFI,
)

# As documentation has it behind `user:`, brackets around it or not.
_DOCUMENTED = KINDS | {"pass", "passwd", "pwd"}
_HOST, _PORT = re.compile(r"(?i)(?:local)?host|[\w-]+(?:\.[\w-]+)+"), re.compile(r"[0-9]{2,5}")
# Letters alone are a credential behind a scheme such as `Bearer` if so many of them make no word.
LEAST_RANDOM = 12


def find_authorizations(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find credentials of Authorization headers."""
    for find in _HEADER.telling(text, allowance):
        literal = _group(find, 2, trailing=",;)}]\\")
        certain = literal.telling or (find[1] and looks_random(literal.text, at_least=LEAST_RANDOM))
        if find[1] and not certain and (words := _PHRASE.fullmatch(literal.text)):
            certain = not any(map(_SAID_OF_TOKENS.__contains__, words[0].split("-")))
        is_listed = not find[1] and "," in text[find.span(0)[0] : literal.start]
        if is_listed and not has_digit(literal.text) and text[literal.start - 1] not in "\"'":
            continue  # `To see an authorization, run: …`
        if literal.text == "realm=":  # which says where the credentials are for, in quotes
            continue
        if not find[1] and (_CALLED.match(literal.text) or literal.text.endswith(":")):
            continue  # `authorization = request.headers.get(…)`, and a key on the line below
        before = text[find.span(0)[0] : literal.start].rstrip(" \t\r\n\"'\\")
        is_header = before[-1:] == "," and _HEADER_NAME.fullmatch(literal.text)
        if certain and not is_header and not literal.is_placeholder:
            yield SecretSpan(literal.start, literal.end, "AUTHORIZATION")


def find_bearer_tokens(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find bearer tokens that stand alone."""
    for find in _BEARER.telling(text, allowance):
        literal = _group(find, 2, trailing=".")
        # `token` stands before ordinary words as well, so what follows it has to look random.
        certain = literal.is_noise if find[1].casefold() == "token" else literal.telling
        if certain and not literal.is_placeholder:
            yield SecretSpan(literal.start, literal.end, "BEARER_TOKEN")


def find_basic_credentials(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the base64 of `user:password` behind `Basic`."""
    for find in _BASIC.telling(text, allowance):
        # `basic` is an ordinary word, too: only what decodes to a pair is a credential.
        if ":" in (decode_base64(find[1]) or ""):
            yield SecretSpan(*find.span(1), "AUTHORIZATION")


def find_cookies(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the pairs of Cookie and Set-Cookie headers, and the values of a cookie jar."""
    for find in head.telling(text, allowance):
        yield SecretSpan(*find.span(1), "COOKIE")


def _group(find: Find, group: int, *, trailing: str = "", quoted: bool = False) -> Literal:
    """Take a group as a literal, without any of the trailing characters."""
    text, start = find[group].rstrip(trailing) if trailing else find[group], find.span(group)[0]
    return Literal(text, start, start + len(text), quoted=quoted)


def find_userinfo(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the password in `scheme://user:password@host`, and a token in the user's place."""
    yield from _userinfo(_USERINFO, text, allowance)


def find_loose_userinfo(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find passwords with slashes and the like in the URLs of databases."""
    yield from _userinfo(_LOOSE_USERINFO, text, allowance)


def _userinfo(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    for find in head.telling(text, allowance):
        group = 3 if find.span(3) != (-1, -1) else 2
        literal = _group(find, group, quoted=True)
        if not literal.text or literal.is_placeholder or (group == 2 and not literal.is_noise):
            continue
        user, word = (part.strip("[]").casefold() for part in (find[2], literal.text))
        if user in ("user", "username") and word in _DOCUMENTED:
            continue
        if (
            group == 3 and _HOST.fullmatch(find[2]) and _PORT.fullmatch(literal.text)
        ):  # `host:8080@x` was meant otherwise
            continue
        database = find[1].casefold().startswith(_DATABASES)
        yield SecretSpan(literal.start, literal.end, "CONNECTION_STRING" if database else "PASSWORD")


def find_positional_passwords(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find passwords that only their place tells: `scott/value@`, lines of `.pgpass`, `net use`, codes for Wi-Fi."""
    for find in head.telling(text, allowance):
        start, end = next(find.span(group) for group in (1, 2, 3) if find.span(group) != (-1, -1))
        literal = Literal(text[start:end].rstrip("\"'"), start, end, quoted=False)
        if not literal.is_placeholder and not literal.is_word_of_code:
            yield SecretSpan(start, start + len(literal.text), "PASSWORD")


FINDERS = (
    Finder.of(_HEADER, find_authorizations),
    Finder.of(_BEARER, find_bearer_tokens),
    Finder.of(_BASIC, find_basic_credentials),
    *(Finder.of(head, partial(find_cookies, head)) for head in (_COOKIE, _JAR)),
    Finder.of(_USERINFO, find_userinfo),
    Finder.of(_LOOSE_USERINFO, find_loose_userinfo),
)
