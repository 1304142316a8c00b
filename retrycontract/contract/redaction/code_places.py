"""Tell places in source code from values: lines of files, members of modules and classes, ids of tests."""

from __future__ import annotations

import re

# A line of a source file, `password.py:12:5`; what a module or a class holds, `Password::make(`, tests among it.
_SOURCE = re.compile(
    r".*\.(?:py[iwx]?|[cm]?[jt]sx?|go|rs|rb|erb|java|kts?|scala|[ch]|cc|[ch]pp|cs|php|swift|exs?|vue|svelte|dart|lua|p[lm]"
    r"|sh|s?css|html|sql|tf|zig|clj|hs|md|ya?ml|json|toml|xml)"
)
_LINE_NUMBER = re.compile(r"[0-9]{1,6}(?::[0-9]{1,5})?(?=[\s),;\]\"'`]|\Z|:(?:\s|\Z|in\b|[ \t]*[\w.\"'-]+[ \t]*[:=]))")
_MEMBER = re.compile(r":[A-Za-z_]+(?:\([^()\n]*\)|::)")
_MEMBER_OF_CLASS = re.compile(r":[A-Za-z]+(?:_[A-Za-z_]+|[(;,)])")


def is_place_in_code(text: str, name: str, start: int, end: int) -> bool:
    """Say whether a colon stands before the line of a file, or two before what a module, a class or a file holds."""
    is_source = _SOURCE.fullmatch(name) is not None
    if text[end : end + 1] != ":":
        return is_source and _LINE_NUMBER.match(text, end) is not None
    is_inner = is_source or text[max(start - 2, 0) : start] == "::"
    is_member = _MEMBER.match(text, end) or (name[:1].isupper() and _MEMBER_OF_CLASS.match(text, end))
    return bool(is_member) or (is_inner and text[end + 1 : end + 2].isalpha())
