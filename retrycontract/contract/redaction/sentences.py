"""Find secrets in sentences: told before their name, with words between, with nothing between, or spoken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import is_of_account
from retrycontract.contract.redaction.detectors import Finder, Head
from retrycontract.contract.redaction.field_names import NAME_WORDS, SECRET_NAME, judge
from retrycontract.contract.redaction.likeness import (
    ENDS,
    LONG_WORD,
    LONGEST_SAID,
    SHORTEST,
    alternates,
    certain,
    is_algorithm,
    is_chosen,
    is_plainly_secret,
    mark_of,
)
from retrycontract.contract.redaction.literals import NUMBER, Literal
from retrycontract.contract.redaction.scan_copies import FOREIGN
from retrycontract.contract.redaction.values import read_literal

# Sentences that say more between the name and the value than a verb.
_BELONGING = "for|of|on|at|you|we|to|fur|de|del|della|du|des|do|da|dos|voor|van|till|til|k|ke|od|na|za"
_TOLD = r"(?:is|was|ist|est|es|e|jest|lautet|ar|je|este|er|on|adalah):?(?:[ \t]+(?:also|now|still|currently))?"
_WHOSE = Head(
    rf"(?i)({SECRET_NAME})[ \t]*(?:(?:[ \t](?:(?:is|was)[ \t]+\w+[ \t]+)?(?:{_BELONGING})(?:[ \t]+[\w.@'/:-]+)+"
    rf"|[(\[][^()\[\]\n]*[)\]]|,[ \t]which|[ \t](?:for|of)[^\n:=]*\([^()\n]*\))"
    rf"(?:[ \t]*(?::(?:[ \t]*\r?\n)?|=)|[ \t]+{_TOLD})|[ \t](?:do|dla)(?:[ \t]+[\w.-]+)+[ \t]+to:?"
    r")[ \t]+"
)
# With a few words, a question or a comment between; begun at the word itself, since the states of RE2 add up.
_NAME = rf"\b((?:{NAME_WORDS})[\w-]*)"
_STATE = r"(?:updated|changed|set|reset|rotated|generated|created)"
# `foi alterada para`, `a été changé en`, `wurde auf … geändert`
_CHANGED_TO = (
    r"(?:(?:foi|fue|ha[ \t]+sido|a[ \t]+ete|e[ \t]+stata|wurde|ble|blev|har)"
    r"(?:[ \t]+\w+)?[ \t]+(?:para|a|en|in|auf|til|till)"
    r"|is[ \t]+ge\w+[ \t]+(?:in|naar)|(?:should|must|will|can|has[ \t]+to|needs[ \t]+to)[ \t]+be[ \t]+\w+[ \t]+to"
    r"|used[ \t]+to[ \t]+be)"
)
_ASIDE = Head(
    rf"(?i){_NAME}(?:(?:[ \t]+\w+){{1,4}}[ \t]+(?:este|adalah|la)|[ \t]*\((?:currently|now|was|old)"
    r"|(?:[ \t]+(?:for|of|to)(?:[ \t]+the)?[ \t]+[\w.-]+)?[ \t]*\?\s*(?:\[[^\]\n]*\][ \t]*)?"
    r"(?:[\w.]{1,20}:|it'?s|it is|-)"
    r"|[ \t]*[.!]?[ \t]*\r?\n(?:\[[^\]\n]*\][ \t]*)?[\w.]{1,20}:[ \t]+(?:sure|yes|ok|okay|yep|yeah|of course)[,:!]?"
    r"(?:[ \t]+(?:it'?s|it is|here it is|here you go):?)?"
    rf"|[ \t]+{_CHANGED_TO}:?|[ \t]d'ordine(?:[ \t]+\w+)?(?:[ \t]?:|[ \t]e)"
    rf"|(?:[ \t]+(?:has[ \t]+been|was|is|got))?[ \t]+(?:successfully[ \t]+)?{_STATE}[ \t]*(?::|->|=)"
    rf"|[ \t]+(?:has[ \t]+been|was)[ \t]+{_STATE}\.[ \t]+(?:the|your|its|it'?s)(?:[ \t]+new)?"
    r"(?:[ \t]+one)?(?:[ \t]+is)?:?"
    r"|[ \t]+has[ \t]+(?:always[ \t]+)?been:?"
    r"|[ \t]+(?:is|was)[ \t]+(?:currently|now|still|also|temporarily|just|actually):?"
    r"|[,;]?[ \t]+(?:please[ \t]+)?(?:enter|type|use|give|supply)(?:[ \t]+in)?:?)[ \t]+"
)
_COMMENT = r"#[ \t]*(?i:was|is|old|currently|formerly):?[ \t]+"
_COMMENTED = Head(rf"(?i){_NAME}[^\n#]{{0,60}}{_COMMENT}", ending=_COMMENT)
_FOREIGN_WORDS = Head(
    rf"(?i){_NAME}(?:[ \t]+\w+){{0,2}}(?:[ \t]+\w*{FOREIGN}[\w{FOREIGN}]*){{1,4}}(?:[ \t]+\w+){{0,2}}[ \t]*[:-][ \t]+"
)
# Slavic names in their cases, with whose it is between them and the verb.
_SLAVIC = Head(r"(?i)\b((?:hasl|hesl|gesl|lozink)\w*)(?:[ \t]+[\w.-]+){1,3}[ \t]+(?:to|je|jest|brzmi|zni):?[ \t]+")
_SET_TO = Head(
    rf"(?i)\b(?:set|change|changed|reset|update|updated)[ \t]+(?:[\w'.-]+[ \t]+){{0,4}}?({SECRET_NAME})"
    r"(?:[ \t]+(?:for|of)[ \t]+[\w.@-]+)?"
    r"(?:(?:[ \t]+from[ \t]+(\S+))?[ \t]+(?:to|as):?|[ \t]+from|[ \t]+and[ \t]+(?:set|change)[ \t]+it[ \t]+to)[ \t]+"
)
# With nothing but a blank or a slip between, `mit dem Passwort …`; and a user beside a password.
_SAYING = (
    r"(?:is|still|now|also|auf|en|a|in|till|naar|na|til|ist|er|je|ni|ay|on|mi|e|adalah"
    rf"|[a-z]{{0,4}}{FOREIGN}[a-z{FOREIGN}]{{0,8}})[ \t]{{1,3}}"
)
# As far as to the first digit or sign with something behind it: all of a long word would take RE2 much longer.
_MIXED = r"[^\s/\"'`]*?[0-9!#$%^&*+?~][^\s\"'`]"
_WORD = re.compile(rf"[^\s\"'`]{{0,{LONGEST_SAID + 1}}}")
_BARE = Head(
    rf"(?i)({SECRET_NAME})(?:[ \t]{{1,3}}(?:{_SAYING}){{0,2}}\[?|;[ \t]?|[ \t]?\r?\n[ \t]{{0,8}})[\"'`]?"
    rf"({_MIXED}|[A-Za-z]{{3,12}}[0-9])"
)
# What heads a pair of a user and a password, and who is known without a heading.
_PAIR = (
    r"creds?|credentials?|logins?|log-in|u/p|(?:user(?:name)?|login|e?-?mail)[ ]?/[ ]?pass\w*"
    r"|(?:zugangs|anmelde|login)daten|zugang|acceso|identifiants?|connexion|credencia(?:le)?s|credenziali|accesso|acesso|inlogg\w*|logowanie|pr[io]h?lasen\w*|giris"
    r"|(?:test|demo|default|admin\w*|initial|guest|sample|staging|gast)[ -]?(?:account|user|konto|zugang|benutzer)s?"
    r"|(?:compte|cuenta|conta|usuario|utilisateur|utente)[ ](?:de |di |d')?(?:test|demo|prueba|teste|prova|admin\w*)"
)
_DRESS = r"[`\"'*]{0,3}"
_KNOWN_USER = r"\b(?:admin\w*|root|test\w*|demo|guest|user|gast|[\w.+-]+@[\w-]+\.[\w.-]+)"
# Before a name behind which people's own words are taken as well: `mit dem Passwort …`, `user ana, password …`.
_WITH = re.compile(
    r"(?i)(?<![\w.])(?:with|mit|avec|con|com|met|med"
    r"|(?:user(?:name)?|utilisateur|usuario|benutzer|utente|login)[ \t]+\S+?,?)"
    r"[ \t]+(?:(?:the|dem|le|la|o|a|het|y|et|e|und|and)[ \t]+)?\Z"
)
_NUMBERED = r"[^\s/\"'`]*?[0-9!#$%^&+?~]"
# Before a name at the end of a line that goes on in the next one.
_WRAPPED = re.compile(r"\b(?:the|this|your|my|our|a|use|with|dem|das|le|la|el)[ \t]+(?:\w+[ \t]+)?\Z")
_LOGIN = Head(
    r"(?i)\b(?:log(?:in|ging|ged)?|sign(?:ing|ed)?|anmeld\w*|melde dich)(?:[ \t]+(?:in|on))?"
    r"(?:[ \t]+(?:with|as|mit|als)|:)[ \t]+[^\s/]+"
    rf"(?:[ \t]?/[ \t]?{_DRESS}({_NUMBERED})|[ \t]+(?:and|with|und|mit)[ \t]+{_DRESS}({_MIXED}))"
    rf"|\b(?:{_PAIR})\b\**(?:[ \t]+[\w.()-]+){{0,3}}[ \t]*(?::|-|=|\(|\b(?:are|is|sind|son|sont|sono)\b)\**[ \t]*"
    rf"{_DRESS}[\w.@+-]+{_DRESS}[ \t]*/[ \t]*{_DRESS}({_NUMBERED})"
    rf"|{FOREIGN}[ \t]?:?[ \t]*{_KNOWN_USER}[ \t]/[ \t]{_DRESS}({_NUMBERED})"
    rf"|\bu(?:ser(?:name)?)?:[ \t]*\S+[ \t,;/]+p(?:ass|w|wd)?:[ \t]*({_NUMBERED})"
    rf"|{_KNOWN_USER}{_DRESS}[ \t]/[ \t]{_DRESS}({_MIXED})"
    rf"|\b(?:unlock|decrypt|encrypt|open)\w*[ \t]+(?:\S+[ \t]+){{0,3}}?with[ \t]+({_MIXED})"
)
# Of these, the ones in which people's own words are taken as well, with a number in them.
_STRONG = (1, 3, 4, 5)
# The name in another script, which has become a short one, joined to the value: no blank parts words there.
_JOINED = Head(
    rf"(?:{FOREIGN}[\w ]{{0,20}}?(?:pw|pwd|pass_?|passwd_?|password_*)([A-Za-z0-9]{{6,40}})(?:[^\w]|$)"
    rf"|(?:pw|pwd|pass_?|passwd_?|password_*)([A-Za-z0-9]{{6,40}})(?:{FOREIGN}))"
)
_SPOKEN = Head(
    r"(?i)\b(password|passwd|passphrase|secret|private_key|(?:api|access|secret) ?key|token)"
    r"[ \t]{1,8}([\"'`])[^\s\"'`]"
)
# The words of a wallet's recovery phrase, without quotes.
_PHRASE = Head(
    r"(?i)\b(?:mnemonic|(?:seed|recovery)[ _-]?(?:phrase|words))[\"']?\s{0,4}(?:is|:|=)[:\s]{1,4}"
    r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
)
# What is told before its name: `Use … as the password`.
_FIRST_SAID = Head(
    r"(?i)([^\s\"'`]*[0-9!#$%^&*+?~][^\s\"'`]*)[\"'`]?(?:[ \t]+(?:is|as|als|comme|como|come|jako|when asked for)"
    r"|,[ \t]+(?:the|your|my|our|his|her))[ \t]+(?:[A-Za-z'-]+[ \t]+){0,3}?(?:pass(?:word|phrase|code)"
    r"|passwort|kennwort|mot de passe|contrasena|senha|wachtwoord|haslo)\b"
)
_FIRST_WORD = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])(?!\w+://|[\w./-]+\.[a-z]{1,5}\Z)[^(){}<>\[\]=,/\\]{6,80}")


# What only noise of such a length is taken for, where nothing but a blank stands between.
LONGEST_BEFORE = 40  # characters that are looked at before a name
_KEYS, SHORTEST_KEY = frozenset({"API_KEY", "ACCESS_KEY", "SECRET"}), 16
# What stands between two strings begins so, `{token:"token ",keyword:"keyword"}`.
_BETWEEN = frozenset(",;:)]}")


def find_told(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `the password for … is …` and `change the password to …`."""
    for find in head.all(text, allowance):
        start, end = find.span(0)
        yield from certain(find[1], read_literal(text, end, within=LONGEST_SAID), start, allowance)
        if head is _SET_TO and find.span(2) != (-1, -1):  # the old one
            yield from certain(find[1], Literal(find[2], *find.span(2), quoted=False), start, allowance)


