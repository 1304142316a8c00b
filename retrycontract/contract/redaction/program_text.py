"""Find secrets in program text, statements and forms, where the words around say what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.commands import METHOD
from retrycontract.contract.redaction.detectors import Finder, Head, has_digit
from retrycontract.contract.redaction.field_names import (
    SECRET_NAME,
    NameVerdict,
    is_secret_name,
    judge,
    judge_field,
    split_words,
    word_set,
)
from retrycontract.contract.redaction.likeness import is_tied
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret
from retrycontract.contract.redaction.values import read_list, read_literal

_QUOTE = r"(?:[@$bBrRuULNEe]{0,2}[\"'`])"
_CALL = Head(rf"(?i)({SECRET_NAME})([({{])\s*(?:[\w.]+\s?[=,]\s?)?({_QUOTE})[^\"'`]")
_PAIR_OF_ARGUMENTS = Head(
    rf"(?i)(?:credentials?|creds?|basic_?auth|password_?authentication|login|authenticate|\b(?:http_)?auth)[\"']?\s?(?:[:=]\s?)?[(\[]\s*"
    rf"{_QUOTE}[^\"'\n]{{1,100}}[\"'],\s*({_QUOTE})"
)
# What is taken where a variable with the name of a secret is missing: `getenv("PW") or "…"`, `fetch("PW") { "…" }`.
_TAKEN_INSTEAD = Head(
    rf"(?i)({SECRET_NAME})[\"'`\\\])}},!?]{{0,8}}(?:\.(?:trim|strip|ok|to_?string|get)\(\)|\s(?:if|unless)\s[^\n\"'`]{{1,60}}\s)?"
    r"(?:\s{0,20}(?:\|\||\?\?|\?:|\b(?:or|else)\b|[)\]]\s\{)|\}\s?//|[\"']\),|\s?,\s?(?:unset|default)\s?="
    r"|\.(?:unwrap_or(?:_else)?|or_?else(?:_get)?|get_?or_?else|if_?empty|or)\((?:\|\w?\||\w*\(?\)?\s?[-=]>)?)"
    rf"(?:[\s(]|\\\n){{0,20}}\\{{0,4}}({_QUOTE})[^\"'`\s]"
)
# What a function with the name of a secret gives back, `def get_password(): return "…"`.
_RETURNED = Head(
    rf"(?i)({SECRET_NAME})(?:\([^()\n]*\)[^\n;\"'`]*?(?:[{{:=>][ \t]*\r?\n)?[ \t]*"
    r"(?:\breturn[ \t(]*|=>?[ \t]*|\{[ \t]*)"
    r"|[\"']?[ \t]*[:=][ \t]*(?:(?:async[ \t]*)?\([^()\n]*\)[^\n;\"'`=]*=>[ \t]*(?:\{\s*return[ \t]*)?"
    rf"|lambda\b[^:\n]*:[ \t]*))({_QUOTE})[^\"'`\s]"
)
# A call that begins so asks for a secret by its name; what it is given is no secret.
_ASKING = word_set(
    "get read load fetch find lookup has is list delete remove describe parse decode generate request resolve access "
    "retrieve require required need missing forgot show prompt ask input label use from import export print log"
)
# What a module or an object with such a name is asked for: `pwd.getpwnam("nobody")`.
_READING = word_set("get getpwnam getpwuid getspnam getgrnam has find lookup")
# What a test, or a browser's script, does with a field of a form.
_TYPING = word_set(
    "sendkeys fill type typetext replacetext entertext inputtext settext setvalue addvalue presssequentially "
    "clearandtype performtextinput sendtext"
)
# What is done to any text, and what a test says when it has passed.
_OF_TEXTS = word_set("encode decode split join strip lstrip rstrip")
_GOES_ON = re.compile(r"[\"'`]\s*,\s*[\"'`]?\Z")
_MIXED = re.compile(r"(?=[^A-Za-z]*[A-Za-z])(?=[^0-9!@#$%^&*+]*[0-9!@#$%^&*+])")
_PART = Head(
    rf"(?i)[;\t ]name=[\"']?({SECRET_NAME})[\"']?(?:;[^\n]*)?[ \t\r]*\n(?:[A-Za-z-]+:[^\n]*\n){{0,4}}"
    r"(?:[ \t\r]*\n){1,3}[ \t]*([^\n\"']+)"
)
_INSERT = Head(
    r"(?i)\b(?:insert|replace|merge)\b[^\n;()]{0,20}\binto\s+[\w.\"`\[\]$]+\s*\(([^()]+)\)\s*"
    r"(?:output\s[^();]*?|overriding\s\w+\svalue\s)?values\s*"
)
_SQL = re.compile(
    r"\s*(?:(?P<string>[NEB]?'(?:[^'\\]|''|\\.)*'|'[^'\s]{6,200}\Z|\"[^\"\n]*\")|(?P<sign>[(),;])|(?P<bare>[^(),;'\"]+))"
)


def find_arguments(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `user.setPassword("value")`."""
    for find in _CALL.telling(text, allowance):
        verdict, words = judge(find[1]), split_words(find[1])
        receiver, _, verb = find[1].rpartition(".")
        if receiver and verb.casefold().replace("_", "") in _TYPING:  # `password_field.send_keys("…")`
            verdict, words = judge_field(receiver), ("type",)
        literal = read_literal(text, find.span(3)[0])
        if find[2] == "{" and literal and text[literal.end + 1 : literal.end + 2] != "}":
            continue
        method = split_words(find[1].rpartition(".")[2])
        # Behind a mere `get` the second one is what stands in for a secret; `get_password` takes names alone.
        is_only = literal and text.startswith(")", literal.end + 1)
        if not _READING.isdisjoint(method[:1]) and (is_only or len(method) > 1):
            continue
        if literal and verdict.mark and words and words[0] not in _ASKING and words[-1] not in _OF_TEXTS:
            # Behind a service and a user, or an address: `keyring.set_password("service", "user", "value")`.
            listed = [*read_list(text, find.span(3)[0])] if verdict.mark == "PASSWORD" else []
            if listed and _GOES_ON.match(text, listed[-1].end):  # the secret has gone before
                continue
            is_verb = find[1].casefold() in ("pass", "passes", "passed") and " " in literal.text
            for argument in listed[-1:] if len(listed) > 2 else [literal, *listed[1:]]:
                is_set = words[0] in ("set", "with") and is_tied(argument, verdict.mark)
                if (is_set or _is_argument(argument, verdict)) and not is_verb:
                    yield SecretSpan(argument.start, argument.end, verdict.mark)


