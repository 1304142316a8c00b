"""What tools give, held to the schema that their servers declare for it (`outputSchema`)."""

from __future__ import annotations

import json
import logging
from collections import Counter
from functools import partial
from time import perf_counter
from typing import Any, Final

from anyio.to_thread import run_sync

from retrycontract.checking import compiled_or_apart
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, visible
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.judging.in_process_judge import QUICK, is_small
from retrycontract.mcp import messages
from retrycontract.mcp.messages import Message

MOST_TOLD: Final = 10  # errors of one result
NOTE: Final = "retrycontract/result"
HELD_BACK = "The result of tool {name!r} does not fit the schema that its server declares. The call was executed."

logger = logging.getLogger("retrycontract.mcp")


class ResultContract:
    """Check structured results, count and log what does not fit, and note it in `_meta`; or hold it back."""

    def __init__(self, sanitizer: ValueSanitizer, *, enforces: bool) -> None:
        self._sanitizer, self.enforces = sanitizer, enforces
        self._compiled: dict[str, tuple[Any, CompiledTool | None]] = {}
        self.took: dict[str, float] = {}  # seconds of the last check of each tool's results
        self._seen: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()

    async def judged(self, request: Message, answer: Message, schema: Any) -> Message:
        """Give the answer to a call as the client is to get it."""
        result, name = answer.value.get("result"), request.params["name"]
        # An error owes no structure, and a task or a question of the server's is no result yet.
        if not isinstance(result, dict) or result.get("isError") or "content" not in result:
            return answer
        check = partial(self._errors, name, schema, answer, "structuredContent" in result)
        is_quick = self.took.get(name, QUICK) < QUICK and is_small(result.get("structuredContent"))
        errors = check() if is_quick else await run_sync(check)
        self._seen[name] += 1
        if not errors:
            return answer
        self._wrong[name] += 1
        lines = [
            f"{error.field_path or '(root)'} ({error.error_code}): {error.message}" for error in errors[:MOST_TOLD]
        ]
        logger.warning(
            "A result of tool %r does not fit its outputSchema (%d of %d): %s",
            name, self._wrong[name], self._seen[name], "; ".join(lines),
        )  # fmt: skip
        if self.enforces:
            told = [HELD_BACK.format(name=visible(name)), *(f"• {visible(line)}" for line in lines)]
            return messages.refusal(request, ToolResult("", "\n".join(told)))
        found = [{"path": error.field_path, "error_code": str(error.error_code)} for error in errors]
        note = {"errors": found, "wrong": self._wrong[name], "results": self._seen[name]}
        return answer.with_meta(NOTE, json.dumps(note))

    def _errors(self, name: str, schema: Any, answer: Message, has_structure: bool) -> tuple[ValidationError, ...]:
        began, known = perf_counter(), self._compiled.get(name)
        if known is None or known[0] != schema:
            known = self._compiled[name] = (schema, self._compile(name, schema))
        if known[1] is None:
            return ()
        output = messages.output_at(answer.text, "result", "structuredContent") if has_structure else None
        found = examine(output, known[1], self._sanitizer, tool_name=name)
        # An event loop never waits for a child.
        self.took[name] = perf_counter() - began if known[1].check is None else QUICK
        return () if found.is_valid else found.errors

    def _compile(self, name: str, schema: Any) -> CompiledTool | None:
        try:
            # What a schema does not declare, a server may give all the same.
            return compiled_or_apart(Tool(name=name, input_schema=schema, strict=False))
        except (InvalidSchema, ValueError, TypeError) as wrong:
            logger.warning("Results of tool %r are not checked, its outputSchema cannot be judged: %s", name, wrong)
            return None
