"""Compile a source file, in the process that can be killed for it. Source is compiled, never run."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import tomllib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from itertools import islice
from typing import Any
from unicodedata import category

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.json_text import MAX_DEPTH, parse_json
from retrycontract.contract.outputs.source_code import Compiler, Language, SourceFault, placeholder
from retrycontract.contract.schemas.document import excerpt
from retrycontract.languages import grammars
from retrycontract.languages.yaml_keys import MappingKeys, tag_of

TOO_DEEP = SourceFault(FaultKind.DEPTH, "too deeply nested to be read")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(source: str) -> Iterator[SourceFault]:
    """Yield why a text is no TOML."""
    try:
        if not tomllib.loads(source):
            yield placeholder("comments")
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        place = _PLACE.search(said)
        reason = said[: place.start()] if place else said
        if place and place[1]:
            toml_fault = SourceFault(FaultKind.SYNTAX, reason, int(place[1]), int(place[2]))
        else:
            end = source.rstrip()
            line, column = end.count("\n") + 1, len(end) - end.rfind("\n")
            # What is said twice is whole, wherever it stands.
            is_wrong = reason.startswith(("Cannot ", "Duplicate "))
            kind = FaultKind.SYNTAX if is_wrong else FaultKind.TRUNCATED
            told = reason if is_wrong else f"the file was cut off: {reason}"
            toml_fault = SourceFault(kind, told, line, column)
        yield toml_fault
    except ValueError:  # Python's limit against numbers that take long to read; it names no place
        yield SourceFault(FaultKind.SYNTAX, "an integer has too many digits to be read")
    except RecursionError:
        yield TOO_DEEP


def read_yaml(source: str) -> Iterator[SourceFault]:
    """Yield why a text is no YAML; tags may be any, and nothing is made of them or of aliases."""
    import yaml  # here, so that a child process that reads no YAML stays small

    try:
        # PyYAML may be installed without libyaml, and then has no CSafeLoader.
        yield from _yaml_faults(getattr(yaml, "CSafeLoader", yaml.SafeLoader)(source), source)
    except yaml.MarkedYAMLError as error:
        # A line that ended has no colon to come: it is told at its own place, and not as cut off.
        is_bare = error.context == "while scanning a simple key" and source.endswith("\n")
        mark = error.context_mark if is_bare else error.problem_mark
        yield _yaml_fault(error.problem or error.context or "syntax error", mark, source)
    except yaml.YAMLError:
        yield SourceFault(FaultKind.SYNTAX, "it holds a character that YAML does not allow")


def _yaml_faults(loader: Any, source: str) -> Iterator[SourceFault]:
    """Yield what is wrong with the events of all documents; raises YAMLError for what gives no event.

    Events come without recursion, however deep a text nests. Composing recurses in C with each level, which ends the
    process, and takes ten times as long.
    """
    import yaml

    depth, is_empty, anchors, keys = 0, True, set[str](), MappingKeys(loader)
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            keys.leave()
        elif isinstance(event, yaml.NodeEvent):
            is_alias, is_known = isinstance(event, yaml.AliasEvent), event.anchor in anchors
            if is_alias and not is_known:
                yield _yaml_fault("found undefined alias", event.start_mark, source)
                return
            # An anchor may be given again: an alias stands for the last one before it (YAML 1.2.2, 3.2.2.2).
            if event.anchor is not None:
                anchors.add(event.anchor)
            if (key := keys.repeated(event)) is not None:
                yield _yaml_fault(f"the key {json.dumps(key)} appears twice in one mapping", event.start_mark, source)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    yield SourceFault(FaultKind.DEPTH, f"nested deeper than {MAX_DEPTH} levels")
                    return
            is_empty = is_empty and not depth and _is_null(loader, event)
    if is_empty:
        yield placeholder("comments")


def _is_null(loader: Any, event: Any) -> bool:
    """Tell whether a scalar is YAML's null, in whichever way it is written."""
    return tag_of(loader, event) == "tag:yaml.org,2002:null"


def _yaml_fault(reason: str, mark: object, source: str) -> SourceFault:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    if line is None or column is None:
        return SourceFault(FaultKind.SYNTAX, reason)
    *before, last = source.rstrip().split("\n")
    if (line, column) >= (len(before), len(last)):
        return SourceFault(FaultKind.TRUNCATED, f"the file was cut off: {reason}", line + 1, column + 1)
    return SourceFault(FaultKind.SYNTAX, reason, line + 1, column + 1)


