"""Read the value that follows a name in text: quoted or bare, a block, a list, an expression, behind a type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from retrycontract.contract.redaction.literals import Literal

# A list of more secrets than these is data.
MOST_LISTED = 100
QUOTES = "\"'`"
# A quoted value that goes on for longer is no credential of one line; bounds the search for the closing quote.
LONGEST_QUOTED = 4096
# A longer one without quotes is judged by its beginning; it ends where it ends.
LONGEST_JUDGED = 400
SHORTEST_CUT = 6

# In YAML an anchor or a tag may stand before the value; in program text a comment, or what says how the text is read.
# Templates of clouds and houses name with a tag where the value lies.
_REFERENCE = re.compile(
    r"!(?:Ref|GetAtt|Sub|ImportValue|FindInMap|Select|Join|If|secret|env_var|reference)[ \t]+[^\s\"'&]"
)
_YAML_NODE = re.compile(r"(?:[&!][\w!:/.-]{1,80}[ \t]+){1,2}")
_PREFIX = r"(?:[@$]{1,2}|u8|[bBrRuULNEefFsS]{1,2}#{0,3})"
_STRING_PREFIX = re.compile(rf"(?:/\*[^*\n]{{0,80}}\*/[ \t]*)?{_PREFIX}?(?=[\"'])")

# Where quotes are doubled, as in CSV or by a slip, the value stands between the inner ones.
_DOUBLED = re.compile(r"([\"'])\1[^\s\"',;:)\]}+.&|<]")


def read_literal(text: str, position: int, *, in_query: bool = False, within: int | None = None) -> Literal | None:
    """Read the value that starts at the position, after white space; None where nothing stands.

    Without a quote, `within` bounds the characters that are looked at.
    """
    end = len(text)
    start = position
    while start < end and start - position < 80 and text[start] in " \t":
        start += 1
    if start < end and text[start] in "\r\n":
        return _read_on_next_line(text, start)
    if start < end and text[start] == "!" and _REFERENCE.match(text, start):
        return None
    if start < end and text[start] in "&!" and (node := _YAML_NODE.match(text, start)):
        start = node.end()
    if start < end and (prefix := _STRING_PREFIX.match(text, start)):
        start = prefix.end()
    # In JSON within JSON the quote that opens the value is escaped.
    while start < end and text[start] == "\\" and text[start + 1 : start + 2] in ('"', "'"):
        start += 1
    if start >= end or text[start] in "\r\n":
        return None
    if text.startswith(('"""', "'''"), start) and (end := text.find(text[start : start + 3], start + 3)) > 0:
        return Literal(text[start + 3 : end], start + 3, end, quoted=True)
    if text[start] in QUOTES and _DOUBLED.match(text, start):
        start += 1
    if text[start] in QUOTES:
        close = closing_quote(text, start)
        if close is not None:
            stop = close - (text[close - 1] == "\\" and close - 1 > start)
            return Literal(text[start + 1 : stop], start + 1, stop, quoted=True)
        start += 1
    stop = unquoted_end(text, start, _QUERY_STOPS if in_query else _STOPS)
    if within is not None:
        stop = min(stop, start + within)
    elif not in_query and stop > start and (more := _GOES_ON.match(text, stop, stop + LONGEST_JUDGED)):
        stop = more.end()
    judged = text[start : min(stop, start + LONGEST_JUDGED)]
    # A text that was cut off within a string has no second quote.
    is_cut = stop - start >= SHORTEST_CUT and text[start - 1 : start] in ("'", '"') and stop >= len(text) - 1
    return Literal(judged, start, stop, quoted=is_cut) if stop > start else None


def _read_on_next_line(text: str, start: int) -> Literal | None:
    """Read a value on the line below its name, when it is quoted."""
    window = text[start : start + 80]
    indent = len(window) - len(window.lstrip())
    after = start + indent
    if dumped := _DUMPED.match(text, after):  # as PHP prints a variable
        after = dumped.end()
    if text[after : after + 1] in QUOTES and text[after : after + 1]:
        literal = read_literal(text, after)
        return literal if literal and literal.quoted else None
    return None


_DUMPED = re.compile(r"string\([0-9]+\) (?=\")")
_BLOCK = re.compile(r"[ \t]*[|>][-+0-9]{0,2}[ \t]*\r?\n([ \t]+)(?=\S)")


def read_block(text: str, position: int) -> Literal | None:
    """Read the indented lines of a YAML block that starts at the position; None where there is none."""
    heading = _BLOCK.match(text, position)
    if heading is None:
        return None
    start = end = heading.end()
    while (line := text.find("\n", end)) >= 0 and text.startswith(heading[1], line + 1):
        end = line + 1 + len(heading[1])
    end = line if line >= 0 else len(text)
    return Literal(text[start:end].rstrip(), start, start + len(text[start:end].rstrip()), quoted=True)


