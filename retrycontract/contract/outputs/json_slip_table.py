"""The table of slips that models make in JSON: how each is recognised, what to write instead, how the rest is read."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

VALUE, NAME, COMMA, COLON, CONTROL, ESCAPE, OPEN = (
    "Expecting value", "Expecting property name", "Expecting ',' delimiter", "Expecting ':' delimiter",
    "Invalid control character", "Invalid \\", "Unterminated string",
)  # fmt: skip
WRITER = json.JSONEncoder(ensure_ascii=False)
# As WRITER writes an escape of another language: its backslash twice.
ESCAPES = re.compile(r"""\\\\(\\\\|\\"|['`bfnrt/]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})""")
Mend = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Slip:
    """Name one slip: what the decoder says there, how it looks, what it is, what to do instead, how it is mended.

    It begins `back` characters before the place where the decoder gave up, blanks left out. One that is not `sure` may
    have been meant otherwise: its mended value is not held against the contract. What `looks_like` one of the kinds of
    OUTSIDE_STRINGS is known wherever it stands.
    """

    said: tuple[str, ...]
    looks: re.Pattern[str]
    what: str
    advice: str
    mend: Mend
    back: int = 0
    sure: bool = True
    looks_like: str = ""


def _string(match: re.Match[str]) -> str:
    """Write what stood between other quotes as a JSON string; escapes mean what they do in Python and JavaScript."""
    return ESCAPES.sub(_escape, _bare(match))


def _escape(found: re.Match[str]) -> str:
    meant = found[1]
    return f"\\u00{meant[1:]}" if meant[0] == "x" else meant if meant[0] in "\\'`" else f"\\{meant}"


def _bare(match: re.Match[str]) -> str:
    """Write what stood without quotes as a JSON string."""
    return WRITER.encode(match[1])


def _quoted_within(match: re.Match[str]) -> str:
    inner = re.sub(r'(?<!\\)"', r"\"", match["rest"] or "")
    return f'\\"{inner}{match["end"] or ""}'


def _controls(match: re.Match[str]) -> str:
    return re.sub(r"[\x00-\x1f]", lambda found: json.dumps(found[0])[1:-1], match[0])


def _row(
    said: str | tuple[str, ...], looks: str, what: str, advice: str, mend: Mend = "", *, back: int = 0,
    sure: bool = True, looks_like: str = "",
) -> Slip:  # fmt: skip
    return Slip(
        (said,) if isinstance(said, str) else said, re.compile(looks), what, advice, mend, back, sure, looks_like
    )


def _words() -> Iterator[Slip]:
    """Give a row for each word of other languages that stands where JSON has another."""
    for right, wrongs in WORDS.items():
        for wrong in wrongs:
            advice = f"write {right} instead of {wrong}" + (", where null is allowed" if right == "null" else "")
            what = f"{wrong}, which is no JSON,"
            yield _row(VALUE, rf"{re.escape(wrong)}\b", what, advice, right, looks_like=wrong)
    for wrong in ("undefined", "nan", "NAN", "inf", "INF"):
        advice = f"write a value instead of {wrong}, or leave the field out"
        yield _row(VALUE, rf"[+-]?{wrong}\b", f"{wrong}, which is no JSON,", advice, "null", sure=False)


