"""Complete the OpenAPI document: what requests and answers carry in their headers, and problems as what they are."""

from __future__ import annotations

from typing import Any, Final

TEXT: Final = {"type": "string"}
SECONDS: Final = {"type": "string", "pattern": "^[0-9]+$"}
TRACEPARENT: Final = {"type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"}
# What cannot be read in these is passed over, never refused, so that any text is right.
REQUEST_HEADERS: Final[dict[str, str]] = {
    "traceparent": "The trace that the request belongs to (W3C Trace Context); stored with an attempt.",
    "X-Request-ID": "A name for the request, up to 128 letters, digits and ._:-; it stands in the service's log.",
}
PREFER: Final = "`wait=N`: how many seconds the answer may take, at most 60 (RFC 7240); 10 where nothing is said."

_REQUEST_ID: Final = {"X-Request-ID": ("The name that was given, or one made here.", TEXT)}
_TRACE: Final = {"traceparent": ("The trace that the request came with; absent when it came with none.", TRACEPARENT)}
_LATER: Final = {"Retry-After": ("Seconds to wait before asking again.", SECONDS)}
_ETAG: Final = {"ETag": ("Names this revision, for If-Match and If-None-Match.", TEXT)}
_LOCATION: Final = {"Location": ("Where the answer is, or will be.", TEXT)}
_WAITED: Final = {"Preference-Applied": ("How long the answer was waited for at most, if that was asked.", TEXT)}
_BY_STATUS: Final[dict[int, dict[str, Any]]] = {
    202: _LOCATION | _LATER,
    401: {"WWW-Authenticate": ("The scheme that is spoken here.", TEXT)},
    412: _ETAG,
    429: _LATER,
    503: _LATER,
}
_READ: Final = {200: _ETAG, 304: _ETAG}
_WRITTEN: Final = {200: _ETAG, 201: _ETAG | _LOCATION}
_OF_OPERATIONS: Final[dict[str, dict[int, dict[str, Any]]]] = {
    "get_tool": _READ,
    "get_tool_named_import": _READ,
    "get_tools": _READ,
    "put_tool": _WRITTEN,
    "put_tool_named_import": _WRITTEN,
}
# Where an answer leads: the operation that comes next, and where its parameters stand in this one.
_OF_CALL: Final = {"call_id": "$response.body#/call_id"}
_AFTER_A_CALL: Final = {
    operation: {"operationId": operation, "parameters": _OF_CALL}
    for operation in ("get_call", "get_wait", "get_guidance", "post_guidance_ack", "post_cancel")
}
_AFTER_A_TOOL: Final = {"get_tool": {"operationId": "get_tool", "parameters": {"name": "$request.path.name"}}}
_LINKS: Final = {"post_call": _AFTER_A_CALL, "put_tool": _AFTER_A_TOOL}


def complete(document: dict[str, Any], *, of_problems: str) -> None:
    """Declare every header, and errors under the media type `of_problems`, that they are sent with."""
    for operations in document["paths"].values():
        for operation in operations.values():
            waits = 202 in operation["responses"]
            operation["parameters"] = [_without_null(parameter) for parameter in operation["parameters"]]
            described = REQUEST_HEADERS | ({"Prefer": PREFER} if waits else {})
            operation["parameters"] += [
                {"in": "header", "name": name, "schema": TEXT, "required": False, "description": description}
                for name, description in described.items()
            ]
            for status, response in operation["responses"].items():
                if status >= 400:
                    response["content"] = dict.fromkeys([of_problems], *response["content"].values())
                elif len(response.get("content", ())) > 1:
                    del response["content"]["application/json"]  # a stream: ninja knows no other type
                elif status < 300 and operation["operationId"] in _LINKS:
                    response["links"] = _LINKS[operation["operationId"]]
                waited = _WAITED if waits and status < 400 else {}
                own = _OF_OPERATIONS.get(operation["operationId"], {}).get(status, {})
                headers = _REQUEST_ID | _TRACE | _BY_STATUS.get(status, {}) | waited | own
                response["headers"] = {
                    name: {"description": description, "schema": schema}
                    for name, (description, schema) in headers.items()
                }


def _without_null(parameter: dict[str, Any]) -> dict[str, Any]:
    """Declare what may be left out as just that: an address or a header cannot carry null."""
    schema = dict(parameter["schema"])
    kinds = [kind for kind in schema.pop("anyOf", ()) if kind != {"type": "null"}]
    return parameter | {
        "schema": schema | kinds[0] if len(kinds) == 1 else schema | ({"anyOf": kinds} if kinds else {})
    }
