"""What the members of an object tell of each other: names beside values, columns beside rows, titles above notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from retrycontract.contract.redaction.commands import reads_password
from retrycontract.contract.redaction.consoles import SHOWN_WORDS
from retrycontract.contract.redaction.detectors import compiled
from retrycontract.contract.redaction.field_names import NAME_WORDS, judge, split_words
from retrycontract.contract.redaction.foreign import items_of, without_marks
from retrycontract.contract.redaction.likeness import is_certain
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.rows import MOST_COLUMNS, bound_names
from retrycontract.contract.redaction.scan_copies import ascii_copy

# Without such a word members tell nothing of each other.
_TELLING_WORD = rf"(?i){NAME_WORDS}|{SHOWN_WORDS}"
# The member that names, and the members that then hold the secret; all are compared in small letters.
NAMING = ("name", "key", "field", "header", "variable", "var", "env", "param", "parameter", "property", "attribute",
          "label", "varname", "env_name", "setting", "option", "question", "parameterkey", "optionname",
          "parametername", "secretname", "secret_name", "secretid", "secret_id", "variablename",
          "variable_name", "provide")  # fmt: skip
_VALUES = ("value", "val", "default", "secret_value", "v", "contents", "answer", "new_value", "newvalue", "current",
           "parametervalue", "default_value", "defaultvalue", "stringvalue", "string_value",
           "secretstring", "usevalue")  # fmt: skip
# What is changed is named, and its new value stands beside.
_CHANGED = ("variable", "var", "env", "env_name", "varname", "setting", "field", "key", "param", "parameter",
            "property")  # fmt: skip
_NEW = ("to", "new", "set_to", "set", "old", "from", "previous", "before", "after")
CHANGEABLE = frozenset({"PASSWORD", "SECRET", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY"})
MANIFEST = ("data", "stringdata")
# These name other things as well: what they name has to be a password, a key or the like.
ALSO_NAMING = ("id", "column", "col", "k", "type", "n", "setting_name")
_ORDINARY = frozenset({"AUTHORIZATION", "SESSION", "COOKIE", "CREDENTIAL"})
# What a browser tool types goes into what a selector or a description points at.
POINTING = ("selector", "element", "locator", "xpath", "field", "label", "placeholder", "ref", "target")
_TYPED = ("text", "value", "input", "keys")
TYPED_SECRETS = frozenset(
    {"password", "passwd", "pwd", "passcode", "passphrase", "otp", "pin", "cvv", "secret", "token"}
)
# The list that names, and the list, or the list of rows, that holds what it names.
COLUMNS = ("columns", "fields", "headers", "header", "cols", "column_names", "keys", "names")
_ROWS = ("values", "rows", "row", "data", "params", "parameters", "records", "body")
QUERIES = ("sql", "query", "statement", "text")
_BOUND = ("parameters", "params", "args", "values", "bindings", "arguments")
# What is asked for, and the answer; a file named for a secret; a command that reads a password: one word each.
PROMPTS, _ANSWERS = ("prompt", "expect"), ("response", "send", "answer", "reply", "input", "text", "value")
FILES, _CONTENTS = ("path", "file_path", "filepath", "filename", "file"), ("content", "contents", "text", "data")
_RUN, _INPUTS = ("command", "cmd"), ("stdin", "input")
LONGEST_QUERY = 10_000
MOST_WORDS = 4


def spellings_of(name: str) -> tuple[str, str, str]:
    """Give a name as programs spell it."""
    return name, name.capitalize(), name.upper()


# What a note or a form is headed with, and a field says of itself: one word that looks like a password stands below.
_TITLES, _NOTES = (
    ("title", "heading", "subject", "question", "description", "summary"),
    ("content", "body", "answer", "value", "text"),
)
_FLAGS = ("secret", "is_secret", "issecret", "password", "is_password", "ispassword", "sensitive", "is_sensitive",
          "issensitive", "masked", "is_masked", "hidden_input")  # fmt: skip
_HELD = ("value", "text", "keystrokes", "keys", "input", "content", "answer")
MOST_OF_TITLE = 6  # words


_TELLING = {
    *NAMING, *_TITLES, *_FLAGS, *ALSO_NAMING, *POINTING, *COLUMNS, *QUERIES, *PROMPTS, *FILES, *_RUN,
    "inputtype", "input_type", "kind", "op", "clave", "chave",
}  # fmt: skip
_SPELLINGS = frozenset(spelling for name in _TELLING for spelling in spellings_of(name)) | {
    "ParameterKey", "OptionName", "ParameterName", "SecretName", "secretName", "SecretId", "secretId", "variableName",
    "inputType", "isSecret", "isPassword", "isSensitive", "isMasked",
}  # fmt: skip


def paired_values(members: dict[Any, Any], shown: Callable[[Any], str]) -> dict[Any, str | tuple[str | None, ...]]:
    """Give the keys of an object whose values a sibling calls secret, each with its mark; for a list one of each item.

    `shown` gives a name as it may be looked at, and nothing for what is no name.
    """
    found: dict[Any, str | tuple[str | None, ...]] = {}
    if _SPELLINGS.isdisjoint(dict.keys(members)):
        return found
    folded = {key.casefold(): key for key in dict.keys(members) if type(key) is str and len(key) <= MOST_FOLDED}

    def told(name: str) -> str:
        return shown(dict.get(members, folded[name])) if name in folded else ""

    for naming in (name for name in (*NAMING, *ALSO_NAMING) if name in folded):
        name = told(naming)
        mark = judge(name).mark if name and len(name.split()) <= MOST_WORDS else None
        if mark and (naming in NAMING or mark not in _ORDINARY) and (naming != "type" or mark == "PASSWORD"):
            values = (*_VALUES, *_NEW) if naming in _CHANGED and mark in CHANGEABLE else _VALUES
            found.update((folded[key], mark) for key in values if key in folded and key != naming)
    is_patch = "op" in folded or told("path").startswith("/")
    if is_patch and (mark := judge(told("path").rpartition("/")[2]).mark):  # JSON Patch
        found.update((folded[key], mark) for key in ("value",) if key in folded)
    for pointing in (name for name in POINTING if name in folded):
        target = told(pointing)
        named = judge(target).mark if len(target.split()) <= MOST_WORDS else None
        if target and (named in ("PASSWORD", "API_KEY") or not TYPED_SECRETS.isdisjoint(split_words(target))):
            found.update((folded[key], "PASSWORD") for key in _TYPED if key in folded and key != pointing)
    if any(dict.get(members, folded[flag]) is True for flag in _FLAGS if flag in folded):
        held = (folded[key] for key in _HELD if key in folded)
        found.update((key, "SECRET") for key in held if type(dict.get(members, key)) is str)
    for key in (folded[name] for name in ("clave", "chave") if name in folded):
        if type(value := dict.get(members, key)) is str and Literal.whole(value).is_signed:
            found[key] = "PASSWORD"
    words = [key for key in folded if _is_word(dict.get(members, folded[key]))]
    if words:
        found.update((folded[key], mark) for key, mark in _answers_to(folded, words, told) if folded[key] not in found)
    if told("kind").casefold() == "secret":
        found.update((folded[key], "SECRET") for key in MANIFEST if key in folded)
    for key, marks in _columns_of(members, folded):
        found.setdefault(key, marks)
    return found


def _is_word(value: Any) -> bool:
    return type(value) is str and 3 <= len(value.strip()) <= LONGEST_COLUMN and not any(map(str.isspace, value.strip()))


def _answers_to(folded: dict[str, Any], words: list[str], told: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Give the members of one word that answer a prompt, fill a secret's file or are read by a command."""
    for prompt in (name for name in PROMPTS if name in folded):
        asked = told(prompt)
        if len(asked.split()) <= MOST_WORDS and not TYPED_SECRETS.isdisjoint(split_words(asked)):
            yield from ((key, "PASSWORD") for key in _ANSWERS if key in words)
    for file in (name for name in FILES if name in folded):
        name = told(file).rpartition("/")[2].removesuffix(".txt").lstrip(".")
        is_key = name.endswith((".key", ".secret", ".token", ".pass"))
        mark = "API_KEY" if is_key else None if "." in name else judge(name).mark
        if mark in (*CHANGEABLE, "TOKEN") and mark:
            yield from ((key, mark) for key in _CONTENTS if key in words)
    if any(reads_password(told(name)) for name in _RUN if name in folded):
        yield from ((key, "PASSWORD") for key in _INPUTS if key in words)
    kinds = {told(name).casefold() for name in ("type", "kind", "inputtype", "input_type")}
    if not kinds.isdisjoint(("securestring", "password")):
        yield from ((key, "PASSWORD") for key in ("text", "value", "content", "data") if key in words)
    for title in (name for name in _TITLES if name in folded):
        head = told(title)
        words_of = split_words(head) if len(head.split()) <= MOST_OF_TITLE else ()
        is_field = words_of[1:] in (("field",), ("input",), ("box",))
        # A title ends in what stands below it: `Password reset page` does not.
        mark = judge("_".join(words_of[:1] if is_field else words_of[-2:])).mark
        if not is_field and words_of and judge(words_of[-1]).mark is None and words_of[-1] != "key":
            mark = None
        if mark in CHANGEABLE and mark:
            held = (key for key in _NOTES if key in words and key != title)
            yield from ((key, mark) for key in held if is_certain(Literal.whole(told(key).strip()), mark))