WORDS = {"true": ("True", "TRUE"), "false": ("False", "FALSE"), "null": ("None", "NULL", "Null", "nil", "NONE")}
TRAILING = "Illegal trailing comma"
ANYWHERE = (VALUE, NAME, COMMA, COLON, "Extra data")
STARTS = (VALUE, NAME)
_ENDS = r"(?=\s*(?:[,:}\]：，、،=]|\Z))"
_WHOLE = r"'[^'\n]*'|\"[^\"\n]*\""
_PAST_NUMBER = r"(?:(?<=\d)|(?<=\d ))"
QUOTE_WITHIN = ("a double quote inside a string", 'write \\" for each double quote inside a string')
# The first row that fits counts: what is more exact stands first.
SLIPS: tuple[Slip, ...] = (
    _row(
        (VALUE, NAME), r",(?=\s*[}\]])", "a comma before the closing bracket", "remove the comma after the last entry",
        back=1, looks_like="comma",
    ),
    _row(
        VALUE, r"(?:(?<=:)|(?<=: ))(?=[,}\]])", "a key without a value",
        "write a value after the colon, or leave the field out", "null", sure=False,
    ),
    _row(STARTS, r",+", "a second comma", "remove the extra comma"),
    _row(
        ANYWHERE, r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|<!--[\s\S]*?-->|#(?!\w*;)[^\n]*", "a comment",
        "remove the comments, which JSON has not", looks_like="comment",
    ),
    _row(
        ANYWHERE, r"\.{3}|…", "an ellipsis", "write every entry out instead of '...'", sure=False,
    ),
    _row(
        STARTS, r"&(?:quot|#34|#x22|apos|#39|amp);[\s\S]*", "an HTML entity",
        'write the characters themselves, " instead of &quot;', lambda match: html.unescape(match[0]),
    ),
    _row(
        STARTS, r'\\"[\s\S]*', "a backslash before a quote that begins a string",
        "remove the backslashes before the quotes", lambda match: match[0].replace('\\"', '"'),
    ),
    _row(
        ANYWHERE, r"(?:\\[nrt]\s*)+", "an escaped line break between values",
        "write no \\n between values, only inside strings", " ",
    ),
    _row(
        ANYWHERE, r"[\u00a0\u1680\u2000-\u200f\u202f\u2060\u3000\ufeff]+", "an unusual blank",
        "write plain spaces between values", " ",
    ),
    _row(COLON, r"：", "a full-width colon", "write a plain colon", ":"),
    _row(COMMA, r"[，、،]", "a full-width comma", "write a plain comma", ","),
    _row(
        STARTS, r"'''([\s\S]*?)'''", "a string in triple quotes",
        "write strings in one pair of double quotes, with \\n for line breaks", _string,
    ),
    _row(
        STARTS, rf"'(?:[^'\\\n]|\\.)*+'(?:\s*+(?:\+\s*+)?'(?:[^'\\\n]|\\.)*+')++{_ENDS}", "strings side by side",
        "write one whole string in double quotes: JSON joins nothing", '""', sure=False,
    ),
    _row(
        STARTS, rf"'((?:[^'\\\n]|\\.|'(?!\s*(?:[,:}}\]=]|\+?\s*')))*+)'{_ENDS}", "a string in single quotes",
        "write strings and keys in double quotes", _string, looks_like="single",
    ),
    _row(
        STARTS, rf'[“”„‟«»‘’‚＂「『]([^“”„‟«»＂「」『』"\n]*?)[“”‟«»’‘＂」』"]{_ENDS}', "a string in curly quotes",
        'write plain double quotes (") around strings and keys', _string, looks_like="curly",
    ),
    _row(
        OPEN, rf'"([^"”\n]*)[”“]{_ENDS}', "a string in curly quotes",
        'write plain double quotes (") around strings and keys', _string,
    ),
    _row(
        STARTS, rf"'([^'\"\n]*)\"{_ENDS}", "a string whose quotes differ", "write double quotes on both sides", _string,
    ),
    _row(VALUE, r"`([^`]*)`", "a string in backticks", "write strings in double quotes, not backticks", _string),
    _row(
        COMMA, r'"""([\s\S]*?)"""', "a string in triple quotes",
        "write strings in one pair of double quotes, with \\n for line breaks", _string, back=2,
    ),
    *_words(),
    _row(VALUE, r":", "a second colon", "write one colon between key and value"),
    _row(VALUE, r"(?:-(?=-)|[~≈<>]=?\s*(?=\d))", "a sign before a number", "write the number alone", sure=False),
    _row(VALUE, r"\+(?=[\d.])", "a plus sign before a number", "write the number without the plus sign"),
    _row(VALUE, r"(-?)\.(?=\d)", "a number that begins with a point", "write 0 before the point", r"\g<1>0."),
    _row(VALUE, r"[$€£¥]\s?(?=\d)", "a currency sign", "write the number alone", sure=False),
    _row(STARTS, r"[buBU](?=[\"'])", "a letter before a quote", "write the string without a letter before it"),
    _row(
        STARTS, r"[rbfRBF]{1,2}(?=[\"'])", "letters before a quote",
        "write the string as it is meant, without a letter before it", sure=False,
    ),
    _row(
        VALUE, rf"\((?!\d{{1,3}}(?:,\d{{3}})+\))((?:(?:[^()'\",]|{_WHOLE})*+,(?:[^()'\"]|{_WHOLE})*+)?)\)", "a tuple",
        "write lists in square brackets", r"[\1]",
    ),
    _row(VALUE, r"\(([^()]*)\)", "parentheses", "write lists in square brackets", r"[\1]", sure=False),
    _row(
        VALUE, r"<[^<>\n]{1,80}>", "a placeholder", "write the value itself instead of a placeholder", '""', sure=False,
    ),
    _row(
        VALUE, r"(?:new\s+)?[A-Za-z_][\w.]*(?:\([^()\n]*\)|\[[^\[\]\n]*\])[^\s,}\]]*|\$\{?\w[\w.]*\}?", "an expression",
        "write the value itself: JSON has no functions", '""', sure=False,
    ),
    _row(
        VALUE, r"[\w$]+(?=\s*:)", "a key in a list", "write keys and values in braces, {…}", '""', sure=False,
    ),
    _row(
        VALUE, r'([^\W\d_](?:[^,}\]\n"{\[]*[^,}\]\n"{\[\s])?)(?=\s*[,}\]\n])', "a text without quotes",
        "put double quotes around the text", _bare,
    ),
    _row(NAME, r",(\d{3})(?=[\s,}\]])", "a comma within a number", "write the number without commas", r"\1", back=1),
    _row(
        NAME, r'"?([\w$@][\w$@./ -]*?)"?(?=\s*[:=])', "a key without its quotes", "put double quotes around the key",
        _bare, looks_like="key",
    ),
    _row(NAME, r",(\d{1,2})(?=\s*[,}\]])", "a decimal comma", "write a point before decimals", r".\1", back=1),
    _row(
        NAME, r"\[", "a list where a key is due", "write a key and a colon before it, or no braces around it", '"": [',
        sure=False,
    ),
    _row(
        NAME, r"\{", "a second opening brace", "write one brace, { and }, where you wrote two", sure=False,
    ),
    _row(
        COLON, r'(?:(?<=:")|(?<=: "))', "a key that is not closed",
        "close the key with a double quote before its colon", ': "', sure=False,
    ),
    _row(COLON, r"=>?|:=", "an equals sign after a key", "write a colon between key and value", ":"),
    _row(
        COLON, r"(?=[,}])", "a key without a value",
        "give each key a value after a colon, or write a list in square brackets", ":null", sure=False,
    ),
    _row(COLON, r'(?=["\d{\[tfn\'-])', "no colon after a key", "write a colon between key and value", ":"),
    _row(
        COMMA, r"0[xXbBoO][0-9a-fA-F_]+", "a number that is not decimal", "write the number in decimal digits",
        lambda match: str(_integer(match[0])), back=1,
    ),
    _row(COMMA, r"0+(?=\d)", "a zero before a number", "write the number without leading zeros", back=1),
    _row(
        COMMA, rf"{_PAST_NUMBER}(?:-\d|:\d|/\d+/|\.\d)[^\s,}}\]\"]*",
        "a text that begins with digits, without quotes", "put double quotes around the text, or write one number",
        sure=False,
    ),
    _row(
        COMMA, rf"{_PAST_NUMBER}[*/+-]\s*[\d.(][^,}}\]\"]*", "a calculation",
        "write its result: JSON calculates nothing", sure=False,
    ),
    _row(
        COMMA, r"(?<=\d)[_'](\d[\d_']*)", "a separator within a number", "write the number's digits alone",
        lambda match: re.sub(r"\D", "", match[0]),
    ),
    _row(COMMA, r"(?<=\d)\.(?![\d.])", "a point without digits after it", "write digits after the point, or no point"),
    _row(
        COMMA, rf"{_PAST_NUMBER}(?:[%°€$£¥]|[^\W\d_]{{1,12}}){{1,2}}(?=\s*[,}}\]])", "a unit after a number",
        "write the number alone, without its unit",
    ),
    _row(COMMA, r'"\s*\+\s*"', "two strings joined by +", "write one whole string: JSON joins nothing", back=1),
    _row(
        COMMA, r"(?:\|+|or\b|and\b|\.\.)\s*(?:\"[^\"\n]*\"|[\w.-]+)", "two values in one place", "write one value",
        sure=False,
    ),
    _row(COMMA, r";", "a semicolon", "write a comma between entries", ","),
    _row(
        COMMA,
        r'"(?!\s*[,:}\]"\[{\d\']|\s*\Z|\s+[\w$]+"?\s*:)(?P<rest>[^"]*+(?:"(?!\s*[,:}\]]|\s*\Z)[^"]*+)*+)(?P<end>")'
        r"(?=\s*[,:}\]])",
        *QUOTE_WITHIN, _quoted_within, back=1, sure=False,
    ),
    _row(COMMA, r'"(?P<rest>)(?P<end>)(?=[^\s,:}\]"\[{])', *QUOTE_WITHIN, _quoted_within, back=1, sure=False),
    _row(
        COMMA, r"(?=[\"'{\[\d“-]|(?:true|false|null|True|False|None)\b|[\w$]+\"?\s*:)", "no comma between two entries",
        "write a comma between the entries", ",",
    ),
    _row(COMMA, r"\}", "a list that is not closed", "close the list with ] before this }", "]}", sure=False),
    _row(COMMA, r"\]", "an object that is not closed", "close the object with } before this ]", "}]", sure=False),
    _row(
        COMMA, r":", "a colon where a comma is due",
        "write keys and values in braces, {…}, with one colon for each key", ",", sure=False,
    ),
    _row(
        OPEN, r'"([^"\\\n]*(?:\\[^"\n][^"\\\n]*)*)\\"(?=\s*[}\]]+\s*\Z)', "a backslash before a closing quote",
        "remove the backslash before the closing quote, or write two of them", _string, sure=False,
    ),
    _row(
        CONTROL, r"\r?\n\s*(?=(?P<key>\"[^\"\n]{0,200}\"\s*:)|[}\]]\s*(?:[,}\]]|\Z))", "a string that is not closed",
        "close the string with a double quote", lambda match: '",' if match["key"] else '"', sure=False,
    ),
    _row(
        CONTROL, r'(?=[\r\n])[^"\\]*(?:\\[\s\S][^"\\]*)*', "a line break inside a string",
        "write \\n for each line break inside a string", _controls,
    ),
    _row(
        CONTROL, r'(?=\t)[^"\\]*(?:\\[\s\S][^"\\]*)*', "a tab inside a string",
        "write \\t for each tab inside a string", _controls,
    ),
    _row(
        CONTROL, r'[^"\\]*(?:\\[\s\S][^"\\]*)*', "a control character inside a string",
        "remove the control characters, or write them as \\u00XX", _controls,
    ),
    _row(ESCAPE, r"\\'", "a backslash before a single quote", "write ' without a backslash", "'"),
    _row(
        # The decoder stops behind this backslash, and before every other.
        ESCAPE, r"(?<=\\)u|\\u", "\\u without four hex digits",
        "write four hex digits after \\u, or \\\\ for a backslash", lambda match: f"\\{match[0]}", sure=False,
    ),
    _row(
        ESCAPE, r"\\", "a single backslash inside a string", "write \\\\ for each backslash inside a string", r"\\\\",
    ),
)  # fmt: skip
APPARENT = {slip.looks_like: slip for slip in SLIPS if slip.looks_like}
WRONG_WORDS = "|".join(wrong for wrongs in WORDS.values() for wrong in wrongs)
OUTSIDE_STRINGS = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"?|(?P<comma>,(?=\s*[}\]]))|(?P<comment>//|/\*|#)|(?P<single>\')|(?P<curly>[“”„‟«»‘’‚＂「『])'
    rf"|(?P<word>\b(?:{WRONG_WORDS})\b)|(?<![\w$])(?P<key>[A-Za-z_$][\w$]*+)(?=\s*:)"
)


def _integer(digits: str) -> int:
    try:
        return int(digits, 0)
    except ValueError:
        return 0
