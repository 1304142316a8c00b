"""Tell places in source code from values: lines of files, members of classes, ids of tests, libraries."""

from __future__ import annotations

import re

from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.values import QUOTES

# A line of a source file, `password.py:12:5`; what a module or a class holds, `Password::make(`, tests among it.
_SOURCE = re.compile(
    r".*\.(?:py[iwx]?|[cm]?[jt]sx?|go|rs|rb|erb|java|kts?|scala|[ch]|cc|[ch]pp|cs|php|swift|exs?|vue|svelte|dart|lua|p[lm]"
    r"|sh|s?css|html|sql|tf|zig|clj|hs|md|ya?ml|json|toml|xml)"
)
_LINE_NUMBER = re.compile(r"[0-9]{1,6}(?::[0-9]{1,5})?(?=[\s),;\]\"'`]|\Z|:(?:\s|\Z|in\b|[ \t]*[\w.\"'-]+[ \t]*[:=]))")
# A test by its file, or by its folder: `PASS: tests/test_core.py`, `PASS: gdb.base/langs.exp: up to main`.
_TEST = re.compile(r"[\w.+~/-]+\.(?:exp|py|sh|[cm]?[jt]sx?|c|cc|[ch]pp|go|rs|t|at|rb|php|java)[:,]?\Z")
_TEST_OF_FOLDER = re.compile(r"[A-Za-z_.+-]+/[\w./+-]+[:,]?\Z|(?i:test|check)[\w.-]+\Z")
# A library by its group, its name and its version: `com.auth0:java-jwt:4.4.0`, `io.jsonwebtoken:jjwt-api:jar:0.11.5`.
_PACKAGING = r"(?:jar|pom|aar|war|ear|zip|bundle|klib|test-jar|maven-plugin)"
_GROUP = re.compile(r"(?:com?|org|io|net|dev|me|de|fr|c[hn]|ru|uk|eu|ai|app|tech|software|javax?|jakarta|androidx?)\.")
_ARTIFACT = re.compile(rf"[A-Za-z][\w.-]{{0,80}}:(?:v?[0-9$@+]|{_PACKAGING}\b)|{_PACKAGING}:[0-9]")
_MEMBER = re.compile(r":[A-Za-z_]+(?:\([^()\n]*\)|::)")
_MEMBER_OF_CLASS = re.compile(r":[A-Za-z]+(?:_[A-Za-z_]+|[(;,)])")


def is_place_in_code(text: str, name: str, start: int, end: int) -> bool:
    """Say whether a colon stands before the line of a file or in a library's name, or two before a member of code."""
    if _ARTIFACT.match(text, end) and (_GROUP.match(name) or text[start - 1 : start] == ":"):
        return True
    is_source = _SOURCE.fullmatch(name) is not None
    if text[end : end + 1] != ":":
        return is_source and _LINE_NUMBER.match(text, end) is not None
    is_inner = is_source or text[max(start - 2, 0) : start] == "::"
    is_member = _MEMBER.match(text, end) or (name[:1].isupper() and _MEMBER_OF_CLASS.match(text, end))
    return bool(is_member) or (is_inner and text[end + 1 : end + 2].isalpha())


def is_test(word: str, *, is_shouted: bool) -> bool:
    """Say whether a word behind `pass:` is a test that has passed; behind `PASS:` a plain word is one as well."""
    is_named = is_shouted and (word.isidentifier() or _TEST_OF_FOLDER.match(word) is not None)
    return is_named or _TEST.match(word) is not None


# What a colon ends that opens a block of program text.
_BLOCK_HEAD = re.compile(
    r"[ \t]*(?:(?:async[ \t]+)?(?:class|def|if|elif|for|while|with|case|match|try|except)\b|[^\n]*->)"
)
LONGEST_LINE = 200


def opens_block(text: str, place: tuple[int, int], closers: str, literal: Literal) -> bool:
    """Say whether a string behind a name and its colon is no value: a docstring, `" { "` in `"password:" { "…" }`."""
    start, end = place
    line = text.rfind("\n", max(start - LONGEST_LINE, 0), start) + 1
    if closers[:1] in (*QUOTES, "\\"):
        return False
    if literal.text[:1] in (" ", ")", ",", ";", "{") and text.count(text[literal.start - 1], line, start) % 2:
        return True
    if "\n" not in text[end : literal.start]:
        return False
    return text.startswith(('"""', "'''"), literal.start - 3) or bool(_BLOCK_HEAD.match(text, line, end))
