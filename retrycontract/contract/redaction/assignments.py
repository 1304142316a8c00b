"""Find the values that a name beside them calls secret: assignments, flags, elements, pairs."""

from __future__ import annotations

from collections.abc import Iterator

from retrycontract.contract.redaction.detectors import Span
from retrycontract.contract.redaction.field_names import NameVerdict, judge
from retrycontract.contract.redaction.heads import Allowance, Find, Head
from retrycontract.contract.redaction.literals import (
    Literal,
    Place,
    is_secret_literal,
    read_block,
    read_list,
    read_literal,
)
from retrycontract.contract.redaction.sieve import Finder

# Words of which a secret's name has at least one; a text without any of them is not looked at by name.
NAME_WORDS = (
    "pass|pwd|passwort|kennwort|contrase|senha|secret|token|key|auth|cred|jwt|bearer|session|sessid|cookie|otp|cvv|"
    "cvc|ssn|sig|dsn|conn|login|access_?id|accessid|mnemonic|art-api|client_srt|csrf|xsrf|pin|salt|sas|pw"
)
_NAME = rf"[\w.$@-]*(?:{NAME_WORDS})[\w.$-]*(?:[ ](?:key|secret|token|phrase|string|code))?"
_SPACE = r"[ \t]{0,8}"
_CLOSERS = r"[\"'`\\\])}]{0,4}"
# `name: type =`, `name type =`, `=>`, `:=`, `?=`, `.=`, `=`, `:`, `,` (between two quoted strings), ` is `
# A value behind one of these has to look like one.
_VERB = r"(?:is|ist|lautet|est|es):? "
_OPERATOR = (
    rf"(?::{_SPACE}\w{{1,16}}{_SPACE}=|{_SPACE}\w{{1,12}}{_SPACE}=|=>|:{{1,3}}=|[?+.|]?={{1,3}}|!=|:\*\*|:|,|{_VERB})"
)
_ASSIGNMENT = Head(rf"(?i)({_NAME})({_CLOSERS}{_SPACE})({_OPERATOR})")
_FLAG = Head(rf"(?i)(?:^|[\s\"'`(\[,])--?({_NAME})([\"']?,?[ \t]+)")
_ELEMENT = Head(rf"(?i)<({_NAME})(?:[ \t][^<>]{{0,200}})?>\s*(?:<!\[CDATA\[)?([^<>\s][^<>\]]*?)\s*(?:\]\]>)?\s*</")
_ENTRY = Head(rf"(?i)<key>({_NAME})</key>\s*<string>([^<>\s][^<>]*)</string>")
_SETTING = Head(rf"(?i)(?:\bconfig(?:ure)?[ \t]+set|\b(?-i:ENV)|\bsetx|\bsetenv)[ \t]+[^\s=]*?({_NAME})[ \t]+")
_PAIR = Head(
    rf"(?i)(?:name|key|id|field|property|header)[\"']?{_SPACE}[=:]{_SPACE}[\"']?({_NAME})[\"']?[\s,;/]{{1,40}}"
    rf"[\"']?[\w]{{0,12}}value[\"']?{_SPACE}[=:]{_SPACE}"
)
_SPOKEN = Head(
    r"(?i)\b(password|passwd|passphrase|secret|identified by|private_key|(?:api|access|secret) ?key|token)"
    r"[ \t]{1,8}([\"'`])[^\s\"'`]"
)
_LEADS = ("", "export", "set", "arg", "env", "const", "let", "var", "string", "declare -x")
# A quoted word of this length right behind the name of a secret is taken for it.
LONG_WORD = 12
QUOTES_BEFORE_COMMA = ('"', "'", "`", '\\"')


