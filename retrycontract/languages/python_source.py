"""Compile Python, and tell what its compiler says."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from itertools import islice

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import SourceFault, placeholder

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
        warnings.simplefilter("always")
        try:
            tree = ast.parse(source, FILE)
            compile(tree, FILE, "exec", dont_inherit=True)
        except SyntaxError as error:
            yield _syntax_fault(error, source)
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
    said = [each for each in statements if not (isinstance(each, ast.Expr) and _is_text(each.value))]
    if not said:
        return None if statements else placeholder("comments")
    if all(
        isinstance(each, ast.Expr) and not any(isinstance(node, EFFECTS) for node in ast.walk(each)) for each in said
    ):
        return placeholder("`...`" if any(map(_is_ellipsis, said)) else "names")
    return None


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str | bytes)
    )


def _is_ellipsis(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and statement.value.value is ...
    )


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


def _syntax_fault(error: SyntaxError, source: str) -> SourceFault:
    kind, reason = FaultKind.SYNTAX, error.msg
    if _is_cut_off(error, source):
        kind, reason = FaultKind.TRUNCATED, f"the file was cut off: {error.msg}"
    return SourceFault(kind, reason, error.lineno or None, error.offset if error.offset and error.offset > 0 else None)


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
