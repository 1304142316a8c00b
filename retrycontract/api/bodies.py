"""Read request bodies as strictly as outputs are read, and keep a model's mistakes apart from the client's."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from retrycontract.api.problems import Problem
from retrycontract.contract.checks.json_text import JsonFault, parse_json


class StrictParser(Parser):
    """Parse JSON bodies; what is wrong inside `arguments` alone is the model's mistake, and becomes its verdict."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the parsed body; raises Problem 400 or 415."""
        if request.content_type != "application/json":
            raise Problem(415, "not-json", "Send the body as application/json.")
        value, fault = parse_json(request.body)
        if fault is None:
            return value
        return _with_raw_arguments(request.body, fault)


def _with_raw_arguments(body: bytes, fault: JsonFault) -> dict[str, Any]:
    """Hand arguments that are not quite JSON (NaN, a lone surrogate, a key twice) on as raw text."""
    try:
        members = _members(body.decode("utf-8"))
    except (ValueError, RecursionError):
        members = {}
    arguments = members.pop("arguments", None)
    rest = {name: parse_json(text) for name, text in members.items()}
    if arguments is None or any(fault is not None for _, fault in rest.values()):
        raise Problem(400, "bad-json", f"The body is not JSON: {fault.reason}.")
    return {name: value for name, (value, _) in rest.items()} | {"raw": arguments}


def _members(text: str) -> dict[str, str]:
    """Split an object into its members, each still as text; raises ValueError when the text is none."""
    members: dict[str, str] = {}
    position = _skip(text, 0)
    if text[position : position + 1] != "{":
        raise ValueError("no object")
    position = _skip(text, position + 1)
    while text[position : position + 1] != "}":
        name, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if not isinstance(name, str) or text[position : position + 1] != ":":
            raise ValueError("no member")
        start = _skip(text, position + 1)
        _, end = _DECODER.raw_decode(text, start)
        members[name] = text[start:end]
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return members


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


_DECODER = json.JSONDecoder()