_NAMES = re.compile(r"[ \t]*=>")


def read_list(text: str, position: int) -> Iterator[Literal]:
    """Read the quoted strings of a list whose bracket opens just before the position."""
    for _ in range(MOST_LISTED):
        literal = read_literal(text, position)
        if literal is None or not literal.quoted:
            return
        after = literal.end + 1 + (text[literal.end : literal.end + 1] == "\\")
        if _NAMES.match(text, after):  # a list of PHP whose items have names
            return
        if literal.text and not literal.is_placeholder and not literal.text.startswith("[REDACTED: "):
            yield literal
        if text[after : after + 1] != ",":
            return
        position = after + 1


# The type of a name: `&'static str`, `Option<String>`, `list[str] | None`, `constant String`.
_TYPE = (
    r"[&*]?(?:'\w+[ \t]+)?(?:(?:mut|dyn|const|constant|readonly)[ \t]+)*[A-Za-z_](?:[A-Za-z_.]|:(?!=))*+[0-9]{0,2}"
    r"(?:<[^=\"\n;{}]{1,60}>|\[[^=\"'\n;{}]{0,60}\]|\([0-9, ]{1,8}\))?[?!*]?"
)
_TYPED = re.compile(rf"[ \t]*{_TYPE}(?:[ \t]*\|[ \t]*{_TYPE}){{0,3}}[ \t]*(:?=)(?![=>~])")
_GENERIC = re.compile(
    r"[ \t]*[A-Za-z_][\w.:]*+<(?!(?:br|p|b|i|u|td|tr|li|hr|em|a)\b)[A-Z&a-z'][^=\"\n;{}]{0,60}>[?!]?(?=[,;)=}\s]|\Z)"
)


def read_type(text: str, position: int) -> tuple[int, str] | None:
    """Read the type that stands behind a name and a colon; gives the place behind it, and the `=` or nothing."""
    end = position + LONGEST_EXPRESSION
    if typed := _TYPED.match(text, position, end):
        return typed.end(), typed[1]
    return (generic.end(), "") if (generic := _GENERIC.match(text, position, end)) else None


# What only wraps a value, as far as the call's bracket: `Some(`, `String::from(`, `SecretStr(`, `MD5(`.
_WRAPPING = (
    r"(?:some|just|ok|from|of|new|box|arc|rc|str|(?:\[\])?byte|bytes|bytearray|secret|secret_?(?:str|bytes|value)|text|b|u"
    r"|\w{0,12}string|char|quote|value_?of|literal|option|field|argument|md5|sha_?\d+|hash"
    r"|hashpw|crypt|encrypt|make_password|(?:generate_)?password_hash)"
)
_STRING = r"(?:\"[^\"\n]{0,80}\"|'[^'\n]{0,80}')"
_LOOKUP = (
    r"(?:[\w.$:]*(?i:get_?env|environ\.get|get|env|config|fetch|get_?or_?default|get_?property|getattr|setting)"
    rf"\(\s*{_STRING}|\boptional\(\s*\w{{1,12}})"  # the latter with the type of a variable of Terraform
    r"\s*,\s*(?:default\s?=\s?)?"
)
_WRAPPER = re.compile(
    rf"(?>[ \t]+|/\*[^*\n]*\*/|//[^\n]*\n\s*|(?:new|await)\b|{_LOOKUP}"
    rf"|(?:[\w.]{{0,40}}(?:\.|::))?(?i:{_WRAPPING})(?:<[^<>()\n]{{0,40}}>)?!?"
    rf"\(\s*(?:(?i:default|value|secret_value|initial)\s?=\s?)?|[&(]\s*|{_PREFIX}(?=[\"']))*+"
)
# What is called, read or counted before another value is taken instead: `os.getenv("PW") or "…"`, `x if y else "…"`.
_ATOM = (
    rf"(?:[ \t]++|(?!(?:or|else|then)\b)\w++|\.(?!unwrap_or)|[$\[\]!<>-]|::|{_STRING}"
    rf"|\((?:[^()\n\"']|{_STRING}|\([^()\n]{{0,80}}\))*+\))"
)
_ELSE = r"(?>\b(?:or|else|then)\b|\|\||\?\?|\?:?|:|\.unwrap_or\()"
_INSTEAD = re.compile(rf"(?:{_ATOM}*+{_ELSE}[ \t]*+)+?(?=[\"'`bBrR&S(])")
_JOINED = re.compile(
    rf"[ \t]*(?:\+{{1,2}}|\.{{1,2}}|&|<>|{_ELSE})\s*(?=[\"'`])|[ \t]+if\b[^\n\"']{{1,80}}\belse\b[ \t]*(?=[\"'`])"
)
# A quote on the same line, or below an open bracket or a comment.
_QUOTED_SOON = re.compile(r"(?:[\w.: \t]*+\(\s*)?(?:[^\"'`\n;/]++|/(?!/)|//[^\n]*\n)*+[\"'`]")
_BRACKETED = re.compile(r"[^\w!>]\(\s*[bBrRuU]?\Z")
_DEFAULT = re.compile(
    r"[^()]{0,300}?\b(?:default(?:_?[vV]alue)?|(?:use|initial)?_?[vV]alue|with|initial|fallback)\s?(?:=>?|:)\s?(?=[\"'])"
)
LONGEST_EXPRESSION, MOST_PARTS = 300, 10


