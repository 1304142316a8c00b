"""What is known about one failing place: the value, the schema that refused it, and how to show both."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice import unmistakable
from retrycontract.contract.checks.composition import InstancePlace
from retrycontract.contract.checks.secret_choices import tells_nothing
from retrycontract.contract.checks.sensitive_places import MAX_NAME
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import Resolve, Schema, is_of_a_type, sequence
from retrycontract.contract.redaction.echoes import Echoes
from retrycontract.contract.redaction.sanitizer import Choices, ValueSanitizer, elide_middle, visible
from retrycontract.contract.redaction.schema_marks import HIDDEN
from retrycontract.contract.schemas.type_expressions import describe, describe_options

MAX_CONSTRAINT = 160  # characters of a pattern or another constraint in a message

LOWERED = {"warning": ErrorSeverity.WARNING, "info": ErrorSeverity.INFO}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Bring together what a keyword's explanation needs; builds the ValidationErrors itself."""

    pointer: str
    value: Any
    schema: dict[str, Any]
    keyword: str
    place: InstancePlace
    resolve: Resolve
    sanitizer: ValueSanitizer
    marked: Collection[str]
    path: tuple[str, ...] = ()
    root: Schema = True
    referring: tuple[dict[str, Any], ...] = ()
    choices: Choices  # by the ids of subschemas what is shown for keywords that tell a secret
    echoes: Echoes = field(default_factory=Echoes)  # of these, which the author's hints may repeat
    advises: bool = True  # false where nobody will read the hints: what was meant is dear to find

    @property
    def constraint(self) -> Any:
        """Give the failing keyword's own value in the schema."""
        return self.schema.get(self.keyword)

    @property
    def subject(self) -> str:
        """Name the failing place in a hint; the whole document has no name of its own."""
        return subject(self.pointer, self.sanitizer)

    @property
    def is_of_wrong_type(self) -> bool:
        """Tell a value of a type that no schema of its place asks for."""
        return bool(self.place.types) and not is_of_a_type(self.value, self.place.types)

    @property
    def severity(self) -> ErrorSeverity:
        """Take what the failing subschema says, else the nearest that refers to it."""
        marks = [schema["x-severity"] for schema in (self.schema, *self.referring) if "x-severity" in schema]
        return LOWERED.get(str(marks[0]), ErrorSeverity.ERROR) if marks else ErrorSeverity.ERROR

    @property
    def shown_schema(self) -> dict[str, Any]:
        """Give the schema that refused the value, as it may be shown."""
        return {**self.schema, **self.choices.get(id(self.schema), {})}

    def describe(self, schema: Schema) -> str:
        """Write a schema's type expression, safe to show."""
        return visible(describe(schema, self.resolve, self.sanitizer.redact_identifier, self.choices))

    def name(self, token: str) -> str:
        """Show a field's name: sanitised, bounded, one line."""
        return _name(token, self.sanitizer)

    def nearest(self, value: Any, options: Iterable[Any], *, of: str | None = None) -> str | None:
        """Find the option that was probably meant; `of` is the pointer of the object whose field it names."""
        return unmistakable(value, options, of=of) if self.advises else None

    def limit(self, text: str) -> str:
        """Show a constraint of the schema: without secrets, bounded, one line."""
        return _limited(self.echoes.hidden_in(self.sanitizer.redact_identifier(text)))

    def listed(self, options: Iterable[Any]) -> str:
        """List allowed values or names, safe to show."""
        return self.limit(describe_options(options, self.sanitizer.redact_identifier))

    def shown_options(self, options: Iterable[Any]) -> list[Any]:
        """Give allowed values as they may be told: in a secret place most of them are its secrets."""
        held = [schema for schema in (self.schema, *self.place.schemas) if id(schema) in self.choices]
        if not held:
            return list(options)
        known = {json.dumps(option): shown for schema in held for option, shown in self._pairs(schema)}
        return [known.get(json.dumps(each), each if tells_nothing(each) else HIDDEN) for each in options]

    def _pairs(self, schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Yield what a subschema allows beside what is shown of it."""
        shown = {**schema, **self.choices[id(schema)]}
        yield from zip(sequence(schema, "enum"), sequence(shown, "enum"), strict=False)
        if "const" in schema:
            yield schema["const"], shown["const"]

    def actual(self, value: Any) -> str:
        """Show a value: redacted, shortened, one line."""
        return self.sanitizer.preview(value, self.pointer, marked=self.marked)

    def error(
        self,
        code: ErrorCode,
        parts: Mapping[str, object],
        *,
        at: str | None = None,
        expected: str | None = None,
        actual: bool = True,
        hint: str | None = None,
        severity: ErrorSeverity | None = None,
    ) -> ValidationError:
        """Build the error: the code's template filled with `parts`, the pointer `at` or the failing value's."""
        where = self.pointer if at is None else at
        return ValidationError(
            error_code=code,
            field_path=self.sanitizer.redact_pointer(where),
            message=code.template.format(**parts),
            severity=self.severity if severity is None else severity,
            expected_value=expected,
            actual_value=self.actual(self.value) if actual else None,
            keyword=self.keyword,
            hint=self.author_hint() or hint,
        )

    def member(self, name: str) -> str:
        """Give the pointer of a member of the failing object."""
        return pointers.join(self.pointer, name)

    def author_hint(self) -> str | None:
        """Take the hint that the schema's author wrote for this keyword or for the whole subschema."""
        for schema in (self.schema, *self.referring):
            by_keyword = schema.get("x-hints")
            hint = by_keyword.get(self.keyword) if isinstance(by_keyword, dict) else None
            hint = hint or schema.get("x-hint")
            if isinstance(hint, str) and hint:
                return self.limit(hint)
        return None


def subject(pointer: str, sanitizer: ValueSanitizer) -> str:
    """Name a place in a hint; the whole document has no name of its own."""
    return f"'{_name(pointers.label(pointer), sanitizer)}'" if pointer else "the arguments"


def _name(token: str, sanitizer: ValueSanitizer) -> str:
    return elide_middle(visible(sanitizer.redact_name(token)), MAX_NAME)


# The constraints and names of a schema are shown again with every value that breaks them.
@lru_cache(maxsize=256)
def _limited(text: str) -> str:
    return elide_middle(visible(text), MAX_CONSTRAINT)


@dataclass(frozen=True, slots=True)
class Findings:
    """Hold every error of one submission, sorted as they are told; `parsed` is None when it never parsed.

    `faults` says, for the log, which of the developer's own checks failed, and where.
    """

    errors: tuple[ValidationError, ...]
    parsed: Any = None
    is_parsed: bool = False
    faults: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Tell whether nothing blocks execution: warnings and infos do not."""
        return not self.errors or not any(map(blocks, self.errors))

    @property
    def warnings(self) -> tuple[ValidationError, ...]:
        """List what should be fixed but does not block."""
        return tuple(error for error in self.errors if not blocks(error))


def blocks(error: ValidationError) -> bool:
    """Tell whether an error keeps the output from being used."""
    return error.severity is ErrorSeverity.ERROR
