"""What an error says whatever the value was: worded once for each place of the schema, then only filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice import unmistakable
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.keywords import unquoted
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import type_name
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.engine_errors import EngineError, Kind, Path
from retrycontract.contract.schemas.type_expressions import lacking

MAX_KEPT = 1_000  # of one schema; nothing that a model makes up gets in, but references may loop
# What the words depend on beside the place, by the engine's kind: no more than the schema can name.
STEADY: dict[type[Kind], Callable[[Any, Any, bool], str | None]] = {
    Kind.Required: lambda kind, *_: str(kind.property),
    Kind.Type: lambda _, value, __: type_name(value),
    Kind.Enum: lambda kind, value, advises: unmistakable(value, kind.options) if advises else None,
    Kind.Constant: lambda kind, value, advises: unmistakable(value, [kind.expected_value]) if advises else None,
    Kind.Format: lambda kind, value, _: lacking(kind.format, value),
    **dict.fromkeys(
        (Kind.Pattern, Kind.Minimum, Kind.Maximum, Kind.ExclusiveMinimum, Kind.ExclusiveMaximum,
         Kind.MultipleOf, Kind.MinLength, Kind.MaxLength, Kind.MinItems, Kind.MaxItems),
        lambda *_: None,
    ),
}  # fmt: skip
# What the first gap in a code's template shows of the value, given its preview.
SHOWN: dict[ErrorCode, Callable[[Any, str], str]] = {
    ErrorCode.INVALID_ENUM_VALUE: lambda _, actual: unquoted(actual),
    ErrorCode.NUMBER_RANGE_VIOLATION: lambda _, actual: actual,
    ErrorCode.STRING_LENGTH_VIOLATION: lambda value, _: str(len(value)),
    ErrorCode.ARRAY_LENGTH_VIOLATION: lambda value, _: str(len(value)),
}

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold an error as it was worded first, and its parts.

    `where` is the pointer at which the first value stood, with the same names as every other; `rest` is what the
    message says after the value; None among the `tokens` of the error's pointer stands for an index. `around` is what
    the hint says before and after the place's name, where that has an index in it.
    """

    error: ValidationError
    where: str
    rest: str | None
    tokens: tuple[str | None, ...]
    around: tuple[str, str] | None = None

    @classmethod
    def of(
        cls,
        error: ValidationError,
        where: str,
        value: Any,
        tokens: tuple[str | None, ...],
        around: tuple[str, str] | None,
    ) -> Explanation | None:
        """Take an error apart; None when its message shows the value elsewhere than its code's template does."""
        show = SHOWN.get(error.error_code)
        if show is None:
            return cls(error, where, None, tokens, around)
        start = f"{_head(error.error_code)}{show(value, error.actual_value or '')}"
        rest = error.message.removeprefix(start)
        return cls(error, where, rest, tokens, around) if error.message.startswith(start) else None

    def for_value(self, path: Path, value: Any, actual: str | None, subject: Callable[[Path], str]) -> ValidationError:
        """Tell the error of another value at the same place of the schema; `subject` names it in a hint."""
        error = self.error
        message = error.message
        if self.rest is not None:
            message = f"{_head(error.error_code)}{SHOWN[error.error_code](value, actual or '')}{self.rest}"
        pointer = error.field_path
        if None in self.tokens:
            steps = zip_longest(self.tokens, path)
            pointer = "".join([f"/{step if token is None else token}" for token, step in steps])
        return ValidationError(
            error.error_code,
            pointer,
            message,
            error.severity,
            error.expected_value,
            actual,
            error.keyword,
            error.hint if self.around is None else subject(path).join(self.around),
        )


class Explanations:
    """Keep the explanations of one schema; names that only a model knows never get in."""

    def __init__(self) -> None:
        self._kept: dict[Key, Explanation] = {}

    def find(self, key: Key) -> Explanation | None:
        """Give what was kept for the key, if anything."""
        return self._kept.get(key)

    def keep(
        self,
        key: Key,
        error: ValidationError,
        path: Path,
        value: Any,
        *,
        subject: str | None,
        index: SchemaIndex,
        sanitizer: ValueSanitizer,
    ) -> None:
        """Keep an error as the explanation of its place, unless its words name what is not declared.

        `subject` is what names the place in the hint; there is none in the words of an author.
        """
        if len(self._kept) >= MAX_KEPT or not _declares(index, path):
            return
        around = None
        if subject is not None and error.hint is not None and path and isinstance(path[-1], int):
            before, _, after = error.hint.partition(subject)
            # A hint that holds the place's name twice does not tell which of the two is the place.
            around = (before, after) if error.hint.count(subject) == 1 else None
            if around is None:
                return
        tokens = [None if isinstance(step, int) else pointers.escape(sanitizer.redact_name(step)) for step in path]
        named = pointers.tokens(error.field_path)[len(path) :]  # the missing name itself
        explanation = Explanation.of(
            error, pointers.from_tokens(path), value, (*tokens, *map(pointers.escape, named)), around
        )
        if explanation is not None:
            self._kept[key] = explanation


def key_of(error: EngineError, *, redacts: bool, advises: bool) -> Key | None:
    """Name all that a steady error depends on: its keyword, how one comes to it, the place, and the ways of telling."""
    kind, way = type(error.kind), error.evaluation_path
    detail_of = STEADY.get(kind)
    # The engine calls a failed `dependentRequired` Required, too; its words depend on which other fields are there.
    if detail_of is None or (kind is Kind.Required and way[-1] != "required"):
        return None
    folded = [None if step.__class__ is int else step for step in error.where]
    return kind, detail_of(error.kind, error.value, advises), redacts, advises, *way, *folded


@cache
def _head(code: ErrorCode) -> str:
    return code.template.partition("{")[0]


def _declares(index: SchemaIndex, path: Path) -> bool:
    place = index.root
    for step in path:
        if isinstance(step, str) and step not in place.declared:
            return False
        place = place.child(step)
    return True
