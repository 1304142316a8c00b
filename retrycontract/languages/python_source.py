"""Compile Python, and tell what its compiler says."""

from __future__ import annotations

import io
import tokenize
import warnings
from collections.abc import Iterator
from itertools import islice

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import SourceFault

# CPython's own flag, by which its console tells a statement that goes on from one that is wrong (codeop has it).
ALLOW_INCOMPLETE_INPUT = 0x4000
INCOMPLETE = "incomplete input"
MAX_WARNINGS = 10
FILE = "<file>"


def compile_python(source: str) -> Iterator[SourceFault]:
    """Yield why the source does not compile, or what the compiler warns of."""
    source = source.removeprefix("\ufeff")  # a file may begin so, a text may not
    if fault := _encoding_fault(source):
        yield fault
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            compile(source, FILE, "exec", dont_inherit=True)
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
