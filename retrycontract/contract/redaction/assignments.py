"""Find the values that a name beside them calls secret: assignments, flags, elements, pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.redaction.detectors import Allowance, Find, Finder, Head, SecretSpan
from retrycontract.contract.redaction.field_names import NameVerdict, judge
from retrycontract.contract.redaction.literals import (
    Assignment,
    Literal,
    is_secret_literal,
    read_block,
    read_list,
    read_literal,
)
from retrycontract.contract.redaction.scan_copies import FOREIGN

# Words of which a secret's name has at least one; a text without any of them is not looked at by name.
NAME_WORDS = (
    "pass|pwd|passwort|kennwort|contrase|senha|secret|token|key|auth|cred|jwt|bearer|session|sessid|cookie|otp|cvv|"
    "cvc|ssn|sig|dsn|conn|login|access_?id|accessid|mnemonic|art-api|client_srt|csrf|xsrf|pin|salt|sas|pw|psk|seed|"
    "sid|mfa|two_?factor|(?:verification|security|recovery|backup)[_ -]?(?:code|phrase)|social_?security|dapi|hmac|"
    # Other languages, without their accents.
    "mot[ _-]de[ _-]passe|mdp|wachtwoord|parool|haslo|hasla|sifre|parol|heslo|jelsz|losenord|adgangskode|kodeord|"
    "salasana|lozink|geslo|slaptazodis|pasahitza|contrasin|fjalekalimi|nenosiri|cyfrinair|lykilord|mat[ _-]?khau|"
    "kata[ _-]?(?:sandi|laluan)|zugangscode|losungswort|"
    "toegangscode|jeton|geheimnis|segret|segred|cle[ _-]?(?:d.)?api|cle[ _-]?secrete|clave|chave|"
    "chiave[ _-]?api|schlussel|sleutel|klucz[ _-]?api|nyckel"
)
SECRET_NAME = (
    rf"(?:(?:api|access|secret|private|auth|master)[ ])?[\w.$@-]*(?:{NAME_WORDS})[\w.$-]*"
    r"(?:[ ](?:key|secret|token|phrase|string|code|seed|word))?"
)
_SPACE = r"[ \t]{0,8}"
_CLOSERS = r"[\"'`\\\])}]{0,4}"
# `name: type =`, `name type =`, `=>`, `:=`, `?=`, `.=`, `=`, `:`, `,` (between two quoted strings), ` is `
# A value behind one of these has to look like one.
_VERB = (
    r"(?:(?:(?:was|is|has been) )?(?:now|set to|changed to|reset to)|(?:will|should|would|must|shall) (?:now )?be|'s|"
    r"is|was|are|ist|war|lautet|est|es|era|e|sera|to|"
    r"jest|brzmi|je|zni|ar|er|on|este|adalah|ialah|la):? "
)
# A word in another script between name and value, or right behind the name, says the same.
_FOREIGN_VERB = rf"(?:[A-Za-z]{{0,6}}{FOREIGN}[A-Za-z{FOREIGN}]{{0,10}}:? |{FOREIGN}{{1,3}})"
_OPERATOR = (
    rf"(?::{_SPACE}\w{{1,16}}{_SPACE}=|{_SPACE}\w{{1,12}}{_SPACE}=|=>|:{{1,3}}=|[?+.|]?={{1,3}}|!=|:\*\*|:|,|- |{_VERB}"
    rf"|{_FOREIGN_VERB})"
)
# These are other words in English: they count only behind a name that is no English word.
_AMBIGUOUS_VERBS = frozenset({"to", "je", "ar", "er", "on", "la", "-"})
_ENGLISH_NAMES = re.compile(r"(?i)pass(?:w|c|p|\b|_)|pwd|secret|token|key|auth|cred|session|cookie|login|conn|sig|pin")
_ASSIGNMENT = Head(rf"(?i)({SECRET_NAME})({_CLOSERS}{_SPACE})({_OPERATOR})")
_FLAG = Head(rf"(?i)(?:^|[\s\"'`(\[,])--?({SECRET_NAME})([\"']?,?[ \t]+)")
_ELEMENT = Head(
    rf"(?i)<({SECRET_NAME})(?:[ \t][^<>]{{0,200}})?>\s*(?:<!\[CDATA\[)?([^<>\s][^<>\]]*?)\s*(?:\]\]>)?\s*</"
)
_ENTRY = Head(rf"(?i)<key>({SECRET_NAME})</key>\s*<string>([^<>\s][^<>]*)</string>")
_SETTING = Head(rf"(?i)(?:\bconfig(?:ure)?[ \t]+set|\b(?-i:ENV)|\bsetx|\bsetenv)[ \t]+[^\s=]*?({SECRET_NAME})[ \t]+")
_PAIR = Head(
    rf"(?i)(?:name|key|id|field|property|header)[\"']?{_SPACE}[=:]{_SPACE}[\"']?({SECRET_NAME})[\"']?[\s,;/]{{1,40}}"
    rf"[\"']?[\w]{{0,12}}value[\"']?{_SPACE}[=:]{_SPACE}"
)
_SPOKEN = Head(
    r"(?i)\b(password|passwd|passphrase|secret|private_key|(?:api|access|secret) ?key|token)"
    r"[ \t]{1,8}([\"'`])[^\s\"'`]"
)
_LEADS = ("", "export", "set", "arg", "env", "const", "let", "var", "string", "declare -x")
# A quoted word of this length right behind the name of a secret is taken for it.
LONG_WORD = 12
# Nobody tells a longer one; scripts without blanks would else make each value the rest of the text.
LONGEST_SAID = 200
# The words of a wallet's recovery phrase, without quotes.
_PHRASE = Head(
    r"(?i)\b(?:mnemonic|(?:seed|recovery)[ _-]?(?:phrase|words))[\"']?\s{0,4}(?:is|:|=)[:\s]{1,4}"
    r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
)
QUOTES_BEFORE_COMMA = ('"', "'", "`", '\\"')


def find_assignments(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `name = value`, `"name": "value"`, `?name=value`, `name: value` and their relatives."""
    taken = [0]
    for find in _ASSIGNMENT.outside(text, taken):
        verdict = judge(find[1])
        if verdict.mark:
            allowance.spend(find.span(0)[0])
        elif not verdict.weak:
            continue
        for span in _assigned(text, find, verdict, allowance):
            taken[0] = span.end
            yield span