def find_pairs_of_arguments(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `Credentials("ana", "value")`."""
    for find in _PAIR_OF_ARGUMENTS.telling(text, allowance):
        literal = read_literal(text, find.span(1)[0])
        if literal and literal.quoted and _is_argument(literal, NameVerdict(mark="PASSWORD")):
            yield SecretSpan(literal.start, literal.end, "PASSWORD")


def _is_argument(literal: Literal, verdict: NameVerdict) -> bool:
    """Say whether a quoted argument is a secret, rather than the name or the label of one."""
    if not literal.quoted or literal.is_placeholder or literal.is_word_of_code or is_secret_name(literal.text):
        return False
    if verdict.mark == "PASSWORD":
        return len(literal.text) >= 6 and is_quoted_secret(literal, "PASSWORD")
    return literal.is_noise or literal.is_dense


_WORDS_ARE_SECRETS = frozenset({"PASSWORD", "SECRET", "SESSION"})


def find_taken_instead(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `getenv("PASSWORD") or "value"` and its like in other languages."""
    for find in _TAKEN_INSTEAD.telling(text, allowance):
        mark, literal = judge(find[1]).mark, read_literal(text, find.span(2)[0])
        if not mark or not literal or not literal.quoted or literal.is_placeholder or METHOD.match(literal.text):
            continue
        # Labels and what is said of a mistake are words; a word alone is hardly a password.
        is_word = mark in _WORDS_ARE_SECRETS and " " not in literal.text and _MIXED.match(literal.text) is not None
        if literal.is_noise or literal.is_dense or (is_word and _is_argument(literal, NameVerdict(mark="PASSWORD"))):
            yield SecretSpan(literal.start, literal.end, mark)


def find_returned(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `def get_password(): return "value"`."""
    for find in _RETURNED.telling(text, allowance):
        verdict, literal = judge(find[1]), read_literal(text, find.span(2)[0])
        is_phrase = literal and _is_argument(literal, verdict) and has_digit(literal.text)
        if verdict.mark and literal and (is_phrase or is_tied(literal, verdict.mark)):
            yield SecretSpan(literal.start, literal.end, verdict.mark)


def find_parts(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the part of a multipart body whose name is a secret's."""
    for find in _PART.telling(text, allowance):
        start, end = find.span(2)
        if (mark := judge(find[1]).mark) and find[2].strip() and not find[2].startswith("--"):
            yield SecretSpan(start, start + len(text[start:end].rstrip()), mark)


def find_inserted_values(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the values that an INSERT puts into a secret's column, in every row."""
    taken = 0
    for find in _INSERT.telling(text, allowance):
        begin, position = find.span(0)
        # What stands among the values of the statement before is text that it inserts, not a statement.
        if begin < taken:
            continue
        columns = [judge(column.strip(' \t\r\n"`[]')).mark for column in find[1].split(",")]
        taken = position
        if not any(columns):
            continue
        column, depth = 0, 0
        while token := _SQL.match(text, taken):
            sign = token["sign"]
            if sign == ";" or (not depth and token["bare"]):  # what comes next may begin another statement
                break
            taken = token.end()
            depth += {"(": 1, ")": -1}.get(sign or "", 0)
            if depth <= 0 or (sign == "(" and depth == 1):
                column = 0
            elif sign == "," and depth == 1:
                column += 1
            elif token["string"] and column < len(columns) and (mark := columns[column]):
                allowance.spend(token.start())
                start = token.start("string") + 1 + token["string"][0].isalpha()
                yield SecretSpan(start, token.end() - (text[token.end() - 1] in "'\""), mark)


FINDERS = (
    Finder.of(_CALL, find_arguments),
    Finder.of(_PAIR_OF_ARGUMENTS, find_pairs_of_arguments),
    Finder.of(_TAKEN_INSTEAD, find_taken_instead),
    Finder.of(_RETURNED, find_returned),
    Finder.of(_PART, find_parts),
    Finder.of(_INSERT, find_inserted_values),
)
