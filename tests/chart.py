"""Render the Helm chart without Helm: those constructs of Go's templates that it uses, and an error for any other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).resolve().parent.parent / "packaging" / "helm"
VALUES: Final[dict[str, Any]] = yaml.safe_load((CHART / "values.yaml").read_text())
_ACTION = re.compile(r"(?:\s*(?=\{\{-))?\{\{-?\s*(.*?)\s*(?:-\}\}\s*|\}\})", re.DOTALL)
_WORD = re.compile(r'"[^"]*"|[()]|[^\s()]+')

Node = str | tuple[str, str, list[Any], list[Any]]  # text, or an action: its word, its argument, its block, its else


def render(values: dict[str, Any], release: str = "retrycontract") -> dict[str, str]:
    """Give the text of each template by its file's name."""
    known = {path.name: _parse(path.read_text()) for path in sorted((CHART / "templates").iterdir())}
    named = {
        json.loads(argument): block
        for nodes in known.values()
        for word, argument, block, _ in (node for node in nodes if not isinstance(node, str))
        if word == "define"
    }
    metadata = yaml.safe_load((CHART / "Chart.yaml").read_text())
    root = {
        "Values": values,
        "Release": {"Name": release, "Namespace": "ns", "Revision": 1},
        "Chart": {"AppVersion": metadata["appVersion"]},
    }
    return {name: _text(nodes, root, {}, named) for name, nodes in known.items() if not name.endswith(".tpl")}


def _parse(source: str) -> list[Node]:
    """Nest the actions of a template in the blocks that they stand in."""
    parts = _ACTION.split(source)
    stack: list[list[Node]] = [[parts[0]]]
    for action, text in zip(parts[1::2], parts[2::2], strict=True):
        word, _, argument = action.partition(" ")
        if word in ("define", "if", "range"):
            block: list[Node] = []
            stack[-1].append((word, argument, block, []))
            stack.append(block)
        elif word == "else":
            stack.pop()
            stack.append(stack[-1][-1][3])  # type: ignore[arg-type]
        elif word == "end":
            stack.pop()
        elif not action.startswith("/*"):
            stack[-1].append((word, argument, [], []) if word == "template" else ("", action, [], []))
        stack[-1].append(text)
    [whole] = stack
    return whole


def _text(nodes: list[Node], dot: Any, names: dict[str, Any], named: dict[str, list[Node]]) -> str:
    written = ""
    for node in nodes:
        if isinstance(node, str):
            written += node
            continue
        word, argument, block, other = node
        if word == "template":
            name, _, given = argument.partition(" ")
            written += _text(named[json.loads(name)], _value(given, dot, names), {}, named)
        elif word == "if":
            written += _text(block if _value(argument, dot, names) else other, dot, names, named)
        elif word == "range":
            variables, _, source = argument.partition(" := ")
            for item in sorted(_value(source, dot, names).items()):
                written += _text(block, dot, names | dict(zip(variables.split(", "), item, strict=True)), named)
        elif word != "define":
            value = _value(argument, dot, names)
            written += str(value).lower() if isinstance(value, bool) else str(value)
    return written


def _value(expression: str, dot: Any, names: dict[str, Any]) -> Any:
    words = _WORD.findall(expression)

    def operand() -> Any:
        word = words.pop(0)
        if word == "(":
            found = call()
            assert words.pop(0) == ")"
            return found
        if word.startswith('"'):
            return json.loads(word)
        if word.startswith("$"):
            return names[word]
        assert word.startswith("."), f"the chart uses {word!r}, which is not known here"
        found = dot
        for part in filter(None, word.split(".")):
            found = found[part]
        return found

    def call() -> Any:
        if words[0] not in ("toJson", "print", "dict"):
            return operand()
        function, given = words.pop(0), []
        while words and words[0] != ")":
            given.append(operand())
        if function == "dict":
            return dict(zip(given[::2], given[1::2], strict=True))
        [one] = given
        return json.dumps(one) if function == "toJson" else str(one).lower() if isinstance(one, bool) else str(one)

    return call()
