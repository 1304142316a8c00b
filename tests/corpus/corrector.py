"""Correct arguments as a patient and dull reader would: by the feedback's text and its own last arguments alone.

It knows no schema and no metadata. What it repairs, the words of the message were enough for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from retrycontract import ErrorCode, parse_feedback
from retrycontract.contract import pointers
from retrycontract.contract.patches import PatchError, apply_patch

NOTHING = object()
SAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "ipv4": "192.0.2.1",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
}
BULLET = re.compile(r"^• .*? \(VAL-\d{3}\)(?: \[\w+\])?: (.*(?:\n  .*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Bullet:
    """One error as the text tells it."""

    code: ErrorCode
    pointer: str
    message: str
    expected: str

    @property
    def name(self) -> str:
        """Give the word that the hint line has for the place."""
        return pointers.label(self.pointer)


def correct(arguments: Any, feedback: str) -> Any:
    """Return arguments that follow the feedback as far as its words go."""
    advice = parse_feedback(feedback).hint
    for bullet in _bullets(feedback):
        for operations in _ways(arguments, bullet, advice):
            with suppress(PatchError, LookupError):
                arguments = apply_patch(arguments, operations)
                break
    return arguments


def _bullets(feedback: str) -> Iterator[Bullet]:
    parsed = parse_feedback(feedback)
    for (code, pointer), body in zip(parsed.errors, BULLET.findall(feedback), strict=True):
        message, *lines = body.split("\n")
        said = {name.strip(): value for name, _, value in (line.partition(": ") for line in lines)}
        yield Bullet(code, pointer, message, said.get("Expected", ""))


def _ways(arguments: Any, bullet: Bullet, advice: str) -> Iterator[list[dict[str, Any]]]:
    """Yield what might be done about one bullet, the most literal reading of the advice first."""
    value = _at(arguments, bullet.pointer)
    yield from _advised(bullet, advice)
    if bullet.code is ErrorCode.UNKNOWN_FIELD:
        if value is not NOTHING:
            yield [{"op": "remove", "path": bullet.pointer}]
        return
    if bullet.code is ErrorCode.REQUIRED_FIELD_MISSING and value is not NOTHING:
        return  # a renamed field has taken its place
    made = _suggested(bullet, advice)
    made = _made(bullet.expected, value) if made is NOTHING else made
    if made is not NOTHING:
        yield [{"op": "add" if value is NOTHING else "replace", "path": bullet.pointer, "value": made}]


def _advised(bullet: Bullet, advice: str) -> Iterator[list[dict[str, Any]]]:
    """Follow what the hint line says about a name: rename it, move it, leave it out, take the content out of it."""
    name, around = re.escape(bullet.name), pointers.parent(bullet.pointer)
    if found := re.search(rf"'{name}' to '([^']+)'", advice):
        target = found[1] if found[1].startswith("/") else f"{around}/{pointers.escape(found[1])}"
        yield [{"op": "move", "from": bullet.pointer, "path": target}]
    if re.search(rf"leave out (?:'[^']+',? (?:and )?)*'{name}'", advice):
        yield [{"op": "remove", "path": bullet.pointer}]
    if found := re.search(r"send the content of '([^']+)' itself as the arguments", advice):
        yield [{"op": "move", "from": f"/{found[1]}", "path": ""}]


def _suggested(bullet: Bullet, advice: str) -> Any:
    """Take the value that the hint line names for this place."""
    subject = re.escape(bullet.name) if bullet.pointer else ""
    if found := re.search(rf"'{subject}' to [^()]*\(did you mean '(.+?)'\?\)", advice):
        return found[1]
    if found := re.search(rf"'{subject}'(?: field)?(?: as \w+| as an? \w+)?: (.+)", advice) if subject else None:
        with suppress(ValueError):
            return json.JSONDecoder().raw_decode(found[1])[0]
    if subject and re.search(rf"missing (?:'[^']+',? (?:and )?)*'{subject}' fields? \(\[\] if", advice):
        return []
    return NOTHING


def _made(expected: str, value: Any) -> Any:
    """Make a value of the expected type, of the old one where it holds it."""
    for alternative in _split(expected, " or "):
        made = _of_type(alternative.strip(), value)
        if made is not NOTHING:
            return made
    return NOTHING


def _of_type(expected: str, value: Any) -> Any:
    read = _read(value)
    if expected.startswith("one of: "):
        return _literal(expected.removeprefix("one of: ").split(", ")[0])
    word = re.match(r"\w+|\{|\"", expected)
    maker = MAKERS.get(word[0]) if word else None
    return maker(expected, read) if maker else NOTHING


def _literal(text: str) -> Any:
    with suppress(ValueError):
        return json.loads(text)
    return text


def _read(value: Any) -> Any:
    """See JSON in a text, where the text is nothing else."""
    if isinstance(value, str):
        with suppress(ValueError):
            return json.loads(value)
    return value


def _at(document: Any, pointer: str) -> Any:
    try:
        return pointers.resolve(document, pointer)
    except LookupError:
        return NOTHING


def _string(expected: str, value: Any) -> Any:
    if found := re.search(r"in format (\S+)", expected):
        return SAMPLES.get(found[1], NOTHING)
    text = value if isinstance(value, str) else "" if value is NOTHING else json.dumps(value)
    if found := re.search(r"max length (\d+)", expected):
        text = text[: int(found[1])]
    least = re.search(r"min length (\d+)", expected)
    return text.ljust(int(least[1]) if least else 1, "x")


def _number(expected: str, value: Any) -> Any:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    for sign, bound in re.findall(r"(>=|>|<=|<) (-?[\d.]+)", expected):
        limit = float(bound) if "." in bound else int(bound)
        number = {">=": max(number, limit), "<=": min(number, limit), ">": max(number, limit + 1),
                  "<": min(number, limit - 1)}[sign]  # fmt: skip
    return int(number) if expected.startswith("integer") else number


def _array(expected: str, value: Any) -> Any:
    if isinstance(value, list):
        return value
    item = expected.removeprefix("array of ") if expected.startswith("array of ") else ""
    least = re.search(r"with at least (\d+)", expected)
    if value is not NOTHING and value is not None:
        return [value if _fits(item, value) else _made(item, value)]
    return [_made(item or "string", NOTHING)] * (int(least[1]) if least else 1)


def _fits(expected: str, value: Any) -> bool:
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "{": dict}
    return any(isinstance(value, kind) for word, kind in kinds.items() if expected.startswith(word))  # type: ignore[arg-type]


def _object(expected: str, value: Any) -> Any:
    members = dict(value) if isinstance(value, dict) else {}
    for field in _split(expected.strip("{}"), ", "):
        name, _, kind = field.partition(": ")
        if name and not name.endswith("?") and name != "…" and name not in members:
            members[name] = _made(kind, NOTHING)
    return members


def _split(text: str, separator: str) -> list[str]:
    """Split where no bracket is open."""
    parts, depth = [""], 0
    for piece in re.split(rf"({re.escape(separator)}|[{{}}])", text):
        depth += {"{": 1, "}": -1}.get(piece, 0)
        if piece == separator and depth == 0 and not parts[0].startswith("one of"):
            parts.append("")
        else:
            parts[-1] += piece
    return parts


MAKERS: dict[str, Callable[[str, Any], Any]] = {
    "string": _string,
    "integer": _number,
    "number": _number,
    "boolean": lambda _, value: bool(value) if value is not NOTHING else True,
    "array": _array,
    "object": _object,
    "{": _object,
    "null": lambda _, __: None,
    "any": lambda _, value: "x" if value is NOTHING else value,
    '"': lambda expected, _: _literal(expected),
}
