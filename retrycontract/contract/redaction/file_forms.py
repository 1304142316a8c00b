"""Find secrets by the form of a file, a page or a statement: YAML, TOML, XML, HTML, SQL, Terraform."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import METHOD
from retrycontract.contract.redaction.detectors import Find, Finder, Head, has_digit
from retrycontract.contract.redaction.field_names import SECRET_NAME, is_secret_name, judge
from retrycontract.contract.redaction.likeness import (
    ENDS,
    LONG_WORD,
    PASSWORDS,
    SHORTEST,
    certain,
    is_certain,
    is_mixed,
    is_plainly_secret,
)
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret
from retrycontract.contract.redaction.values import read_list, read_literal

# `password:` alone on its line, `[db.password]`: what follows deeper, or up to the next heading, lies in it.
_HEADING = Head(
    rf"(?im)(?:^|[\"'])[ \t]*(?:[-+>][ \t]+)?[\"']?(?:\w[\w-]*:)?({SECRET_NAME})[\"']?:[ \t]*\r?\n"
    rf"|(?:^|[\"'])[ \t]*\[+({SECRET_NAME})\]+[ \t]*\r?\n"
)
_ENTRY = re.compile(r"[ \t]*(?:[-+>][ \t]+)?(?:[\"']?([\w.@-]{1,80})[\"']?[ \t]*(?::[ \t]+|=[ \t]*)|)(?=[^\s#])")
_ALIAS = Head(rf"(?i)({SECRET_NAME})[\"']?:[ \t]+\*([\w-]+)")
_ANCHOR = re.compile(r"&([\w-]{1,80})[ \t]+(?=\S)")
# An element that another one, or its own attribute, names.
_NAMED_ELEMENT = Head(
    rf"(?i)<\w+[^<>]*[ \t](?:name|key|id)=[\"']({SECRET_NAME})[\"'][^<>]*>\s*(?:<value>\s*)?([^<>\s][^<>]*)</"
)
_ELEMENT_PAIR = Head(
    rf"(?i)<[\w:-]*(?:name|key)>\s*({SECRET_NAME})\s*</[^<>]*>\s*(?:<[\w:-]*(?:type|description)>[^<>]*</[^<>]*>\s*)?"
    r"<[\w:-]*(?:value|string)(?:[ \t][^<>]*)?>\s*([^<>\s][^<>]*)</"
)
# As Java and Apple write pairs and lists.
_STRING_PAIR = Head(rf"(?i)<string>\s*({SECRET_NAME})\s*</string>\s*<string>\s*([^<>\s]+)\s*</")
# The attributes of an element that name and hold, in either order and with others between.
_NAMING = rf"\s(?:name|key|id|type)=[\"']({SECRET_NAME})[\"']"
_NAME_THEN_VALUE = Head(rf"(?i)<[\w:.-]+[^<>]*?{_NAMING}[^<>]*?\svalue=[\"']([^\"'<>]+)[\"']")
_VALUE_THEN_NAME = Head(rf"(?i)<[\w:.-]+[^<>]*?\svalue=[\"']([^\"'<>]+)[\"'][^<>]*?{_NAMING}")
_TAG = r"(?:</?(?:b|strong|i|em|u|code|kbd|tt|span|td|th|dt|dd|label|mark|pre|br)\b[^<>\n]*>|\*\*|__)"
_EMPHASIS = Head(
    rf"(?i)({SECRET_NAME})(?:[ \t]?:?|[ \t](?:is|ist|est|es|lautet))[ \t]*{_TAG}(?:[ \t]*(?::|{_TAG}))*"
    rf"(?:[ \t]*\r?\n[ \t]*<(?:td|dd|th|code|span)\b[^<>\n]*>(?:[ \t]*{_TAG})*)?[ \t]*`?"
    r"([^\s<>*`:][^\s<>`]*)"
)
_VALUE_FIRST = Head(
    rf"(?i)\bvalue[\"']?[ \t]*:[ \t]*([^\s][^\n]*)\n[ \t]*[\"']?name[\"']?[ \t]*:[ \t]*[\"']?({SECRET_NAME})"
)
_VARIABLE = Head(rf"(?i)\bvariable[ \t]+[\"']({SECRET_NAME})[\"'][ \t]*\{{[^{{}}]*\bdefault[ \t]*=[ \t]*")
# `? password` and `: value` on two lines; `name:` and `value:` with other members of the same object between.
_COMPLEX_KEY = Head(rf"(?im)(?:^|[\"'])[ \t]*\?[ \t]+[\"']?({SECRET_NAME})[\"']?[ \t]*\n[ \t]*:[ \t]+")
_MEMBERS = Head(
    rf"(?i)\b(?:name|key):[ \t]+[\"']?({SECRET_NAME})[\"']?[ \t]*\n(?:[ \t]+[\w-]+:[^\n]*\n){{1,3}}?"
    r"[ \t]+[\"']?value[\"']?:[ \t]+"
)
# A validator tells below the name what it was given.
_REJECTED = Head(rf"(?i)({SECRET_NAME})[ \t]*\r?\n[ \t]+[^\n]*?\binput_value=")
_PATH = re.compile(r"[\"']?/[\w./-]+[\"']?\s*$", re.MULTILINE)
_ANSWER = re.compile(r"[ \t]*([^\s\"'`]{6,200})[\"'`}\]]*\s*\Z")
_SET_PASSWORD = Head(r"(?i)\bset[ \t]+(password)[ \t]+for[ \t]+[^\s=]+[ \t]*(?:=|to)[ \t]*(?:\w+\()?(['\"])")
_COMPARED = Head(rf"(?i)({SECRET_NAME})[`\"\]]?[ \t]+(?:not[ \t]+)?(?:in[ \t]*\(|i?like[ \t]|<>)[ \t]*(')")
_BRACED = Head(r"(?i)(?:^|;)[ \t]*(?:pwd|password)[ \t]*=[ \t]*\{([^{}\n;]+)\}[ \t]*(?:;|[\"'\s]|$)")
# A script waits for the end of a prompt, often without its first letter, and sends the answer.
_EXPECTED = Head(
    r"(?i)((?:p|\b|\])a?ss(?:word|wd|phrase|code|wort)|mot de passe|contrase\w{1,2}a|secret|token|\bpin|\botp|code)"
    r"[^\"'\n{}]{0,30}[\"'}](?:[ \t]{1,4}in[ \t]+[\w.]{1,20}:|,[^()\n]{0,40})?[\s{;)]{1,40}(?:[\w.]{1,30}\.)?"
    r"send(?:_?line|_?keys)?\b[ \t]*\(?(?:[ \t]*-[\w-]{0,3})*[ \t]*[bfr]?([\"'{])"
)


# A title or a prompt alone on its line, with the value alone below it.
_TITLE = Head(
    rf"(?im)^[ \t]*(?:#{{1,6}}[ \t]+|[*_=]{{1,6}}[ \t]*(?:-[ \t]+)?)?(?:[\w']+[ \t]){{0,4}}?({SECRET_NAME})"
    r"(?:[ \t]*(?:[ \t](?:is|are|ist|lautet|est|es|e|to|je|er|ar))?[*_=:]{1,6}"
    r"|[ \t]*\n[=-]{3,}|[ \t]*)[ \t]*\r?\n(?:[ \t]*\r?\n){0,2}(?:```\w*[ \t]*\n)?"
    r"[ \t]*(?:-[ \t]+)?`?([^\s`]+)`?[ \t]*\r?(?:\n|\z)"
)
# The same as the string of a JSON that is broken.
_QUOTED_TITLE = Head(
    rf"(?i)[\"'](?:\w+[ \t]){{0,2}}({SECRET_NAME})[ \t]*:[ \t]*\r?\n(?:[ \t]*\r?\n){{0,2}}[ \t]*([^\s\"'`]+)[\"']"
)
# What is marked as a title, and what ends what stands below one.
_MARKED_TITLE = re.compile(r"[ \t]*[#*_=]|[^\n]*(?:[:*=_]|\n[=-]+)[ \t]*\r?\n")
# The label of a page, and the button beside the field that it names.
_LABEL = re.compile(r"[ \t]*[A-Z][\w-]*(?: [\w-]+){0,3}[ \t]*\r?\n")
_BUTTON = re.compile(r"\s*(?i:copy|copied|hide|show|reveal|regenerate|revoke|rotate|roll|delete|edit|download)\b")
_END_BELOW = re.compile(r"[ \t]*(?:\r?\n|\Z|```|[#*=]|[^\n]{0,40}:[ \t]*(?:\r?\n|\Z))")
# An element with the value in one of the elements in it.
_OUTER = Head(
    rf"(?i)<(?:[\w-]{{1,40}}:)?({SECRET_NAME})(?:[ \t][^<>]{{0,200}})?>"
    r"\s*(<)[\w:.-]+[^<>]*>\s*(?:[^<>\s]|<!)"
)
_INNER = re.compile(r"\s*<([\w:.-]{1,80})[^<>]*>\s*(?:<!\[CDATA\[)?([^<>]{0,200}?)\s*(?:\]\]>)?\s*</[^<>]{1,80}>")
MOST_INNER = 6
# Elements that hold a password as it is, so that an ordinary word is one.
_AS_IT_IS = frozenset({"plain", "plaintext", "clear", "cleartext"})
# Tuples of Erlang, forms and pairs of Lisp.
_TUPLE = Head(rf"(?i)[{{(\[][ \t]*[:']?({SECRET_NAME})'?,[ \t]*(?:<<)?(\")")
_FORM = Head(
    rf"(?i)\((?:def(?:var|parameter|const|constant|ine)?|set[qf!])[ \t]+\(?[*+]?({SECRET_NAME})[*+]?"
    rf"(?:[ \t]\w+\))?\s+(\")|\(({SECRET_NAME})[ \t]+\.[ \t]+(\")"
)
# What was logged in with, and lines of routers and of FTP; what has a letter and a digit in it is no word of English.
_OF_WORD = r"[^\s\"'`]*"
_BESIDE_USER = Head(
    r"(?i)\b(?:log(?:ged|ging)?[ -]?(?:in|on)|sign(?:ed|ing)?[ -]in|connect(?:ed)?|user(?:name)?|credentials|account)\b"
    r"[^\n.;]{0,40}?\bpassword[ \t]+(?:is[ \t]+)?[\"'`]?"
    rf"({_OF_WORD}(?:[0-9]{_OF_WORD}[a-z]|[a-z]{_OF_WORD}[0-9]){_OF_WORD})"
)
_ROUTER = Head(
    r"(?im)(?:^|[\"'])[ \t]*(?:enable[ \t]+(?:password|secret)|(?:set|fastcgi_param)[ \t]+\w*password"
    r"|bindpw|rootpw(?:[ \t]+--\w+)?|[\w.]+[._]password|username[ \t]+\S+[ \t]+(?:privilege[ \t]+[0-9]+[ \t]+)?"
    r"(?:password|secret)|password)(?:[ \t]+level[ \t]+[0-9]+)?(?:[ \t]+[0-9])?[ \t]+"
    r"([^\s\"';]*[0-9][^\s\"';]*);?[ \t]*(?:$|[\"'\r])"
)
_FTP = Head(
    r"(?m)\bUSER[ \t]+\S+[ \t]*\r?\n(?:[^\n]*\n){0,2}?[^\n]{0,12}\bPASS[ \t]+(\S+)|^ftp>[ \t]+user[ \t]+\S+[ \t]+(\S+)"
)
_ELEMENTS = (_NAMED_ELEMENT, _ELEMENT_PAIR, _STRING_PAIR, _NAME_THEN_VALUE, _VALUE_THEN_NAME, _EMPHASIS)
_APART = (_VALUE_FIRST, _VARIABLE, _COMPLEX_KEY, _MEMBERS, _BRACED, _REJECTED)
_STATEMENTS = (_SET_PASSWORD, _COMPARED, _EXPECTED)


def find_below_headings(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the lines below a heading that is the name of a secret."""
    taken = 0
    for find in _HEADING.all(text, allowance):
        start, end = find.span(0)
        mark = judge(find[1] or find[2]).mark
        if start < taken or not mark:
            continue
        allowance.spend(start)
        is_section, indent, taken = not find[1], _indent(text, start), end
        while taken < len(text):
            stop = text.find("\n", taken) + 1 or len(text)
            line = text[taken:stop].strip()
            deeper = _indent(text, taken) > indent or (line.startswith("- ") and _indent(text, taken) >= indent)
            if line and (line.startswith("[") if is_section else not deeper):
                # Below a prompt the answer may stand, alone on its line.
                answer = None if is_section else _ANSWER.match(text, taken, stop)
                if answer and is_plainly_secret(answer[1], mark):
                    yield SecretSpan(*answer.span(1), mark)
                break
            if line and (entry := _ENTRY.match(text, taken, stop)):
                name = judge(entry[1] or "")
                literal = read_literal(text, entry.end())
                is_held = not name.descriptor or (
                    entry[1].casefold() == "default" and not _PATH.match(text, entry.end())
                )
                if literal and is_held and literal.end <= stop and is_certain(literal, name.mark or mark):
                    yield SecretSpan(literal.start, literal.end, name.mark or mark)
            taken = stop