def read_default(text: str, position: int) -> Literal | None:
    """Read what `"--password", help="…", default="…"` gives to the name before the position."""
    default = _DEFAULT.match(text, position)
    return read_literal(text, default.end()) if default else None


def has_string(text: str, position: int) -> bool:
    """Say whether a string may stand in the expression that starts at the position; in most there is none."""
    return _QUOTED_SOON.match(text, position, position + LONGEST_EXPRESSION) is not None


def read_expression(text: str, first: Literal | None, position: int) -> Iterator[Literal]:
    """Read the strings of an expression that may be its value: wrapped, joined, or taken where another is missing.

    The expression starts at the position; what comes behind its first string is read where that is given.
    """
    end = min(len(text), position + LONGEST_EXPRESSION)
    for _ in range(MOST_PARTS):
        if first is None:
            wrapped = _WRAPPER.match(text, position, end)
            position = wrapped.end() if wrapped else position
            is_bracketed = bool(_BRACKETED.search(text, position - 40 if position > 40 else 0, position))
            if text[position : position + 1] not in tuple(QUOTES):
                instead = _INSTEAD.match(text, position, end)
                if instead is None:
                    return
                position = instead.end()
                continue
            first = read_literal(text, position)
            if first is None or not first.quoted:
                return
            # Several values in brackets are a list.
            if is_bracketed and text[first.end + 1 : first.end + 2] == ",":
                return
            yield first
        end = min(len(text), first.end + LONGEST_EXPRESSION)
        joined = _JOINED.match(text, first.end + 1, end)
        if joined is None:
            return
        position, first = joined.end(), None


# What is combined, chosen or assigned on, and a type: `value and not f(x)`, `x if y else z`, `a = b`, `T | None`.
_EXPRESSION = re.compile(
    r"[ \t]+(?:(?:and|or)[ \t]+(?:not\b|[\w.]{1,60}[(\[])|if[ \t][^\n]{1,80}[ \t]else\b|is[ \t]+(?:not[ \t]+)?None\b"
    r"|=[ \t]+[A-Za-z_]|\|[ \t]*(?:None|null|undefined|str|bytes)\b)"
)


def goes_on_as_code(text: str, end: int) -> bool:
    """Say whether what stands behind a word makes it a part of an expression of program text."""
    return _EXPRESSION.match(text, end) is not None


def closing_quote(text: str, start: int) -> int | None:
    """Find the quote that closes the one at `start`, on its line, or None; one that is escaped or doubled is none."""
    limit = min(len(text), start + LONGEST_QUOTED)
    newline = text.find("\n", start, limit)
    close = _closed_by(text[start], is_escaped=text[start - 1 : start] == "\\").match(
        text, start + 1, limit if newline < 0 else newline
    )
    return close.end() - 1 if close else None


@cache
def _closed_by(quote: str, *, is_escaped: bool) -> re.Pattern[str]:
    escaped = "" if is_escaped else rf"|(?<=\\){quote}"
    return re.compile(rf"(?:[^{quote}]++|{quote}{quote}(?=[^\W_]){escaped})*+{quote}")


_STOPS = re.compile(r"[;\s\"'`<>\\]|[,;)}\]](?=[\s\"']|\Z)")
# In a file of settings a sign within a password ends nothing: `DB_PASSWORD=aB3k;xY9z`.
_GOES_ON = re.compile(r"[;<>\"'`](?=[!-~]{0,40}[0-9])(?=[!-~]{0,40}[A-Za-z])[\w!#$%^*+?~.;<>\"'`-]+(?=\s|\Z)")
_QUERY_STOPS = re.compile(r"[;\s\"'`<>\\&#,)\]}]")


def unquoted_end(text: str, start: int, stops: re.Pattern[str] = _STOPS) -> int:
    """Give the end of an unquoted value: white space, a quote, a bracket or a comma before one of these."""
    global _last
    known, first, end = _last
    # In a text without blanks every value ends at the same place: each name would look through all of the rest.
    if known != (asked := (hash(text), len(text), stops)) or not first <= start <= end:
        match = stops.search(text, start)
        end = match.start() if match else len(text)
        _last = (asked, start, end)
    return end


# The text and the stops of the last look, and from where to where it went: one value, so that threads see all or none.
_last: tuple[object, int, int] = (None, 0, 0)
