"""Write what a model reads when its extraction does not conform: errors, attempt, schema and its submission."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex, place_of
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.echo import NOTE, echo
from retrycontract.contract.feedback.feedback_text import shown_pointer
from retrycontract.contract.feedback.formatter import ErrorFormatter
from retrycontract.contract.kinds import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.type_expressions import describe
from retrycontract.contract.tool import CompiledTool
from retrycontract.contract.tracker import AttemptRecord

MAX_FEEDBACK_LENGTH = 16_000  # characters; a model reads four thousand tokens once more, not a book
MIN_FEEDBACK_LENGTH = 1_000  # below it there is no room for three parts
ROOM = 200  # characters for what stands between the parts


class ExtractionFeedback:
    """Word the feedback of one extraction, never longer than `max_length` characters."""

    def __init__(
        self,
        tool: CompiledTool,
        configuration: RetryConfiguration,
        *,
        max_length: int = MAX_FEEDBACK_LENGTH,
    ) -> None:
        if max_length < MIN_FEEDBACK_LENGTH:
            raise ValueError(f"max_feedback_length must be at least {MIN_FEEDBACK_LENGTH} characters")
        self._tool, self._formatter, self._max = tool, ErrorFormatter(configuration), max_length
        self._sanitizer = ValueSanitizer(configuration)
        self._schema = json.dumps(tool.schema.schema, ensure_ascii=False)

    def write(
        self,
        submission: Any,
        errors: Sequence[ValidationError],
        *,
        attempt: int,
        max_attempts: int,
        previous: Sequence[AttemptRecord] = (),
    ) -> str:
        """Write the feedback of one attempt; `previous` are the failed ones before it, `submission` None for none."""
        told = self._formatter.format_feedback(
            self._tool.tool.name, errors, attempt=attempt, max_attempts=max_attempts,
            kind=Kind.EXTRACTION.subject, previous=previous, max_length=self._max // 2,
        )  # fmt: skip
        said = f"Attempt {attempt} of {max_attempts} does not conform to the schema: correct it and do it again."
        parts = [told, said]
        left = self._max - sum(map(len, parts)) - ROOM
        shown = self._shown_schema(errors, limit=left if submission is None else left * 2 // 3)
        parts.append(shown)
        if submission is not None:
            parts.append(f"What you sent was this. {NOTE}")
            parts.append(echo(submission, self._sanitizer, limit=left - len(shown) - len(NOTE)))
        return "\n\n".join(parts)

    def _shown_schema(self, errors: Sequence[ValidationError], *, limit: int) -> str:
        """Give the whole schema, or the parts that failed, as many as there is room for."""
        if len(self._schema) <= limit:
            return f"The JSON Schema:\n{self._schema}"
        lines = {"The parts of the JSON Schema that failed, by pointer into the data:": None}
        left = limit - len(next(iter(lines)))
        for error in errors:
            part, at = self._part(error.field_path), shown_pointer(error.field_path)
            whole, short = f"{at}: {json.dumps(part, ensure_ascii=False)}", f"{at}: {describe(part)}"
            line = whole if len(whole) <= left // 2 else short
            if len(line) >= left:
                break
            if line not in lines:
                lines[line], left = None, left - len(line) - 1
        return "\n".join(lines)

    def _part(self, pointer: str) -> Any:
        """Find the schema of a place in the data; a missing field's own, an unknown one's object."""
        index: SchemaIndex = self._tool.schema.index
        path = [position if (position := pointers.index_of(each)) is not None else each
                for each in pointers.tokens(pointer)]  # fmt: skip
        while not (found := place_of(index, path).schemas) and path:
            path.pop()
        return found[0] if found else True