def find_barely_told(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `with the password …` and `log in with bob / …`, whose values only their mixture tells."""
    # So many are weighed and no more, for most are no secrets and would make no text too dense.
    for find in islice(head.all(text, allowance), allowance.most):
        group, mark = (2, judge(find[1]).mark) if head is _BARE else (1, "PASSWORD")
        if head is _LOGIN:
            group = next(each for each in range(1, 8) if find.span(each) != (-1, -1))
        if head is _JOINED:
            group = 1 if find.span(1) != (-1, -1) else 2
            if not alternates(find[group]):
                continue
        # `pass` is a verb as well.
        start = find.span(group)[0]
        if (
            head is _BARE
            and "\n" in text[find.span(1)[1] : start]
            and not _WRAPPED.search(text, max(find.span(1)[0] - LONGEST_BEFORE, 0), find.span(1)[0])
        ):
            continue
        if head is _BARE and mark is None and (word := _WORD.match(text, start)):
            mark = mark_of(find[1], Literal.whole(word[0].rstrip(ENDS)))
        if head is _BARE and mark in _KEYS and (word := _WORD.match(text, start)):
            if len(bare := word[0].rstrip(ENDS)) >= SHORTEST_KEY and Literal.whole(bare).is_noise:
                allowance.spend(start)
                yield SecretSpan(start, start + len(bare), mark)
        elif mark == "PASSWORD" and (
            head is not _BARE or find[1] not in ("pass", "passes", "passed", "Passes", "Passed")
        ):
            word = _WORD.match(text, start)
            if word and head is _BARE and "_" in find[1] and find[1].isupper() and NUMBER.fullmatch(word[0]):
                continue  # `#define TLS1_CK_PSK 0x0300008A`
            is_strong = head is _LOGIN and group in _STRONG
            if head is _BARE and mark == "PASSWORD":
                begin = find.span(1)[0]
                is_strong = _WITH.search(text, max(begin - LONGEST_BEFORE, 0), begin) is not None
            if word and (is_plainly_secret(word[0], mark) or (is_strong and is_chosen(word[0]))):
                allowance.spend(start)
                yield SecretSpan(start, start + len(word[0].rstrip(ENDS)), mark)


def find_spoken(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `password 'value'`, where only a quote follows the name."""
    for find in _SPOKEN.telling(text, allowance):
        literal = read_literal(text, find.span(2)[0])
        is_long = (
            literal
            and literal.quoted
            and (literal.telling or len(literal.text) >= LONG_WORD or is_of_account(text, find.span(0)[0]))
        )
        if literal and is_long and not literal.is_placeholder:
            asked = literal.text.rstrip()
            if asked[:1] in _BETWEEN and not any(map(str.isdigit, asked)):
                continue
            if asked[-1:] in (":", "?", ">") and judge(asked[:-1]).mark:
                continue  # what is typed is asked for: `(read-passwd "Password: ")`
            yield SecretSpan(literal.start, literal.end, judge(find[1]).mark or "PASSWORD")


def find_phrases(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the words of a recovery phrase."""
    for find in _PHRASE.telling(text, allowance):
        yield SecretSpan(*find.span(1), "SECRET")


def find_said_first(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `Use … as the password`, whose value only its mixture of letters and digits tells."""
    for find in _FIRST_SAID.all(text, allowance):
        start, _ = find.span(1)
        word = find[1].rstrip(ENDS)
        if len(word) >= SHORTEST and _FIRST_WORD.fullmatch(word) and not Literal.whole(word).is_placeholder:
            if is_algorithm(word):
                continue
            allowance.spend(start)
            yield SecretSpan(start, start + len(word), "PASSWORD")


FINDERS = (
    Finder.of(_SPOKEN, find_spoken),
    Finder.of(_PHRASE, find_phrases),
    *(
        Finder.of(head, partial(find_told, head))
        for head in (_WHOSE, _SET_TO, _ASIDE, _COMMENTED, _FOREIGN_WORDS, _SLAVIC)
    ),
    *(Finder.of(head, partial(find_barely_told, head)) for head in (_BARE, _LOGIN, _JOINED)),
    Finder.of(_FIRST_SAID, find_said_first),
)
