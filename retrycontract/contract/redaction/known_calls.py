"""Find secrets that well-known functions of libraries take by place, and what is compared with one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Finder, Head, compiled, has_digit
from retrycontract.contract.redaction.field_names import SECRET_NAME, is_secret_name, judge
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret
from retrycontract.contract.redaction.values import read_literal

_QUOTE = r"(?:[@$bBrRuULNEe]?[\"'`])"
_STRING = r"(?:[bru]?\"[^\"\n]*\"|[bru]?'[^'\n]*')(?:\.\w+\(\))?"
# Behind a host and a user, behind a user or a network, behind what is signed; and as the first that is given.
_THIRD = (
    r"(?:mysqli_connect|mysqli|mysql_(?:real_)?connect|(?:\w+[.:])?connect|DBI->connect|getConnection|PDO|PlainAuth"
    r"|create_user|create_superuser|URL\.create|InfluxDBClient|FTP|odbc_connect|pg_auth|Minio|Sequelize|newInstance|database|imap_open)"
)
_SECOND = (
    r"(?:NetworkCredential|NetworkCredential\]::new|PSCredential|WiFi\.begin|HttpBasicAuth|BasicCredentials|Connection"
    r"|(?:simple_)?bind_s|PlainTextAuthProvider|username_pw_set|OAuthHandler|(?:cx_Oracle|oracledb)\.connect"
    r"|Credentials(?:\.basic|::new)|basic_auth|authorization_basic|ldap_bind|ssh2_auth_password|ftp_login"
    r"|X509Certificate2|PasswordSignIn(?:Async)?|algoliasearch|openssl_(?:en|de)crypt|aes_(?:en|de)crypt|authenticate"
    r"|sp_addlogin)"
)
_LOGIN = (
    r"(?:(?:log|sign)_?(?:in|on|up)(?:_?(?:as|with\w*|user|async|request|dto|form))?|(?:auth|user)\w*\.register|httpBasic"
    r"|auth\(\)\.(?:preemptive\(\)\.)?basic|UsernamePassword\w*|SMTP)"
)
_SIGNING = (
    rf"jwt\.(?:sign|encode|verify|decode)(?:\(|[ \t])[^()\n]*?[\w}})]\s*,\s*"
    rf"|(?:createHmac|pbkdf2_hmac)\(\s*{_STRING}\s*,\s*"
    rf"|\bCryptoJS\.(?:\w+\.(?:en|de)crypt|Hmac\w+)\([^,()\n]+,\s*"
    rf"|hash_hmac\(\s*{_STRING}\s*,[^,()\n]+,\s*|pgp_sym_(?:en|de)crypt\([^,()\n]+,\s*|(?:CreateAsync)\([^,()\n]+,\s*"
    rf"|\b(?:Client|twilio)\(\s*[\"']AC[0-9a-f]{{32}}[\"']\s*,\s*|\bcredentials\((?:\s*{_STRING}\s*,){{3}}\s*"
    rf"|\b(?:remote(?:Secure)?|postgresql|mysql|mongodb)\((?:\s*{_STRING}\s*,){{3,4}}\s*|\bs3\((?:\s*{_STRING}\s*,){{2}}\s*"
    rf"|\b(?:Strict)?Redis\(\s*{_STRING}(?:\s*,\s*[0-9]+){{2}}\s*,\s*|\bextractall\([^()\n]*,\s*"
    rf"|\.open\((?:\s*{_STRING}\s*,){{2}}\s*\w+\s*,\s*{_STRING}\s*,\s*"
    rf"|\bbind\(\s*[\"'](?:cn|uid|dc|ou)=[^\"'\n]*[\"']\s*,\s*|create(?:De)?cipher(?:iv)?\(\s*{_STRING}\s*,\s*"
    rf"|\bConnection\(\s*\w+\([^()\n]*\)\s*,\s*{_STRING}\s*,\s*"
    r"|\bsignWith\((?:[\w.]+\s*,\s*)?"
)
_FIRST = (
    r"(?:hmac\.new(?:\([\w.]+,\s*\[\]byte)?|SignedString\(\[\]byte|NewCookieStore\(\[\]byte|cookieParser|HMAC(?:256|384|512)"
    r"|EncodingKey::from_secret|b?crypt|hashlib\.(?:md5|sha[0-9_]+|blake2[bs])|get_password_hash|hash_password|(?:password_?)?encoder\.encode"
    r"|bcrypt\.hash(?:pw|Sync)?|generate_password_hash|make_password|password_hash|scrypt(?:\.hash|Sync)"
    r"|pbkdf2(?:Sync)?|PBEKeySpec|SecretKeySpec|(?:jedis|redis|red|conn)[.:]auth|Hash::make"
    r"|(?:GenerateFromPassword|SymmetricSecurityKey)\([\w\[\].]{0,30}|(?:un)?protect)"
)
# What is given to a cipher or to what hashes passwords, and opens a document.
_KEYED = (
    r"(?:(?:AES|DES3?|ARC[24]|Blowfish|CAST|Salsa20|ChaCha20\w*)\.new|Fernet|AESGCM|SecretBox|hmacShaKeyFor|h?kdf\.derive"
    r"|(?:[bs]crypt|argon2|pbkdf2)PasswordEncoder(?:\(\w*\))?\.(?:encode|matches)|(?:bcrypt\w*|argon2)\.\w+"
    r"|hashSync|compareSync|checkpw|password_verify|redis_?client\.auth|unsafePlainText"
    r"|(?:pdf(?:_?(?:reader|writer))?|reader|doc|document|writer)\.(?:de|en)crypt)"
)
_TAKEN = (
    Head(rf"(?i)\b{_THIRD}\(\s*(?:[\w&*.$]+\s*,\s*)?{_STRING}\s*,\s*(?:[0-9]+\s*,\s*)?{_STRING}\s*,\s*({_QUOTE})"),
    Head(
        rf"(?i)\b{_SECOND}(?:\(\s*|[ \t]+)(?:[\w&*.$>-]+\s*,\s*)?{_STRING}\s*,\s*(?:Some\()?({_QUOTE})"
        rf"|\b{_THIRD}\(\s*[\w&*.$>-]+\s*,\s*{_STRING}\s*,\s*({_QUOTE})"
        rf"|\b(?-i:connect)\(\s*{_STRING}\s*,\s*({_QUOTE})[^\"'\n]+[\"']\s*,\s*[\"']\w+://"
    ),
    Head(rf"(?i)\b(?:{_SIGNING})({_QUOTE})"),
    Head(rf"(?i)\b{_FIRST}(?:\(\s*|[ \t]+)({_QUOTE})|({_QUOTE})[^\"'`\n]{{6,80}}[\"']\.toCharArray\(\)"),
    Head(rf"(?i)\b{_KEYED}\(\s*({_QUOTE})"),
    Head(rf"(?i)\b{_LOGIN}\(\s*(?:[\w.]+\s*,\s*)?{_STRING}\s*,\s*({_QUOTE})"),
    Head(
        rf"(?i)\b(?:authenticate\(({_QUOTE})[^\"'`\n]+[\"']\)"
        rf"|(?:verify|check\w*)\(\s*({_QUOTE})[^\"'`\n]+[\"']\s*,\s*[&\w.$]*(?:hash|digest)\b)"
    ),
    Head(
        r"(?i)\b(?:btoa|b64encode|(?:strict_|urlsafe_)?encode64|encode_base64|base64_?encode)\(\s*b?([\"'])[^\"':\n]{1,60}:[^\"'\n]"
    ),
)
_COMPARED = Head(
    rf"(?i)([\"'])[^\"'`\n]+[\"'](?:[ \t]*[=!]==?[ \t]*|\.eq\w*\??\(|\)\.when\([\w.]+\)\.)(?:[\w$]+\.)*({SECRET_NAME})"
)
SHORTEST = 6
_APP_PASSWORD = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}")  # as Google gives them out
_PASSWORDS = frozenset({"PASSWORD", "SECRET"})


def find_taken(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `mysqli_connect("host", "ana", "…")`, `jwt.sign(claims, "…")` and `hmac.new(b"…")`."""
    for find in head.telling(text, allowance):
        start = max(find.span(group)[0] for group in range(1, compiled(head.pattern).groups + 1))
        literal = read_literal(text, start)
        if literal and head is _TAKEN[-1]:  # `user:…`
            user = len(literal.text.partition(":")[0]) + 1
            literal = Literal(literal.text[user:], literal.start + user, literal.end, quoted=True)
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
    if _APP_PASSWORD.fullmatch(literal.text):
        return True
    return literal.telling and has_digit(literal.text) and is_quoted_secret(literal, "PASSWORD")


FINDERS = (
    *(Finder.of(head, partial(find_taken, head)) for head in _TAKEN),
    Finder.of(_COMPARED, find_compared),
)