def _assigned(text: str, find: Find, verdict: NameVerdict, allowance: Allowance) -> Iterator[SecretSpan]:
    """Judge what stands behind one name: a list of strings, or one value."""
    name, closers, operator = find[1], find[2], find[3]
    start, end = find.span(0)
    spaced = text[end : end + 1] in (" ", "\t") or closers.endswith((" ", "\t"))
    if verdict.mark and text.startswith("[", end + spaced):
        for item in read_list(text, end + spaced + 1):
            yield SecretSpan(item.start, item.end, verdict.mark)
        return
    said = operator[-1] in (" ", FOREIGN)
    literal = read_block(text, end) or read_literal(
        text, end, in_query=text[start - 1 : start] in ("?", "&", "#"), within=LONGEST_SAID if said else None
    )
    if literal is None or (operator == "," and not _between_quotes(closers, literal, verdict.mark)):
        return
    if operator == ":" and _is_docstring(text, find, literal):
        return
    if said:
        long_word = literal.quoted and " " not in literal.text and len(literal.text) >= LONG_WORD
        if not long_word and not (literal.telling and any(c.isdigit() for c in literal.text)):
            return
        if operator.strip(": ") in _AMBIGUOUS_VERBS and not (literal.quoted or _is_foreign(name, operator)):
            return
    beside = Assignment(name, operator.strip(), spaced=spaced, starts_line=_starts_line(text, start))
    if is_secret_literal(literal, verdict, beside, allowance):
        if not verdict.mark:  # a name that tells was counted when it was found
            allowance.spend(start)
        yield SecretSpan(literal.start, literal.end, verdict.mark or "API_KEY")


# What a colon ends that opens a block of program text.
_BLOCK_HEAD = re.compile(
    r"[ \t]*(?:(?:async[ \t]+)?(?:class|def|if|elif|for|while|with|case|match|try|except)\b|[^\n]*->)"
)


