"""The messages that the gateway writes itself, as JSON-RPC and MCP want them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import (
    CONNECTION_CLOSED,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from retrycontract.contract.feedback.tool_result import ToolResult

ENVELOPE = "io.modelcontextprotocol/"  # what a client of the stateless protocol (2026) sends along with every request


def meta_of(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Give a request's `_meta`."""
    meta = (params or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}


def refusal(request: JSONRPCRequest, result: ToolResult) -> JSONRPCResponse:
    """Answer a tools/call with our feedback: a result with isError, never a protocol error."""
    rendered = result.render("mcp")
    if PROTOCOL_VERSION_META_KEY in meta_of(request.params):
        rendered["resultType"] = "complete"
    return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=rendered)


def with_note(response: JSONRPCResponse, note: str) -> JSONRPCResponse:
    """Put a text before what the upstream answered."""
    content = response.result.get("content")
    if not isinstance(content, list):  # a handle or a question of the server's, which has no place for a text
        return response
    noted = [{"type": "text", "text": note}, *content]
    return response.model_copy(update={"result": response.result | {"content": noted}})


def with_arguments(request: JSONRPCRequest, arguments: Any) -> JSONRPCRequest:
    """Put other arguments into a tools/call."""
    return request.model_copy(update={"params": (request.params or {}) | {"arguments": arguments}})


def progress(token: str | int, count: int, text: str) -> JSONRPCNotification:
    """Say that we are at work. The numbers must rise, also when the upstream starts its own at 1 afterwards."""
    params = {"progressToken": token, "progress": count / 1000, "message": text}
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=params)


def list_request(request_id: str, asked: Mapping[str, Any], cursor: str | None) -> JSONRPCRequest:
    """Ask for a page of the tools in the name of the client, whose envelope the upstream may need to see."""
    envelope = {key: value for key, value in asked.items() if key.startswith(ENVELOPE)}
    params = ({"_meta": envelope} if envelope else {}) | ({"cursor": cursor} if cursor is not None else {})
    return JSONRPCRequest(jsonrpc="2.0", id=request_id, method="tools/list", params=params)


def upstream_ended(request_id: RequestId) -> JSONRPCError:
    """Answer a request that nobody will answer any more."""
    error = ErrorData(code=CONNECTION_CLOSED, message="The MCP server behind the gateway has ended. Start it again.")
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def not_json_rpc() -> JSONRPCMessage:
    """Answer what could not be read."""
    error = ErrorData(code=PARSE_ERROR, message="This is no JSON-RPC message.")
    return JSONRPCError(jsonrpc="2.0", id=None, error=error)
