"""Find secrets by where services keep and print them: files of accounts, consoles of devices, dialogues, tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import ARTICLES, METHOD
from retrycontract.contract.redaction.detectors import Finder, Head, compiled, has_digit
from retrycontract.contract.redaction.field_names import NAME_WORDS
from retrycontract.contract.redaction.likeness import ENDS, LONGEST_SAID, SHORTEST_MIXED, is_plainly_secret
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.scan_copies import FOREIGN

_WORD, _QUOTED = r"[^\s\"'`;<>]+", r"\"[^\"\n]+\"|'[^'\n]+'"
_VALUE = rf"({_QUOTED}|{_WORD})"
_NAME = rf"\b(?:{NAME_WORDS})[\w-]*"
_END = r"[ \t\r]*$"
# What says of a device's key how it is written, and for whom.
_WRITTEN = (
    r"(?:[ \t]+(?:local|remote|ascii(?:-text)?|hex\w*|plaintext|clear|cipher|simple|irreversible-cipher|encrypted|md5"
    r"|sha[\w-]*|[0-9]{1,3}|address[ \t]+\S+(?:[ \t]+key)?))"
)
_ADDRESS = r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+"


def _any(*forms: str, flags: str = "") -> Head:
    return Head(flags + "|".join(forms))


# Nothing else stands at these places.
_SURE = (
    _any(
        rf"\b(?:key-string|pre-shared-key|authentication-key|set-key|psksecret){_WRITTEN}*[ \t]+{_VALUE}",
        rf"\bpassword[ \t]+(?:irreversible-cipher|cipher|simple|plaintext)[ \t]+{_VALUE}|\bplaintext[ \t]+({_QUOTED})",
        rf"^[ \t]*username[ \t]+\S+[ \t](?:[^\n]*[ \t])?secret[ \t]+(?:[0-9]|sha512)[ \t]+{_VALUE}",
        flags="(?im)",
    ),
    _any(
        rf"\bsnmp-server[ \t]+user[ \t][^\n]*?\bauth[ \t]+(?:md5|sha\S*)[ \t]+{_VALUE}"
        rf"(?:[ \t]+priv[ \t]+\S+(?:[ \t]+[0-9]+)?[ \t]+{_VALUE})?",
        rf"\bcreateUser[ \t]+\S+[ \t]+(?:MD5|SHA\S*)[ \t]+{_VALUE}(?:[ \t]+(?:DES|AES)\S*[ \t]+{_VALUE})?",
        rf"\br[ow]community6?[ \t]+{_VALUE}",
        rf"\bsnmp-server[ \t]+host[ \t]+\S+[ \t]+(?:(?:traps|informs)[ \t]+)?version[ \t]+(?:1|2c)[ \t]+{_VALUE}",
        rf"\bneighbor[ \t]+\S+[ \t]+password[ \t]+(?:[0-7][ \t]+)?{_VALUE}",
        flags="(?i)",
    ),
    _any(
        rf"\bstats[ \t]+auth[ \t]+[^\s:]+:({_WORD})",
        rf"\bsentinel[ \t]+auth-pass[ \t]+\S+[ \t]+{_VALUE}",
        rf"(?i:\bnickserv[ \t:]+identify)[ \t]+{_VALUE}",
        rf"^/?OPER[ \t]+\S+[ \t]+{_VALUE}",
        rf"\bPASS[ \t]+oauth:({_WORD})",
        r":(?:pserver|gserver|ext):[^\s:@]+:([^\s:@]+)@",
        rf"^(?:socks[45]|http)[ \t]+\S+[ \t]+[0-9]+[ \t]+\S+[ \t]+({_WORD})",
        flags="(?m)",
    ),
    _any(
        r"\{(?:PLAIN|CLEAR|CLEARTEXT)\}([^\s:\"'<>]+)",
        rf"^(?:[CS]:[ \t]*)?[A-Za-z]{{0,2}}[0-9]{{1,5}}[ \t]+LOGIN[ \t]+(?:\"[^\"\n]+\"|\S+)[ \t]+{_VALUE}",
        r"(?i:\b\w*passw\w*::[ \t]+)([A-Za-z0-9+/]{4,}={0,2})",
        r"\b334[ \t]+UGFzc3dvcmQ6\s+(?:[CS]:[ \t]*)?([A-Za-z0-9+/]+={0,2})",
        rf"^[^\n:\"]{{0,40}}:[ \t]*(?:XAUTH|EAP|PSK)[ \t]+({_QUOTED})",
        flags="(?m)",
    ),
    _any(
        rf"\bsuccessfully reset\.?\s+New value:[ \t]*{_VALUE}",
        rf"(?:\[sudo\][^\n:]{{1,60}}|(?i:\bgenerated[ \t]+(?:\w+[ \t]+)?password)):[ \t]+({_WORD}){_END}",
        rf"^PASSWORD[ \t]+\w+[ \t]+=[ \t]+{_VALUE}",
        r"\bKey Content[ \t]*:[ \t]*(\S[^\n\r]*)",
        rf"\bUnseal Key [0-9]+:[ \t]*{_VALUE}",
        rf"\b(?:private-key|preshared-key|psk|passw\w*)[ \t]+<\(echo[ \t]+(?:-n[ \t]+)?({_WORD})\)",
        r"\bwg[ \t]+gen(?:key|psk)\s+([A-Za-z0-9+/]{43}=)",
        r"\b((?:[0-9]{6}-){7}[0-9]{6})\b",
        r"\b((?:[A-Z0-9]{5}-){4}[A-Z0-9]{5})\b",
        flags="(?m)",
    ),
    _any(
        r"\b(?:[Dd]igest[ \t][^\n]*?\bresponse=\"?)([0-9a-f]{32,64})",
        r"(?i:\b(?:network|aes|private|secret|wallet)_?key[\"']?[ \t]*[:=][ \t]*\[)"
        r"((?:\s*[0-9]{1,3},){7,63}\s*[0-9]{1,3})",
        r"(?i:\baccounts[\"']?[ \t]*[:=][ \t]*\[\s*|from_?key\(\s*|\bwallet\(\s*)[\"'](0x[0-9a-fA-F]{64})",
        rf"({_QUOTED})[ \t]*\|[ \t]*password_hash\b",
    ),
    _any(
        rf"\bconnect[ \t]+to[ \t]+\S+[ \t]+user[ \t]+\S+[ \t]+using[ \t]+({_WORD})",
        rf"\.logon[ \t]+[^\s,]+,({_WORD})",
        rf"\b(?:attach|pragma)\b[^\n;]*?[ \t]key[ \t]*=?[ \t]*({_QUOTED})",
        r"\bopenrowset\([^;\n]*;'[^'\n]*';('[^'\n]+')",
        rf"\bmove[ \t]+({_QUOTED})[ \t]+to[ \t]+[\w-]*?{_NAME}",
        rf"getpass\w*\.return_value[ \t]*=[ \t]*({_QUOTED})",
        flags="(?i)",
    ),
)
# A word of English may stand at these.
_LIKELY = (
    _any(
        rf"^(?:\[?[\w.*-]+\]?(?::[0-9]+)?(?:[ \t]+|:))?[\w.+-]+@[\w.-]+:({_WORD}){_END}",
        rf"^[ \t]*user[ \t]*=[ \t]*\"?[^\s:\"]+:({_WORD})|^user[ \t]+\S+[ \t]+({_WORD}){_END}",
        rf"rsyncd\.secrets[^\n]*\n[\w.-]+:({_WORD})|\$USER[0-9]+\$=({_WORD})",
        rf"psk\.txt[^\n]*\n{_ADDRESS}[ \t]+({_WORD})|^[ \t]*password[ \t]+\w+[ \t]+({_WORD}){_END}",
        rf"^[ \t]*\w*(?:[Pp]assword|[Pp]asswd)[ \t]+{_VALUE}{_END}|^[ \t]*Pass[ \t]+({_QUOTED})",
        rf"\blogin=[^\s:]+:({_WORD})|[ \t]-auth[ \t]+[\"']?[\w.-]+:({_WORD})|wifi-iface\[[0-9]+\]\.key={_VALUE}",
        flags="(?m)",
    ),
    _any(
        rf"^[\"\w.@*-]+[ \t]+(?:\*|\"[^\"\n]+\"|[a-z0-9]{{0,4}}tpd?|ppp\w*)[ \t]+\"?({_WORD})\"?[ \t]+"
        rf"(?:\*|{_ADDRESS}){_END}",
        rf"^[ \t]*\"[\w.@-]+\"[ \t]+(\"[^\"\n]+\"){_END}|^[ \t]*user_[\w.-]+[ \t]*=[ \t]*(\"[^\"\n]+\")",
        rf"^[\w.-]+[._-](?:secret\.key|password|secret|token)[ \t]+({_WORD}){_END}",
        rf"\boption[ \t]+(?:key|password)[ \t]+({_QUOTED})|^[ \t]+key[ \t]+(?:[0-7][ \t]+)?({_WORD}){_END}",
        flags="(?m)",
    ),
    _any(
        rf"(?:\becho[ \t]+[\"']?\$\{{?|\bprintenv[ \t]+)\w*(?:pass|pw|secret|token|key|auth|cred)\w*"
        rf"\}}?[\"']?[ \t]*\r?\n[ \t]*({_WORD})[ \t]*\r?(?:\n|\z)",
        rf"\bauth-user-pass\b[^\n]*\n\S+\n({_WORD})",
        r">[ \t]*\S*(?:auth|pass|cred|secret|login)\S*[ \t]*<<-?[ \t]*['\"]?\w+['\"]?[ \t]*\n"
        rf"(?:\S+\n)?({_WORD})\n[A-Z]+\b",
        rf"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+|[\"']%s(?:\\n)?[\"'][ \t]+)?{_VALUE}[ \t]*>{{1,2}}"
        r"[ \t]*[\"']?[\w./~$-]*(?:pass|\bpw|secret|token|cred|\.key|\.psk)",
        rf"\bsudo\b[^\n]{{0,60}}?-S\b[^\n]{{0,80}}?\binput[\"']?[ \t]*[=:][ \t]*b?({_QUOTED})",
        rf"\bopenssl[ \t]+passwd[ \t]+-\w+[ \t]+({_WORD})\)",
        flags="(?i)",
    ),
    _any(
        rf"\b(?:input|fill|type)[ \t](?:password|text|secret)[ \t]{{2,}}\S*(?:pass|pwd|secret|token)\S*"
        rf"[ \t]{{2,}}({_WORD})",
        r"\.(?:type|fill|paste|input|change|change_?text|enter_?text)\([^;\n]{0,80}?(?:passw|passc|passphr|pwd|secret|otp)"
        r"[^;\n,]{0,16},[ \t]*(?:\{[ \t]*target:[ \t]*\{[ \t]*value:[ \t]*)?"
        rf"({_QUOTED})",
        rf"{_NAME}\"[ \t]+(?:field[ \t]+)?with[ \t]+({_QUOTED})",
        rf"(?:fill|type|enter)s?(?:[ \t]in)?[ \t]+({_QUOTED})[ \t]+(?:for|in|into)[ \t]+(?:the[ \t]+)?"
        rf"\"[^\"\n]{{0,40}}{_NAME}\"",
        flags="(?i)",
    ),
    _any(
        rf"\b(?:name|key)[ \t]*=[ \t]*\"(?:[^\"\n]*[/_-])?(?:{NAME_WORDS})[\w-]*\"[ \t]*\n"
        rf"(?:[ \t]*\w+[ \t]*=[^\n]*\n){{0,4}}?[ \t]*(?:\w*_)?value[ \t]*=[ \t]*(\"[^\"\n]+\")",
        flags="(?i)",
    ),
    _any(
        r"\bs/[^/\n]*(?:pass|secret|token|key)[^/\n]*/(?:[^/\n]*[ \t=:])?([^\s/\"']+)/",
        r"\bs[|#][^|#\n]*(?:pass|secret|token|key)[^|#\n]*[|#](?:[^|#\n]*[ \t=:])?([^\s|#\"']+)[|#]",
        rf"\bfollowing[ \t](?:\w+[ \t])?(?:password|passphrase|token|secret)\b[^\n:]{{0,60}}:\s+{_VALUE}",
        rf"(?:generated|initial|temporary|root|admin)[ \t]password[ \t]+\[({_WORD})\]",
        rf"\b(?:key|token|password|secret)[ \t]provided:[ \t]+{_VALUE}",
        rf"\w:([^\s:@/\"'`]+)@(?:{_ADDRESS}|[\w.-]+\.(?:local|corp|lan|internal))\b|\.\w+/[\w.$-]+:([^\s:@/\"'`]+)@\w",
        r"\bplaintext_value[ \t]*=[ \t]*(\"[^\"\n]+\")",
        r"random_password[^\n]{0,400}?\"result\\?\"[ \t]*:[ \t]*(\"[^\"\n]+\")",
        flags="(?i)",
    ),
)
# Behind the name itself: begun before it, as names may be, they would take RE2 many more states.
_BEHIND_NAME = _any(
    rf"{_NAME}\"[ \t]*\r?\n[ \t]*[0-9]+\)[ \t]*({_QUOTED})",
    rf"{_NAME}[ \t]+(?:\.{{3,}}|-+>)[ \t]+{_VALUE}",
    rf"(?:{NAME_WORDS})[\w-]*\}}[ \t]{{2,}}{_VALUE}",  # of Robot Framework
    rf"{_NAME}:[ \t]*[\"'][ \t]*(?:\+|,|<<)[ \t]*({_QUOTED})",
    flags="(?i)",
)
# Below the line of a command that asks for one; and what is encoded.
_PRINTED = _any(
    rf"^[$#>%][ \t][^\n]*(?:passw|secret|token|api[-_]?key)[^\n]*\n[\"']?({_WORD})[\"']?{_END}",
    rf"^New value:[ \t]*({_WORD}){_END}",
    rf"\becho[ \t]+-n[ \t]+[\"']?({_WORD})[\"']?[ \t]*\|[ \t]*(?:base64|(?:md5|sha[0-9]+)sum|openssl[ \t]+dgst)",
    flags="(?m)",
)
_NOISE = _any(
    r"[?&](?:code|ticket|appid)=([\w.~%-]{20,})",
    r"://[^\s\"'<>]*?/(?:(?:password[_-]?)?reset|reset[_-]?password|verify|confirm|magic|invite|activate|login)\b"
    r"[\w/-]*?[/=]([\w.~-]{20,})",
    r"\bmagic\?\w{1,12}=([\w.~-]{20,})",
    flags="(?i)",
)
# One-time codes, and the short numbers that open a door or a card, as messages tell them.
_PURPOSE = (
    r"(?:one[ -]?time|verification|security|confirmation|authentication|auth|login|access|2fa|mfa|sms|otp|door|alarm"
    r"|gate|entry|unlock|backup|recovery|safe|sign[ -]?in"
    r"|bestatigungs|sicherheits|freischalt|zugangs|tur|haustur|tresor)"
)
_KIND = (
    rf"(?:{_PURPOSE}[ -]?(?:pass)?(?:code|pin|kod|number)|otp_*|tan|pin|puk"
    r"|code (?:de la porte|d'acces|d'entree|du portail)|codigo de (?:la puerta|acceso)"
    r"|code de (?:verification|securite)"
    r"|kod[ \t]weryfikacyjny|dogrulama[ \t]kodu|mtan|kod[ \t]potwierdzenia|kode[ \t]verifikasi|verificatiecode"
    r"|codigo de (?:verificacion|seguridad|verificacao)|codice di verifica|cvv|cvc)"
)
_NUMBER = (
    r"([0-9]{3,8}|[0-9]{3}[ -][0-9]{3}"
    r"|(?-i:[0-9]{2,4}[A-Z][0-9]{2,4}|[A-Z]{0,4}[0-9][A-Z0-9]{0,4}(?:-[A-Z0-9]{3,5}){1,4}))"
)
_CODES = _any(
    rf"\b{_KIND}\b(?:[ \t]+(?:for|fur|der|die|des|de|pour|para|of|to|the|la|le|el|[\w.{FOREIGN}-]+)){{0,5}}?"
    rf"[ \t]*(?:is|ist|lautet|est|es|e|to|adalah|:|=|-|{FOREIGN}{{1,3}})?:?[ \t]*{_NUMBER}(?:\b|{FOREIGN})",
    flags="(?i)",
)
_CODES_SAID = _any(
    rf"\b(?:pass|pw){FOREIGN}{{1,2}}([0-9]{{4,8}}){FOREIGN}{{0,2}}(?:[\s.,!]|\z)",
    r"\b(?:combination|combo|kombination|combinaison|combinacion)\b(?:[ \t]+(?:is|of|for|the|safe|lock|ist|est|es|to))*"
    r"[ \t:]+([0-9]{1,2}(?:-[0-9]{1,2}){2,3})\b",
    rf"\b(?:use|enter|type)[ \t]+{_NUMBER}[ \t]+(?:as[ \t]+(?:your|the)|to[ \t]+(?:verif|confirm|log|sign))",
    rf"\byour(?:[ \t]+(?:{_PURPOSE}|(?-i:[A-Z])[\w.-]+)){{0,3}}[ \t]+code(?:[ \t]+is)?:?[ \t]+{_NUMBER}\b",
    rf"(?:^|[^\w.-]|\bG-){_NUMBER}[ \t]+is[ \t]+(?:your[ \t]+(?:[\w.-]+[ \t]+){{0,4}}?|the[ \t]+(?:{_PURPOSE}[ \t]+)?)"
    r"(?:code|pin|otp|passcode)\b",
    flags="(?i)",
)
# A key that is written as the bytes that it has.
_BYTES = _any(r"(?:key|secret)[ \t]*:?=[ \t]*(?:b|\[\]byte\()?[\"']((?:\\x[0-9a-f]{2}){8}[^\"'\s]*)", flags="(?i)")
_CODE_LIST = _any(
    r"\b(?:recovery|backup|emergency|scratch)[ _-]?codes?\b[^\n]{0,40}\n+"
    r"((?:[ \t]*(?:[-*+]|[0-9]{1,2}[.)])?[ \t]*`?[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){0,3}`?[ \t\r]*(?:\n|\z)){2,20})",
    r"\b(?:recovery|backup|emergency|scratch)[ _-]?codes?[ \t]*(?:are|[:=-])[ \t]*"
    r"((?:[a-z-]*[0-9][a-z0-9-]*[ \t,;]+)*[a-z-]*[0-9][a-z0-9-]*)",
    r"\b(?:recovery|backup)[ -]code[ \t:]+(?:is[ \t]+)?([a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){1,3})\b",
    flags="(?i)",
)
LEAST_VARIED = 6  # bytes
_CODE = re.compile(r"[(){}\[\]\\]|^[:,]|^(?:[\w.~-]*/)+[\w-]*(?:\.[a-z]{1,5})?$")
_OF_LIST = re.compile(r"[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){0,3}")


def find_at_places(
    head: Head, is_secret: Callable[[Literal], bool], mark: str, text: str, allowance: Allowance
) -> Iterator[SecretSpan]:
    """Find `stats auth ana:…`, `key-string 7 …`, `echo … > token.txt` and their relatives."""
    for find in head.all(text, allowance):
        for group in range(1, compiled(head.pattern).groups + 1):
            start, end = find.span(group)
            if end - start > 2 and text[start] in "\"'":
                start, end = start + 1, end - 1
            held = text[start:end] if start >= 0 else ""
            literal = Literal(held.rstrip(ENDS) or held, start, end, quoted=False)
            if held and not literal.is_placeholder and not literal.is_word_of_code and is_secret(literal):
                allowance.spend(start)
                yield SecretSpan(start, start + len(literal.text), mark)


def find_lists_of_codes(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the lines below `Recovery codes`."""
    for find in _CODE_LIST.all(text, allowance):
        for span in map(find.span, (1, 2, 3)):
            for word in _OF_LIST.finditer(text, *span) if span != (-1, -1) else ():
                if any(map(str.isdigit, word[0])):
                    allowance.spend(word.start())
                    yield SecretSpan(*word.span(), "SECRET")


