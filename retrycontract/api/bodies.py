"""Read request bodies as strictly as outputs are read, and keep a model's mistakes apart from the client's."""

from __future__ import annotations

import json
import re
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from retrycontract.api.problems import Problem
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.usecases.tools.contracts import sanitizer

MAX_REASON = 200  # characters; a reason may name a key


class StrictParser(Parser):
    """Parse JSON bodies; what is wrong inside `arguments` alone is the model's mistake, and becomes its verdict."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the parsed body; raises Problem 400 or 415."""
        if request.content_type != "application/json":
            raise Problem(415, "not-json", "Send the body as application/json.")
        # Bodies are bounded as they come in: unpacked, a small one could be of any size.
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise Problem(415, "encoded-body", "Send the body as it is, without a Content-Encoding.")
        value, fault = parse_json(request.body)
        if fault is None:
            return value
        try:
            members = _members(request.body.decode("utf-8"))
        except (ValueError, RecursionError):
            # What cannot be taken apart is the client's mistake, whatever else is wrong in it.
            members = {}
        arguments = members.pop("arguments", None)
        rest = {name: parse_json(text) for name, text in members.items()}
        if arguments is None or "raw" in rest or any(fault is not None for _, fault in rest.values()):
            reason = sanitizer().preview_text(fault.reason, MAX_REASON)
            raise Problem(400, "bad-json", f"The body is not JSON: {reason}.")
        return {name: value for name, (value, _) in rest.items()} | {"raw": arguments}


def _members(text: str) -> dict[str, str]:
    """Split an object into its members, each still as text; raises ValueError when it is none or names one twice."""
    members: dict[str, str] = {}
    position = _after(text, 0, "{")
    while True:
        name, position = _DECODER.raw_decode(text, position)
        start = _after(text, position, ":")
        end = _end_of_value(text, start)
        if not isinstance(name, str) or name in members:
            raise ValueError("no member, or one that came before")
        members[name] = text[start:end]
        position = _skip(text, end)
        if text[position : position + 1] == "}":
            break
        position = _after(text, position, ",")
    if _skip(text, position + 1) != len(text):
        raise ValueError("text follows the object")
    return members


def _end_of_value(text: str, start: int) -> int:
    """Find where a value ends by its brackets and quotes alone, however deep it nests and whatever is wrong in it."""
    scalar = _SCALAR.match(text, start)
    if scalar is not None:
        return scalar.end()
    depth = 0
    for token in _STRUCTURE.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token.group(), 0)
        if depth <= 0:
            return token.end()
    raise ValueError("the value does not end")


def _after(text: str, position: int, sign: str) -> int:
    position = _skip(text, position)
    if text[position : position + 1] != sign:
        raise ValueError(f"no {sign}")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


_DECODER = json.JSONDecoder()
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SCALAR = re.compile(rf"{_STRING}|[^\s\"{{}}\[\],:]+", re.DOTALL)
# A string that is never closed runs to the end of the text, so that each character is visited once.
_STRUCTURE = re.compile(rf"{_STRING[:-1]}(?:\"|\\?\Z)|[\[\]{{}}]", re.DOTALL)