def _is_docstring(text: str, find: Find, literal: Literal) -> bool:
    """Say whether a string on the line below the name and its colon only opens the block of a function or a class."""
    start, end = find.span(0)
    if not literal.quoted or "\n" not in text[end : literal.start] or find[2][:1] in QUOTES_BEFORE_COMMA:
        return False
    line = text.rfind("\n", max(start - LONGEST_SAID, 0), start) + 1
    return text.startswith(('"""', "'''"), literal.start - 3) or bool(_BLOCK_HEAD.match(text, line, end))


def _is_foreign(name: str, operator: str) -> bool:
    """Say whether a name is of another language; behind a dash every name of a password counts."""
    return not _ENGLISH_NAMES.search(name) or (operator == "- " and judge(name).mark == "PASSWORD")


def _between_quotes(closers: str, literal: Literal, mark: str | None) -> bool:
    """Say whether a comma parts two quoted strings of which the second is no mere word of a list."""
    if not literal.quoted or closers.strip() not in QUOTES_BEFORE_COMMA:
        return False
    return literal.is_noise or (mark == "PASSWORD" and literal.telling and not literal.text.isalpha())


def _starts_line(text: str, start: int) -> bool:
    """Say whether only white space, a list dash or a word such as `export` stands before on the line."""
    # No further back than this, or one long line would be walked through for each name in it.
    before = text[max(text.rfind("\n", max(start - 40, 0), start) + 1, start - 40) : start].strip(" \t\"'`-#*$")
    return before.casefold() in _LEADS


def find_flags(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `--password value` and `-ClientSecret 'value'`."""
    for find in _FLAG.all(text):
        yield from _named(text, find, allowance, operator="--")


def find_elements(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `<apiToken>value</apiToken>`."""
    for find in _ELEMENT.all(text):
        start, end = find.span(2)
        yield from _named(text, find, allowance, literal=Literal(text[start:end], start, end, quoted=True))


def find_entries(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `<key>apiToken</key><string>value</string>`, as property lists have it."""
    for find in _ENTRY.all(text):
        start, end = find.span(2)
        yield from _named(text, find, allowance, literal=Literal(text[start:end], start, end, quoted=True))


def find_settings(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `npm config set name value` and `ENV NAME value`."""
    for find in _SETTING.all(text):
        yield from _named(text, find, allowance, operator="--")


def find_pairs(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `name: API_TOKEN` followed by `value: …`, in YAML, JSON, XML attributes and Terraform."""
    for find in _PAIR.all(text):
        yield from _named(text, find, allowance)


def _named(
    text: str, find: Find, allowance: Allowance, *, literal: Literal | None = None, operator: str = "="
) -> Iterator[SecretSpan]:
    """Judge the literal that belongs to the name of the first group, by default the one behind the match."""
    start, end = find.span(0)
    verdict = judge(find[1])
    if not verdict.mark and not verdict.weak:
        return
    allowance.spend(start)
    literal = literal or read_literal(text, end)
    # What begins with a dash is the next flag, not the value of this one.
    if literal is None or (operator == "--" and literal.text.startswith("-")):
        return
    if is_secret_literal(literal, verdict, Assignment(find[1], operator, spaced=False, starts_line=True), allowance):
        yield SecretSpan(literal.start, literal.end, verdict.mark or "API_KEY")


def find_spoken(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `password 'value'`, where only a quote follows the name."""
    for find in _SPOKEN.telling(text, allowance):
        literal = read_literal(text, find.span(2)[0])
        if literal and literal.quoted and (literal.telling or len(literal.text) >= LONG_WORD):
            yield SecretSpan(literal.start, literal.end, judge(find[1]).mark or "PASSWORD")


def find_phrases(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the words of a recovery phrase."""
    for find in _PHRASE.telling(text, allowance):
        yield SecretSpan(*find.span(1), "SECRET")


FINDERS = (
    Finder.of(_ASSIGNMENT, find_assignments),
    Finder.of(_FLAG, find_flags),
    Finder.of(_ELEMENT, find_elements),
    Finder.of(_ENTRY, find_entries),
    Finder.of(_SETTING, find_settings),
    Finder.of(_PAIR, find_pairs),
    Finder.of(_SPOKEN, find_spoken),
    Finder.of(_PHRASE, find_phrases),
)