def _is_any(literal: Literal) -> bool:
    return literal.text not in ARTICLES


def _is_mixed(literal: Literal) -> bool:
    """Say whether a word may be a password: letters and digits, no code, no path and no method."""
    text = literal.text
    is_word = SHORTEST_MIXED <= len(text) <= LONGEST_SAID and " " not in text and "://" not in text
    is_other = METHOD.match(text) or _CODE.search(text)
    return is_word and not is_other and has_digit(text) and any(map(str.isalpha, text))


def _is_plain(literal: Literal) -> bool:
    return is_plainly_secret(literal.text, "PASSWORD")


def _is_varied(literal: Literal) -> bool:
    return len({*literal.text.split("\\x")}) > LEAST_VARIED


def _is_noise(literal: Literal) -> bool:
    return literal.is_noise or literal.is_dense


_KINDS = (
    (_SURE, _is_any, "PASSWORD"), ((*_LIKELY, _BEHIND_NAME), _is_mixed, "PASSWORD"),
    ((_PRINTED,), _is_plain, "PASSWORD"),
    ((_NOISE,), _is_noise, "TOKEN"), ((_BYTES,), _is_varied, "PRIVATE_KEY"), ((_CODES, _CODES_SAID), _is_any, "OTP"),
)  # fmt: skip
FINDERS = (
    *(Finder.of(head, partial(find_at_places, head, test, mark)) for heads, test, mark in _KINDS for head in heads),
    Finder.of(_CODE_LIST, find_lists_of_codes),
)