# CPython's own flag, by which its console tells a statement that goes on from one that is wrong (codeop has it).
ALLOW_INCOMPLETE_INPUT = 0x4000
INCOMPLETE = "incomplete input"
MAX_WARNINGS = 10
FILE = "<file>"
# What an expression has that does something when a file is run.
EFFECTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def compile_python(source: str) -> Iterator[SourceFault]:
    """Yield why the source does not compile, or what the compiler warns of."""
    source = source.removeprefix("\ufeff")  # a file may begin so, a text may not
    if fault := _encoding_fault(source):
        yield fault
        return
    with warnings.catch_warnings(record=True) as told:
        # Whatever filters the process has: a filter that raises would make an error of a warning.
        warnings.simplefilter("always")
        try:
            # In two steps: the tree is looked through below, and compiling finds what parsing lets pass, such
            # as a `return` outside of functions.
            tree = ast.parse(source, FILE)
            # `dont_inherit`, or the future statements of this module would hold for the file as well.
            compile(tree, FILE, "exec", dont_inherit=True)
        except SyntaxError as error:
            kind, reason = FaultKind.SYNTAX, error.msg
            if _is_cut_off(error, source):
                kind, reason = FaultKind.TRUNCATED, f"the file was cut off: {error.msg}"
            yield SourceFault(
                kind, reason, error.lineno or None, error.offset if error.offset and error.offset > 0 else None
            )
            return
        except (RecursionError, MemoryError, OverflowError):
            yield SourceFault(FaultKind.DEPTH, "too deeply nested, or too large, to be compiled")
            return
        except ValueError as error:
            yield SourceFault(FaultKind.SYNTAX, str(error))
            return
    for warning in islice(told, MAX_WARNINGS):
        yield SourceFault(FaultKind.SYNTAX, str(warning.message), warning.lineno, is_warning=True)

    if idle := _placeholder(tree.body):
        yield idle


def _placeholder(statements: list[ast.stmt]) -> SourceFault | None:
    """Find that no statement does anything: words that happen to be Python are names and operators."""
    # A string alone is a file's documentation; whether it is a refusal is asked elsewhere.
    texts = [
        each for each in statements
        if isinstance(each, ast.Expr) and (isinstance(each.value, ast.JoinedStr)
                                           or isinstance(getattr(each.value, "value", None), str | bytes))
    ]  # fmt: skip
    said = [each for each in statements if each not in texts]
    if not said:
        return None if statements else placeholder("comments")
    values = [each.value for each in said if isinstance(each, ast.Expr)]
    if len(values) < len(said) or any(isinstance(node, EFFECTS) for value in values for node in ast.walk(value)):
        return None
    has_ellipsis = any(isinstance(value, ast.Constant) and value.value is ... for value in values)
    return placeholder("`...`" if has_ellipsis else "names")


def _encoding_fault(source: str) -> SourceFault | None:
    """Look at the line that declares an encoding, which the compiler reads in files only: ours are UTF-8."""
    text = source.encode()
    try:
        declared, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
        is_same = text.decode(declared) == source
    except SyntaxError as error:
        return SourceFault(FaultKind.ENCODING, str(error))
    except (LookupError, ValueError):
        is_same = False
    return None if is_same else SourceFault(FaultKind.ENCODING, "it declares another encoding than UTF-8")


def _is_cut_off(error: SyntaxError, source: str) -> bool:
    """Tell a file that ends too early from one that is wrong on its way."""
    if not source.endswith(("\n", "\r")) and error.lineno is not None:
        lines = source.split("\n")
        is_last, last = error.lineno >= len(lines), lines[-1]
        if is_last and ((error.offset or 0) > len(last.rstrip()) or error.msg.startswith("unterminated string")):
            return True
    try:
        compile(source, FILE, "exec", flags=ALLOW_INCOMPLETE_INPUT, dont_inherit=True)
    except SyntaxError as again:
        return again.msg == INCOMPLETE
    except (RecursionError, MemoryError, OverflowError, ValueError):
        return False
    return False


MAX_FAULTS = 20
MAX_REASON = 300  # characters of a compiler's text


def compiler_here(language: Language) -> Compiler:
    """Give what compiles the files of a language in this very process."""

    def compile_source(source: str) -> tuple[SourceFault, ...]:
        reader = READERS.get(language)
        return tuple(
            replace(fault, reason=excerpt(fault.reason, MAX_REASON))
            for fault in islice(reader(source) if reader else grammars.parse(language, source), MAX_FAULTS)
        )

    return compile_source


def compile_here(request: tuple[str, str]) -> list[list[Any]]:
    """Compile a file for another process: takes language and source, gives the fields of each fault."""
    faults = compiler_here(Language(request[0]))(request[1])
    return [[fault.kind.value, *astuple(fault)[1:]] for fault in faults]


def read_json_file(source: str) -> Iterator[SourceFault]:
    value, fault = parse_json(source.removeprefix("\ufeff"))
    if fault is not None:
        # The reason names every place by itself.
        yield SourceFault(fault.kind, fault.reason, fault.line, fault.column, hint=fault.hint)
    elif value is None:
        yield placeholder("null")


SHORT = 10  # characters: more of them may be a drawing


def read_words(source: str) -> Iterator[SourceFault]:
    """Find that a text is blank: nothing but its structure can be wrong, and that is not the compiler's."""
    said = source.strip()
    if not said:
        yield placeholder("blanks")
    elif len(said) < SHORT and not any(sign.isalnum() or category(sign)[0] == "S" for sign in said):
        yield placeholder("marks")


READERS: dict[Language, Callable[[str], Iterator[SourceFault]]] = {
    Language.JSON: read_json_file,
    Language.TEXT: read_words,
    Language.MARKDOWN: read_words,
    Language.PYTHON: compile_python,
    Language.TOML: read_toml,
    Language.YAML: read_yaml,
}
