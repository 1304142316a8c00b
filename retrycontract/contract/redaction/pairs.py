"""Find the values that a name beside them calls secret, with no sign between: flags, elements, settings, pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Find, Finder, Head
from retrycontract.contract.redaction.field_names import SECRET_NAME, SPACE, Assignment, judge, word_set
from retrycontract.contract.redaction.generated import read_generated
from retrycontract.contract.redaction.literals import Literal, is_secret_literal
from retrycontract.contract.redaction.values import read_literal

# What a sentence says of a flag.
_SAID_OF_FLAGS = word_set(
    "option options flag flags argument arguments parameter parameters switch value is was are and or to as for in on "
    "if when with from will can must should overrides sets takes but also instead explicitly here too only again"
    " because since unless before after then so than by at via without does do has have may needs which that it this"
    " these the added command switches used"
)
_GOES_ON = re.compile(r"[.,]?\s+[A-Za-z(`-]|[.,]?\s*\Z|[.,]\s")
# What stands for a value where options are listed; there a column or a bracket parts it from what is said of it.
_STANDING_FOR = word_set("arg args val name names file filename user-id userid uri")
_LISTED = re.compile(r"[A-Za-z_|-]+"), re.compile(r"(?:[ \t]{2,}|\t)[A-Za-z(]"), re.compile(r"[ \t]+[a-z(]")
_NAMES = re.compile(r"\\?[\"'][ \t]*:[ \t]*\\?[\"'{\[0-9tfn]")
# Behind options without a value: `-genkey` and `--no-password` read like a secret's name, too.
_FLAG = Head(rf"(?i)(?:^|[\s\"'`(\[,])(?:--?[\w-]{{1,40}}[ \t]{{1,4}}){{0,6}}--?({SECRET_NAME})([\"']?,?[ \t]+)")
_ELEMENT = Head(
    rf"(?i)<(?:[\w-]{{1,40}}:)?({SECRET_NAME})(?:[ \t][^<>]{{0,200}})?>"
    r"\s*(?:<!\[CDATA\[)?([^<>\s][^<>]*?)\s*(?:\]\]>)?\s*</"
)
_ENTRY = Head(rf"(?i)<key>({SECRET_NAME})</key>\s*<string>([^<>\s][^<>]*)</string>")
_SETTING = Head(
    r"(?i)(?:\bconfig(?:ure)?[ \t]+set|\b(?-i:ENV)|\bsetx|\bsetenv|\bset(?:[ \t]+--?[a-z]+)+)[ \t]+"
    rf"[^\s=]*?({SECRET_NAME})[ \t]+"
)
_PAIR = Head(
    rf"(?i)(?:name|key|id|field|property|header|provide)[\"']?{SPACE}[=:]{SPACE}[\"']?({SECRET_NAME})[\"']?[\s,;/]{{1,40}}"
    rf"[\"']?[\w]{{0,12}}value[\"']?{SPACE}[=:]{SPACE}"
)
# `SET value = '…' WHERE name = 'smtp_password'`
_UPDATE = Head(
    r"(?i)\bset\s+[`\"\[]?\w{0,20}val(?:ue)?[`\"\]]?\s*=\s*[NE]?('[^'\n]{1,200}')[^;'\n]{0,80}\bwhere\s+[^;\n]{0,80}"
    rf"=\s*[NE]?'[\w.:/-]{{0,40}}?({SECRET_NAME})'"
)


def find_named(head: Head, operator: str, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `--password value`, `npm config set name value`, and `value: …` behind `name: API_TOKEN`."""
    for find in head.all(text, allowance):
        yield from _named(text, find, allowance, operator=operator)


def find_elements(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `<apiToken>value</apiToken>`, and `<key>apiToken</key><string>value</string>` of property lists."""
    for find in head.all(text, allowance):
        start, end = find.span(2)
        yield from _named(text, find, allowance, literal=Literal(text[start:end], start, end, quoted=True))


def find_updates(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what a statement sets the value of a row to whose name it asks for."""
    for find in _UPDATE.all(text, allowance):
        literal, verdict = read_literal(text, find.span(1)[0]), judge(find[2])
        if literal and verdict.mark:
            allowance.spend(literal.start)
            if is_secret_literal(literal, verdict, Assignment(find[2], "=", spaced=True, starts_line=True), allowance):
                yield SecretSpan(literal.start, literal.end, verdict.mark)


def _named(
    text: str, find: Find, allowance: Allowance, *, literal: Literal | None = None, operator: str = "="
) -> Iterator[SecretSpan]:
    """Judge the literal that belongs to the name of the first group, by default the one behind the match."""
    start, end = find.span(0)
    verdict = judge(find[1])
    # In `mysql -p$PW shop` a variable is joined to the flag.
    if (not verdict.mark and not verdict.weak) or (operator == "--" and "$" in find[1]):
        return
    allowance.spend(start)
    if verdict.mark and literal is None and (made := read_generated(text, end)):
        yield SecretSpan(made.start, made.end, verdict.mark)
        return
    literal = literal or read_literal(text, end)
    # What begins with a dash is the next flag, not the value of this one.
    if literal is None or (operator == "--" and (literal.text.startswith("-") or _is_said(text, find, literal))):
        return
    if is_secret_literal(literal, verdict, Assignment(find[1], operator, spaced=False, starts_line=True), allowance):
        yield SecretSpan(literal.start, literal.end, verdict.mark or "API_KEY")


def _is_said(text: str, find: Find, literal: Literal) -> bool:
    """Say whether a flag is spoken of, `the --token option`, or an argument of a call, `"--password", help="…"`."""
    if literal.quoted:  # what names the next member, as in `{"test": "jest --token", "build": …`
        return _NAMES.match(text, literal.end) is not None
    between = text[find.span(1)[1] : find.span(0)[1]]
    is_item = between[:1] in ("'", '"') and "," in between
    goes_on = _GOES_ON.match(text, literal.end) is not None
    return is_item or (goes_on and literal.text in _SAID_OF_FLAGS) or _is_listed(text, find, literal, between)


def _is_listed(text: str, find: Find, literal: Literal, between: str) -> bool:
    """Say whether a flag stands where options are listed: `[-pass arg]`, `--password     force a prompt`."""
    word, in_column, goes_on = _LISTED
    bare = literal.text.rstrip("]")
    if bare in _STANDING_FOR or find[1].endswith("."):
        return True
    if not word.fullmatch(bare):
        return False
    is_apart = len(between) > 1 and between.isspace() and goes_on.match(text, literal.end)
    is_optional = text.startswith("]", literal.start + len(bare)) and text[find.span(0)[0]] == "["
    return bool(is_apart or is_optional or in_column.match(text, literal.end))


# Behind `set` and the like: in lists of words, too.
SETTINGS = Finder.of(_SETTING, partial(find_named, _SETTING, "--"))
FINDERS = (
    Finder.of(_FLAG, partial(find_named, _FLAG, "--")),
    Finder.of(_ELEMENT, partial(find_elements, _ELEMENT)),
    Finder.of(_ENTRY, partial(find_elements, _ENTRY)),
    SETTINGS,
    Finder.of(_PAIR, partial(find_named, _PAIR, "=")),
    Finder.of(_UPDATE, find_updates),
)
