"""Write what a grammar does not know yet in words that it knows, each as long as before, so that places stay.

Nothing is judged by it alone: it is tried where a file fails, and counts where the file is right in that form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from re import Match

from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages.conditionals import blank, resolve, without_directives

Rewriting = tuple[re.Pattern[bytes], bytes | Callable[[Match[bytes]], bytes]]


def _blank(found: Match[bytes]) -> bytes:
    return blank(found[0])


def _as(word: bytes) -> Callable[[Match[bytes]], bytes]:
    return lambda found: word + blank(found[0][len(word) :])


def _on_one_line(found: Match[bytes]) -> bytes:
    """Blank all between the first and the last sign, comments and line breaks too."""
    return found[0][:1] + b" " * (len(found[0]) - 2) + found[0][-1:]


def _without_document(found: Match[bytes]) -> bytes:
    start, end = found.start(), found.end()
    rest, last = found.span("rest")
    return blank(found[0][: rest - start]) + found["rest"] + blank(found[0][last - start : end - start])


_HERE_DOCUMENT = re.compile(
    rb"""(?<!<)<<-?[ \t]*\\?(["']?)(?P<end>\w+)\1(?P<rest>[^\n]*)\n(?:[^\n]*\n){0,500}?[ \t]*(?P=end)(?=\r?\n|\Z)"""
)
# The arguments of a macro may be types, `va_arg(a, const char *)`. A statement that is not closed is bounded.
_CALL = re.compile(
    rb"(?<=\w)\s?\((?:[^(){};]|\((?:[^(){};]|\((?:[^(){};]|\([^(){};]{0,200}\)){0,300}\)){0,400}\)){0,500}\)"
)
_TYPE_ALONE = re.compile(
    rb"""(?<=[(,])\s*(?:
    (?:(?:const|volatile|unsigned|signed|long|short|struct|union|enum)\s+)+[A-Za-z_]\w*(?:\s+(?:const|int|long))*
    |[A-Za-z_]\w*(?:\s+(?:const|volatile))?(?=\s*(?:\*|\(\s*\*\s*\)\s*\()))
    (?:\s*\*(?:\s*(?:const|restrict)\b)?)*(?:\s*\(\s*\*\s*\)\s*\([^()]*\))?\s*(?=[,)])""",
    re.VERBOSE,
)


def _without_types(found: Match[bytes]) -> bytes:
    return _TYPE_ALONE.sub(lambda one: b"x" + blank(one[0][1:]), found[0])


OF_TYPES: tuple[Rewriting, ...] = (
    # Variance, `in out T`, and type arguments of a tagged template
    (re.compile(rb"(?<=[<,])\s*(?:(?:const|in|out)\s+)+(?=[A-Za-z_$])"), _blank),
    (re.compile(rb"(?<=[\w)\]])<(?:[^<>`;{}]|\{[^{}`]*\})*>(?=`)"), _blank),
)
OF_SCRIPTS: tuple[Rewriting, ...] = (
    (re.compile(rb"\baccessor(?=[ \t]+[\w$#\"'\[])"), _blank),
    (re.compile(rb"\b(?:await[ \t]+)?using(?=[ \t]+[A-Za-z_$][\w$]*[ \t]*(?:=|of\b|in\b))"), _as(b"let")),
    # Tagged templates may hold escapes that others may not.
    (re.compile(rb"(?<=[\w$)\]])`(?:\\[^\n]|[^`\\$\n;])*`"), lambda found: found[0].replace(b"\\", b" ")),
)
REWRITINGS: dict[Language, tuple[Rewriting, ...]] = {
    Language.JAVASCRIPT: OF_SCRIPTS,
    Language.TYPESCRIPT: (*OF_SCRIPTS, *OF_TYPES),
    Language.TSX: (*OF_SCRIPTS, *OF_TYPES),
    Language.C: (
        (re.compile(rb"(?<=[\w'])[ \t]*\.\.\.[ \t]*[\w'\\]+(?=[ \t]*:)"), _blank),  # `case 1 ... 5:`
        (re.compile(rb"(?<=[0-9])'(?=[0-9])"), b"0"),
        (re.compile(rb"\bauto(?=\s+\w+\s*=)"), b"int "),
        (re.compile(rb"\boffsetof(?=\s*\()"), b"offsetoF"),  # which the grammar takes with a single name alone
        (_CALL, _without_types),
        # A bit-field without a name, `unsigned : 3;`
        (
            re.compile(
                rb"\b(?:unsigned|signed|u?int\w*|_Bool|bool|long|short|char)(?:\s+(?:int|long|char|short))*"
                rb"(?=\s*:\s*\w+\s*;)"
            ),
            _as(b"a b"),
        ),
        (re.compile(rb"(?<=\benum)(?:[ \t]+\w+)?[ \t]*:[\w \t]+(?=\{)"), _blank),
    ),
    Language.RUST: (
        (re.compile(rb"\bgen(?=\s+(?:fn\b|move\b|\{))"), _blank),
        (re.compile(rb"\bunsafe(?=\s+extern\s+(?:\"[^\"\n]*\"\s*)?\{)"), _blank),
        (re.compile(rb"\bsafe(?=\s+(?:fn|static)\b)"), _blank),
    ),
    Language.JAVA: (
        (re.compile(rb"(?<=\bimport)\s+module(?=\s+[A-Za-z_])"), _blank),
        (re.compile(rb"(?<=[ \t]_),\s*[\w.<>]+[ \t]+_(?=\s*(?:,|->|:|when\b))"), _blank),
    ),
    Language.C_SHARP: (
        # An assignment to what may be null, `a?.b = 1`
        (re.compile(rb"\?(?=(?:\.|\[)[\w.?\[\]() \t]{0,200}[ \t](?:[-+*/%&|^]|<<|>>|\?\?)?=(?![=>]))"), _blank),
        (re.compile(rb"\bextension(?:<[^<>]*>)?\s*\([^()]*\)(?=\s*\{)"), _as(b"class E")),
        (re.compile(rb"\bpartial(?=\s+(?!(?:class|struct|interface|record|void)\b)[A-Za-z_])"), _blank),
    ),
    Language.BASH: (
        # What stands in a here-document is text; a line may begin two.
        (_HERE_DOCUMENT, _without_document),
        (_HERE_DOCUMENT, _without_document),
        (re.compile(rb"<>(?=[^=(\n])"), b"> "),
        (re.compile(rb"(?<=\s)\{\w+\}(?=[<>])"), _blank),
        # The brace of a function on a line of its own
        (re.compile(rb"\)[ \t]*\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*[{(]"), _on_one_line),
        # Patterns such as `!(a|b)`
        (re.compile(rb"(?<!\$)[!@?*+]\([^()\n]*\)"), lambda found: b"x" * len(found[0])),
    ),
}  # fmt: skip
WITH_CONDITIONALS = (Language.C, Language.C_SHARP)


def rewritten(language: Language, text: bytes) -> bytes:
    """Give a file in words that the grammar of its language knows; the file itself where it has no others."""
    if language in WITH_CONDITIONALS:
        branch = resolve(text)
        if branch is None:
            return text
        text = without_directives(branch) if language is Language.C else branch
    for pattern, by in REWRITINGS.get(language, ()):
        text = pattern.sub(by, text)
    return text