def find_assignments(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `name = value`, `"name": "value"`, `?name=value`, `name: value` and their relatives."""
    taken = [0]
    for find in _ASSIGNMENT.outside(text, taken):
        verdict = judge(find[1])
        if verdict.mark:
            allowance.spend(find.span(0)[0])
        elif not verdict.weak:
            continue
        for span in _assigned(text, find, verdict):
            taken[0] = span.end
            yield span


def _assigned(text: str, find: Find, verdict: NameVerdict) -> Iterator[Span]:
    """Judge what stands behind one name: a list of strings, or one value."""
    name, closers, operator = find[1], find[2], find[3]
    start, end = find.span(0)
    spaced = text[end : end + 1] in (" ", "\t") or closers.endswith((" ", "\t"))
    if verdict.mark and text.startswith("[", end + spaced):
        for item in read_list(text, end + spaced + 1):
            yield Span(item.start, item.end, verdict.mark)
        return
    literal = read_block(text, end) or read_literal(text, end, in_query=text[start - 1 : start] in ("?", "&", "#"))
    if literal is None or (operator == "," and not _between_quotes(closers, literal, verdict.mark)):
        return
    if operator.endswith(" ") and not (literal.telling and any(c.isdigit() for c in literal.text)):
        return
    place = Place(name, operator.strip(), spaced=spaced, starts_line=_starts_line(text, start))
    if is_secret_literal(literal, verdict, place):
        yield Span(literal.start, literal.end, verdict.mark or "API_KEY")


def _between_quotes(closers: str, literal: Literal, mark: str | None) -> bool:
    """Say whether a comma parts two quoted strings of which the second is no mere word of a list."""
    if not literal.quoted or closers.strip() not in QUOTES_BEFORE_COMMA:
        return False
    return literal.is_noise or (mark == "PASSWORD" and literal.telling and not literal.text.isalpha())


def _starts_line(text: str, start: int) -> bool:
    """Say whether only white space, a list dash or a word such as `export` stands before on the line."""
    before = text[max(text.rfind("\n", max(start - 40, 0), start) + 1, start - 40) : start].strip(" \t\"'`-#*$")
    return before.casefold() in _LEADS


def find_flags(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `--password value` and `-ClientSecret 'value'`."""
    for find in _FLAG.all(text):
        yield from _named(text, find, allowance, operator="--")


def find_elements(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `<apiToken>value</apiToken>`."""
    for find in _ELEMENT.all(text):
        start, end = find.span(2)
        yield from _named(text, find, allowance, literal=Literal(text[start:end], start, end, quoted=True))


def find_entries(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `<key>apiToken</key><string>value</string>`, as property lists have it."""
    for find in _ENTRY.all(text):
        start, end = find.span(2)
        yield from _named(text, find, allowance, literal=Literal(text[start:end], start, end, quoted=True))


def find_settings(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `npm config set name value` and `ENV NAME value`."""
    for find in _SETTING.all(text):
        yield from _named(text, find, allowance, operator="--")


def find_pairs(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `name: API_TOKEN` followed by `value: …`, in YAML, JSON, XML attributes and Terraform."""
    for find in _PAIR.all(text):
        yield from _named(text, find, allowance)


def _named(
    text: str, find: Find, allowance: Allowance, *, literal: Literal | None = None, operator: str = "="
) -> Iterator[Span]:
    """Judge the literal that belongs to the name of the first group, by default the one behind the match."""
    start, end = find.span(0)
    verdict = judge(find[1])
    if not verdict.mark and not verdict.weak:
        return
    allowance.spend(start)
    literal = literal or read_literal(text, end)
    if literal is None or (operator == "--" and literal.text.startswith("-")):
        return
    if is_secret_literal(literal, verdict, Place(find[1], operator, spaced=False, starts_line=True)):
        yield Span(literal.start, literal.end, verdict.mark or "API_KEY")


def find_spoken(text: str, allowance: Allowance) -> Iterator[Span]:
    """Find `password 'value'`, where only a quote follows the name."""
    for find in _SPOKEN.telling(text, allowance):
        literal = read_literal(text, find.span(2)[0])
        if literal and literal.quoted and (literal.telling or len(literal.text) >= LONG_WORD):
            yield Span(literal.start, literal.end, judge(find[1]).mark or "PASSWORD")


FINDERS = (
    Finder.of(_ASSIGNMENT, find_assignments),
    Finder.of(_FLAG, find_flags),
    Finder.of(_ELEMENT, find_elements),
    Finder.of(_ENTRY, find_entries),
    Finder.of(_SETTING, find_settings),
    Finder.of(_PAIR, find_pairs),
    Finder.of(_SPOKEN, find_spoken),
)