MOST_FOLDED = 40  # characters of a name of which a neighbour is looked for


def _columns_of(members: dict[Any, Any], folded: dict[str, Any]) -> Iterator[tuple[Any, tuple[str | None, ...]]]:
    for naming in (name for name in COLUMNS if name in folded):
        names = dict.get(members, folded[naming])
        if issubclass(type(names), (list, tuple)):
            plain = [_name_of(name) for name in items_of(names)[:MOST_COLUMNS]]
            yield from _marked(folded, _ROWS, naming, plain)
    for naming in (name for name in QUERIES if name in folded):
        query = dict.get(members, folded[naming])
        if type(query) is str and any(key in folded for key in _BOUND):
            yield from _marked(folded, _BOUND, naming, bound_names(query[:LONGEST_QUERY]))


def _name_of(column: Any) -> str:
    """Give the name of a column, which may stand in an object with its type."""
    if issubclass(type(column), dict):
        column = dict.get(column, "name")
    return column if type(column) is str else ""


def _marked(
    folded: dict[str, Any], holders: tuple[str, ...], naming: str, names: list[str]
) -> Iterator[tuple[Any, tuple[str | None, ...]]]:
    marks = tuple(judge(without_marks(name)).mark if len(name) <= LONGEST_COLUMN else None for name in names)
    if any(marks):
        yield from ((folded[key], marks) for key in holders if key in folded and key != naming)


LONGEST_COLUMN = 120


def headed_columns(items: list[Any]) -> tuple[str | None, ...]:
    """Give the marks of the columns of a list of rows, of which the first one names them, as in a sheet."""
    first, second = items[:2] if len(items) > 1 else ((), ())
    if not all(issubclass(type(row), (list, tuple)) and row for row in (first, second)) or len(first) != len(second):
        return ()
    named = (
        judge(without_marks(name)).mark if type(name) is str and len(name) <= LONGEST_COLUMN else None
        for name in items_of(first)
    )
    marks = tuple(mark if mark in CHANGEABLE else None for mark in named)
    return marks if any(marks) else ()


def may_tell(written: str) -> bool:
    """Say whether the members of JSON that a text holds may tell of each other; most say so by no word."""
    return compiled(_TELLING_WORD, captures=False).search(ascii_copy(written).encode()) is not None