def _indent(text: str, start: int) -> int:
    return len(text[start : start + 200]) - len(text[start : start + 200].lstrip(" \t+>"))


def find_aliased(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what a YAML alias behind the name of a secret stands for."""
    marks = {find[2]: mark for find in _ALIAS.telling(text, allowance) if (mark := judge(find[1]).mark)}
    for anchor in _ANCHOR.finditer(text) if marks else ():
        literal = read_literal(text, anchor.end()) if anchor[1] in marks else None
        if literal and not literal.is_placeholder and not literal.is_word_of_code:
            yield SecretSpan(literal.start, literal.end, marks[anchor[1]])


def find_named_elements(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `<property name="password"><value>…`, `<name>password</name><value>…` and `<b>Password:</b> …`."""
    for find in head.all(text, allowance):
        value, name = (1, 2) if head is _VALUE_THEN_NAME else (2, 1)
        start, end = find.span(value)
        literal = Literal(text[start:end].rstrip(" \t\r\n.,;*"), start, end, quoted=True)
        # In program text two underscores begin a name: `#define A_secret __NR_a_secret`.
        if head is _EMPHASIS and text[start - 2 : start] == "__" and judge(literal.text).mark:
            continue
        if head is _STRING_PAIR and is_secret_name(literal.text):
            continue
        if _is_setting(text, find, head) and (word := _as_word(find[name], literal)):
            allowance.spend(start)
            yield word
        yield from certain(find[name], literal, start, allowance)


# Elements that set something; those of texts, such as `<string name="password">`, hold a label.
_SETTING = re.compile(r"(?i)<(?:property|entry|prop|param|parameter|setting|config|context-param|init-param)\b")


def _is_setting(text: str, find: Find, head: Head) -> bool:
    return head is _ELEMENT_PAIR or (head is _NAMED_ELEMENT and _SETTING.match(text, find.span(0)[0]) is not None)


def _as_word(name: str, literal: Literal | None) -> SecretSpan | None:
    """Take any word for the password that stands where a setting with such a name has its value."""
    is_password = literal and judge(name).mark == "PASSWORD" and literal.quoted and len(literal.text) >= SHORTEST
    if not literal or not is_password or " " in literal.text or literal.is_placeholder or literal.is_word_of_code:
        return None
    if is_secret_name(literal.text) or not is_quoted_secret(literal, "PASSWORD") or _CLASS_NAME.fullmatch(literal.text):
        return None
    if METHOD.search(literal.text):
        return None
    return SecretSpan(literal.start, literal.end, "PASSWORD")


_CLASS_NAME = re.compile(r"[a-z]+(?:\.\w+){2,}|[A-Z][a-z]+(?:[A-Z][a-z]+)+")


def find_told_apart(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find values that stand before their name, or with words between."""
    for find in head.all(text, allowance):
        name, start = "password" if head is _BRACED else find[2 if head is _VALUE_FIRST else 1], find.span(0)[1]
        literal: Literal | None
        if head is _BRACED:
            start, end = find.span(1)
            literal = Literal(text[start:end], start, end, quoted=True)
        elif head is _VALUE_FIRST:
            literal = read_literal(text, find.span(1)[0])
        else:
            literal = read_literal(text, start)
        if head is _VARIABLE and (word := _as_word(name, literal)):
            allowance.spend(start)
            yield word
        yield from certain(name, literal, find.span(0)[0], allowance)


def find_in_statements(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `SET PASSWORD FOR … = '…'`, `password IN ('…')` and what a script sends to a prompt."""
    for find in head.all(text, allowance):
        mark = "PASSWORD" if head is _EXPECTED else judge(find[1]).mark
        if mark in PASSWORDS:
            allowance.spend(find.span(0)[0])
            start = find.span(2)[0]
            # A line break that is written as an escape parts the quotes.
            sent = [read_literal(text, start + (text[start] == "{"))] if head is _EXPECTED else read_list(text, start)
            for literal in filter(None, sent):
                if not literal.is_word_of_code and not literal.is_placeholder and "%" not in literal.text:
                    yield SecretSpan(literal.start, literal.end, mark)


def find_below_titles(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the word below `## Password`, an underlined `Password`, `**Password**` and `Password:`."""
    is_quoted = head is _QUOTED_TITLE
    for place in head.places(text, allowance):
        start, end = place.start, place.end
        is_marked = is_quoted or _MARKED_TITLE.match(text, start)
        if not (is_marked or _LABEL.match(text, start)):  # as most lines with such a word, and one below
            continue
        find = place.read()
        mark, literal = judge(find[1]).mark, Literal(find[2].rstrip(ENDS), *find.span(2), quoted=False)
        if not mark or find[2].endswith(":") or not (is_marked or _BUTTON.match(text, end)):
            continue
        line = text[text.rfind("\n", start, literal.start) + 1 : literal.start]
        if line.strip(" \t`") == "-" and text[start : start + 80].lstrip()[:1] != "*":
            continue  # an item of YAML, not the cell below another one of a list
        if is_plainly_secret(find[2], mark) or (
            mark == "PASSWORD" and is_mixed(literal) and (is_quoted or _END_BELOW.match(text, end))
        ):
            allowance.spend(start)
            yield SecretSpan(literal.start, literal.start + len(literal.text), mark)


def find_inner_elements(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `<password><value>…</value></password>`."""
    for find in _OUTER.all(text, allowance):
        mark, position = judge(find[1]).mark, find.span(2)[0]
        for _ in range(MOST_INNER if mark in PASSWORDS else 0):
            inner = _INNER.match(text, position)
            if inner is None:
                break
            position, verdict = inner.end(), judge(inner[1])
            literal = Literal(inner[2], *inner.span(2), quoted=True)
            is_plain = inner[1].rpartition(":")[2].casefold() in _AS_IT_IS and is_quoted_secret(literal, mark or "")
            is_value = is_plain and not (literal.is_placeholder or literal.is_word_of_code)
            describes = verdict.descriptor or verdict.identifier
            if is_value or (not describes and (is_certain(literal, mark or "") or is_mixed(literal))):
                allowance.spend(inner.start())
                yield SecretSpan(literal.start, literal.end, verdict.mark or mark or "")


def find_in_tuples(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `{password, "…"}` of Erlang, `(defvar *password* "…")` and `(password . "…")` of Lisp."""
    for find in head.all(text, allowance):
        name, value = (1, 2) if find.span(1) != (-1, -1) else (3, 4)
        mark, literal = judge(find[name]).mark, read_literal(text, find.span(value)[0])
        if not mark or not literal or literal.is_placeholder or literal.is_word_of_code or is_secret_name(literal.text):
            continue
        is_word = mark in PASSWORDS and (literal.telling or len(literal.text) >= LONG_WORD)
        if mark == "CREDENTIAL" and not has_digit(literal.text):  # `hasattr(credentials, "with_scopes")`
            continue
        if (is_word and is_quoted_secret(literal, mark)) or literal.is_noise or literal.is_dense:
            allowance.spend(find.span(0)[0])
            yield SecretSpan(literal.start, literal.end, mark)


def find_beside_users(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `user bob, password …`, `enable password …` of routers, and `USER` and `PASS` of FTP."""
    for find in head.all(text, allowance):
        start, end = find.span(1)
        if start < 0:
            start, end = find.span(2)
        literal = Literal(text[start:end].rstrip(ENDS), start, end, quoted=False)
        if is_mixed(literal) or (head is _FTP and not literal.is_placeholder):
            allowance.spend(start)
            yield SecretSpan(start, start + len(literal.text), "PASSWORD")


FINDERS = (
    Finder.of(_HEADING, find_below_headings),
    Finder.of(_ALIAS, find_aliased),
    *(Finder.of(head, partial(find_below_titles, head)) for head in (_TITLE, _QUOTED_TITLE)),
    Finder.of(_OUTER, find_inner_elements),
    # Each by itself: where one stands in a text, the others need not be sought in all of it.
    *(
        Finder.of(head, partial(find, head))
        for heads, find in (
            (_ELEMENTS, find_named_elements), (_APART, find_told_apart),
            (_STATEMENTS, find_in_statements), ((_TUPLE, _FORM), find_in_tuples),
            ((_BESIDE_USER, _ROUTER, _FTP), find_beside_users),
        )
        for head in heads
    ),
)  # fmt: skip
