"""Tell which members hold what a call of a tool answered, where the call shows a secret: beside it, or in a message."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any

from retrycontract.contract.redaction.consoles import LONGEST_ASKED, mark_of_file, mark_of_tool, shown_secret
from retrycontract.contract.redaction.field_names import is_secret_name, judge
from retrycontract.contract.redaction.foreign import items_of
from retrycontract.contract.redaction.members import spellings_of

# What was asked: a command, code or a tool; compared in small letters, as are all names here.
EXPRESSIONS = ("expression", "expr", "evaluate", "eval", "code", "python", "javascript", "js", "snippet")
COMMANDS = ("command", "cmd", "shell_command", "commandline", "command_line", "bash", "shell", "run", "script", "query",
            "sql", "statement", "action_input", "tool_input", *EXPRESSIONS)  # fmt: skip
_NESTING = ("input", "args", "arguments", "params", "parameters", "function", "functioncall", "function_call",
            "tool_call", "toolcall", "call", "request", "action", "tool_use", "kwargs")  # fmt: skip
TOOLS = ("tool", "tool_name", "toolname", "function", "function_name", "functionname", "func", "method", "action",
         "name", "operation", "recipient_name")  # fmt: skip
_NAMING = (
    "name",
    "key",
    "variable",
    "var",
    "env",
    "field",
    "secret",
    "setting",
    "secret_name",
    "variable_name",
    "item",
)
_FILES = ("path", "file_path", "filepath", "filename", "file")
# What came of it.
ANSWERS = frozenset({
    "output", "outputs", "stdout", "result", "results", "content", "contents", "response", "answer", "value", "reply",
    "return_value", "returnvalue", "returned", "return", "text", "observation", "tool_output", "tool_result",
    "tooloutput", "toolresult", "tool_response", "toolresponse", "functionresponse", "function_response", "res", "ret",
    "data", "body", "out", "printed", "structuredcontent", "message", "tool_use_result", "tooluseresult",
})  # fmt: skip
_FOLDED = {*COMMANDS, *_NESTING, *TOOLS}
ASKING = frozenset(spelling for name in _FOLDED for spelling in spellings_of(name)) | {
    "toolName", "functionName", "toolCall", "functionCall", "toolInput", "commandLine",
}  # fmt: skip
# By these a result that stands in another message tells whose it is.
_IDENTIFYING = frozenset({"tool_call_id", "tool_use_id", "call_id", "toolCallId", "toolUseId", "callId", "id"})
ASKED_NAMES = tuple(sorted(_FOLDED | set(_NAMING) | set(_FILES)))
_GIVEN_SPELLINGS = frozenset(spelling for name in ANSWERS for spelling in spellings_of(name)) | {
    "returnValue", "toolResult", "toolOutput", "functionResponse", "toolUseResult",
}  # fmt: skip
READING = r"(?:get|read|fetch|show|print|cat|open|view|look_?up|env|vault|secret|load|reveal)"
_READING = re.compile(READING, re.IGNORECASE)
_PLAIN = frozenset({str, int, float, bool, type(None)})  # what holds no others
DEEPEST, MOST_WORDS, LONGEST_WRITTEN = 5, 30, 4_000


def is_answer_name(name: str) -> bool:
    """Say whether a member of that name may hold what came of a call."""
    return name.casefold() in ANSWERS


def answering(members: dict[Any, Any]) -> dict[Any, str]:
    """Give the keys of an object that hold what its call shows, each with the mark of the secret."""
    if ASKING.isdisjoint(dict.keys(members)) or _GIVEN_SPELLINGS.isdisjoint(dict.keys(members)):
        return {}
    mark, asked = _asked(members)
    if mark is None:
        return {}
    keys = (key for key in dict.keys(members) if type(key) is str)
    return {key: mark for key in keys if is_answer_name(key) and key.casefold() not in asked}


def mark_of_call(members: dict[Any, Any]) -> str | None:
    """Give the mark of the secret that a call shows which an object tells of."""
    return None if ASKING.isdisjoint(dict.keys(members)) else _asked(members)[0]


def may_ask(name: str, value: str) -> bool:
    """Say whether a member asks for a secret by itself."""
    if len(value) > LONGEST_WRITTEN:
        return False
    if value.lstrip()[:1] == "{":
        return _shown_by_inner(value, "get", 0) is not None
    return _asked({name: value})[0] is not None


def names_secret(value: str) -> bool:
    """Say whether a tool that reads what is called so would show a secret."""
    return len(value) <= LONGEST_ASKED // 3 and bool(is_secret_name(value) or mark_of_file(value))


def _asked(members: dict[Any, Any], depth: int = 0) -> tuple[str | None, set[str]]:
    """Give the mark of what an object asks for, and the names of the members that ask."""
    folded = {key.casefold(): child for key, child in dict.items(members) if type(key) is str and len(key) <= 40}
    tool = next((folded[name] for name in TOOLS if name in folded and type(folded[name]) is str), "")
    for name in COMMANDS:
        if name in folded and (mark := _shown_by(folded[name], is_code=name in EXPRESSIONS)):
            return mark, {name}
    inner = [folded[name] for name in _NESTING if name in folded]
    for each in inner:
        if mark := _shown_by_inner(each, tool, depth):
            return mark, {name for name in _NESTING if folded.get(name) is each}
    if type(tool) is str and 0 < len(tool) <= 100 and (mark := mark_of_tool(tool)):
        return mark, set(TOOLS)
    return None, set()


def _shown_by(asked: Any, *, is_code: bool) -> str | None:
    if issubclass(type(asked), (list, tuple)):
        words = items_of(asked)[:MOST_WORDS]
        if any(type(word) is not str for word in words):
            return None
        if words and (mark := shown_secret(words[-1])) and len(words) > 1:  # `bash -c "…"`
            return mark
        asked = " ".join(words)
    return shown_secret(asked, is_code=is_code) if type(asked) is str and len(asked) <= LONGEST_ASKED else None


def _shown_by_inner(asked: Any, tool: str, depth: int) -> str | None:
    """Give the mark of what the arguments of a call ask for, in JSON that is read or written."""
    if type(asked) is str:
        read = _read(asked) if asked.lstrip()[:1] == "{" and len(asked) <= LONGEST_WRITTEN else None
        return _shown_by_inner(read, tool, depth + 1) if type(read) is dict else _shown_by(asked, is_code=False)
    if issubclass(type(asked), dict):
        found = _asked(asked, depth + 1)[0] if depth < DEEPEST else None
        return found or _shown_by_reading(asked, tool)
    return _shown_by(asked, is_code=False)


def _read(written: str) -> Any:
    """Read JSON in a string, which has its escapes where it is of a text; None where it is none."""
    for unescape in (str, lambda text: json.loads(f'"{text}"')):
        try:
            return json.loads(unescape(written))
        except (ValueError, TypeError, RecursionError):
            continue
    return None


def _shown_by_reading(arguments: dict[Any, Any], tool: str) -> str | None:
    """Give the mark of the file or the variable that a tool reads."""
    if not _READING.search(tool):
        return None
    for name in (*_FILES, *_NAMING):
        value = dict.get(arguments, name)
        if type(value) is str and 0 < len(value) <= LONGEST_ASKED // 3:
            mark = mark_of_file(value) if name in _FILES else judge(value).mark if is_secret_name(value) else None
            if mark:
                return mark
    return None


class Calls:
    """Know of each call in a value, by its id, whether it shows a secret; results stand in messages of their own."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._marks = dict[Any, str | None]()

    @cached_property
    def _asking(self) -> dict[Any, list[dict[Any, Any]]]:
        """Give the objects of each id that may ask for something."""
        asking, pending, seen = dict[Any, list[dict[Any, Any]]](), [self._root], set[int]()
        while pending:
            item = pending.pop()
            if id(item) in seen or not issubclass(type(item), (dict, list, tuple)):
                continue
            seen.add(id(item))
            if not issubclass(type(item), dict):
                pending.extend(each for each in items_of(item) if type(each) not in _PLAIN)
                continue
            pending.extend(each for each in dict.values(item) if type(each) not in _PLAIN)
            if not ASKING.isdisjoint(dict.keys(item)):
                for each in (dict.get(item, name) for name in _IDENTIFYING.intersection(dict.keys(item))):
                    if type(each) in (str, int):
                        asking.setdefault(each, []).append(item)
        return asking

    def _mark(self, of: Any) -> str | None:
        if of not in self._marks:
            told = (mark for call in reversed(self._asking.get(of, ())) if (mark := mark_of_call(call)))
            self._marks[of] = next(told, None)
        return self._marks[of]

    def answering(self, members: dict[Any, Any]) -> dict[Any, str]:
        """Give the keys of an object that hold what a call shows, its own or that of the id it gives."""
        if _GIVEN_SPELLINGS.isdisjoint(dict.keys(members)):
            return {}
        if _IDENTIFYING.isdisjoint(dict.keys(members)):
            return answering(members)
        if (found := answering(members)) or not ASKING.isdisjoint({*dict.keys(members)} - {"name"}):
            return found
        for name in _IDENTIFYING:
            each = dict.get(members, name)
            if type(each) in (str, int) and (mark := self._mark(each)):
                return {key: mark for key in dict.keys(members) if type(key) is str and is_answer_name(key)}
        return {}
