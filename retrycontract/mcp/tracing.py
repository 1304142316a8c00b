"""Spans of what MCP clients ask, by OpenTelemetry's conventions, in the trace that a request's `_meta` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrycontract.config import telemetry
from retrycontract.contract.events import read_traceparent
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.judging.judge import TRACE
from retrycontract.mcp.messages import Message


def parent_of(meta: Mapping[str, Any] | None) -> str | None:
    """Give the trace that a request belongs to, as its `_meta` names it."""
    named = (meta or {}).get("traceparent")
    return read_traceparent(named) if isinstance(named, str) else None


class RequestSpans:
    """Measure the requests of one client, from their arrival to their answer, and join what they cause to their trace.

    `transport` is "pipe" or "tcp". Names and ids are redacted; arguments, results and messages of errors are not kept.
    """

    def __init__(self, sanitizer: ValueSanitizer, transport: str) -> None:
        self._redact, self._transport = sanitizer.redact_identifier, transport
        self._open: dict[str, Any] = {}

    def begin(self, message: Message) -> None:
        """Note that a request has arrived."""
        if telemetry.is_on() and message.method is not None and message.id is not None:
            self._open[message.key] = self.started(
                message.method, message.params, str(message.id), parent_of(message.meta)
            )

    def started(
        self,
        method: str,
        params: Mapping[str, Any],
        request_id: str | None,
        parent: str | None,
        version: str | None = None,
    ) -> Any:
        """Begin a span; None where there is no collector, and for what is no request."""
        if request_id is None:
            return None
        target = params.get("name") if method in ("tools/call", "prompts/get") else None
        named = self._redact(target) if isinstance(target, str) else None
        is_call = method == "tools/call"
        method = self._redact(method)
        return telemetry.begin_span(
            f"{method} {named}" if named else method,
            {
                "mcp.method.name": method,
                "jsonrpc.request.id": self._redact(request_id),
                "gen_ai.operation.name": "execute_tool" if is_call else None,
                "gen_ai.tool.name" if is_call else "gen_ai.prompt.name": named,
                "mcp.protocol.version": version,
                "network.transport": self._transport,
            },
            parent=parent,
        )

    def join(self, request: Message) -> None:
        """Let what this task asks of a service belong to the request."""
        TRACE.set(telemetry.traceparent_of(self._open.get(request.key)) or parent_of(request.meta))

    def end(self, answer: Message) -> None:
        """Note that a request is answered, and whether by an error or by a result that says so."""
        span = self._open.pop(answer.key, None) if answer.is_answer else None
        if span is None:
            return
        error, result = answer.value.get("error"), answer.value.get("result")
        if isinstance(error, dict):
            note_code(span, error.get("code"))
        elif isinstance(result, dict) and result.get("isError") is True:
            telemetry.note_error(span, "tool_error")
        span.end()

    def cancel(self, key: str) -> None:
        """Note that a request is owed no answer any more."""
        span = self._open.pop(key, None)
        telemetry.note_error(span, "cancelled")
        if span is not None:
            span.end()


def note_code(span: Any, code: object) -> None:
    """Mark a span as failed with an error of JSON-RPC."""
    if span is not None:
        said = str(code) if isinstance(code, int) else "error"
        telemetry.note_error(span, said)
        span.set_attribute("rpc.response.status_code", said)
