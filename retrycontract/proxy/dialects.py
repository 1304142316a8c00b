"""Tool calls that open models write as text: one row for each dialect, and the few grammars that they share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from retrycontract.contract.advice import did_you_mean
from retrycontract.contract.outputs.json_text import MAX_DEPTH, depth_fault
from retrycontract.contract.outputs.thoughts import without_thoughts
from retrycontract.proxy.surroundings import are_meant

MAX_TEXT: Final = 100_000  # characters that are looked through
MAX_OPENINGS: Final = 200  # places that are tried: each may look as far as the text's end
NAME_KEYS: Final = ("name", "tool_name", "tool")
ARGUMENT_KEYS: Final = ("arguments", "parameters", "args")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError  # two equal keys: each reading is as good as the other
    return dict(pairs)


# Reads a value and says where it ends; what follows it in a text is no fault.
JSON: Final = json.JSONDecoder(object_pairs_hook=_members)

# Schemas of the declared tools by their names; None where nobody says which there are.
Tools = Mapping[str, Any] | None
Call = tuple[str, Any]
# Takes the text, the match of its opening, and the tools; gives the calls and where they end.
Grammar = Callable[[str, re.Match[str], Tools], tuple[list[Call], int] | None]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Say how a dialect opens a call and how it goes on; `is_marked` where nothing else begins so."""

    name: str
    opening: re.Pattern[str]
    grammar: Grammar
    is_marked: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """Hold the calls that stand in a text, in which dialect, and the words before them."""

    dialect: str
    calls: tuple[Call, ...]
    before: str


@dataclass(frozen=True, slots=True)
class FoundCalls:
    """Hold calls of one dialect, and where they stand in the text."""

    dialect: str
    calls: list[Call]
    start: int
    end: int


def read_calls(text: str, tools: Tools) -> Reading | None:
    """Read the calls that a text makes; None where there is none, or where two dialects read different ones.

    One that is declined, quoted or shown is none. Dialects without a mark are asked where no other has read anything.
    """
    answer = without_thoughts(text[:MAX_TEXT])
    answer = answer if answer.strip() else text[:MAX_TEXT]  # thoughts that never end may end in a call
    marked = _found(MARKED, answer, tools)
    found = _found(UNMARKED, answer, tools) if marked == [] else marked
    if not found:
        return None
    bounds = [0, *(place for each in found for place in (each.start, each.end)), len(answer)]
    parts = [answer[bounds[place] : bounds[place + 1]] for place in range(0, len(bounds), 2)]
    # What another dialect reads beside them would be dropped without a word.
    if not are_meant(parts) or (marked and any(_found(UNMARKED, part, tools) != [] for part in parts)):
        return None
    return Reading(found[0].dialect, tuple(call for each in found for call in each.calls), parts[0].strip())


def _found(rows: tuple[Dialect, ...], text: str, tools: Tools) -> list[FoundCalls] | None:
    """Find what stands where in a text; None where two readings are possible: a call nobody meant must not be run."""
    opened: dict[int, list[tuple[Dialect, re.Match[str]]]] = {}
    for row in rows:
        for match in islice(row.opening.finditer(text), MAX_OPENINGS):
            opened.setdefault(match.start(), []).append((row, match))
    found: list[FoundCalls] = []
    for start in sorted(opened)[:MAX_OPENINGS]:
        if found and start < found[-1].end:
            continue
        readings = list[FoundCalls]()
        for row, match in opened[start]:
            calls, end = row.grammar(text, match, tools) or ([], 0)
            if calls and all(_may_be(call, row, tools) for call in calls):
                readings.append(FoundCalls(row.name, calls, start, end))
        if any(each.calls != readings[0].calls for each in readings):
            return None
        found += readings[:1]
    return found


def _may_be(call: Call, row: Dialect, tools: Tools) -> bool:
    """Tell a call from what looks like one: of a declared tool, or behind a mark of a name that was misspelt."""
    name, arguments = call
    if not name or not isinstance(arguments, dict) or depth_fault(arguments, MAX_DEPTH) is not None:
        return False
    is_declaration = arguments.get("type") == "object" and isinstance(arguments.get("properties"), dict)
    if is_declaration and not row.is_marked and "properties" not in _properties(tools, name):
        return False  # a tool that is shown or written, not called
    # Behind a mark a misspelt name is meant as a call and gets feedback; without one it is text that looks like JSON.
    return tools is None or name in tools or (row.is_marked and did_you_mean(name, sorted(tools)) is not None)


def json_calls(text: str, match: re.Match[str], _tools: Tools) -> tuple[list[Call], int] | None:
    """Read an object or a list of objects with name and arguments; Llama joins several by semicolons."""
    calls: list[Call] = []
    end = match.end()
    while True:
        value, after = _json_at(text, end)
        listed = value if isinstance(value, list) else [value]
        read = [_as_call(each) for each in listed]
        if after < 0 or not read or None in read:
            return (calls, end) if calls else None
        calls += [call for call in read if call is not None]
        end = after
        more = re.compile(r"\s*;\s*").match(text, end)
        if more is None:
            return calls, end
        end = more.end()


def _as_call(value: Any) -> Call | None:
    if not isinstance(value, dict):
        return None
    value = value["function"] if isinstance(value.get("function"), dict) else value
    names = [value[key] for key in NAME_KEYS if isinstance(value.get(key), str)]
    keys = [key for key in ARGUMENT_KEYS if key in value]
    if len(names) != 1 or len(keys) != 1:
        # Apertus writes {"name": {arguments}}.
        (single,) = value.items() if len(value) == 1 else [("", None)]
        return single if isinstance(single[1], dict) else None
    arguments = value[keys[0]]
    if isinstance(arguments, str):
        try:
            arguments = JSON.decode(arguments)
        except (ValueError, RecursionError):
            return None
    return names[0], arguments


def _json_at(text: str, position: int) -> tuple[Any, int]:
    """Parse the JSON value that begins here, after white space; the end is -1 where none does."""
    while position < len(text) and text[position].isspace():
        position += 1
    try:
        return JSON.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, -1


def named_json(text: str, match: re.Match[str], _tools: Tools) -> tuple[list[Call], int] | None:
    """Read the arguments of a call whose name the opening holds."""
    value, end = _json_at(text, match.end())
    return ([(match["name"], value)], end) if end >= 0 and isinstance(value, dict) else None


PARAMETER: Final = re.compile(
    r"<(?:[^\s<>=]{0,20}?)(?:parameter|param)(?:=(?P<key>[^>\n]+)|\s+name=\"(?P<named>[^\"]+)\"(?P<rest>[^>]*))>"
    r"(?P<value>.*?)</(?:[^\s<>=]{0,20}?)(?:parameter|param)>",
    re.DOTALL,
)
ARGUMENT: Final = re.compile(
    r"\s*<arg_key>(?P<key>.*?)</arg_key>\s*(?:<arg_value>)?(?P<value>.*?)</arg_value>", re.DOTALL
)


def tagged(closing: str) -> Grammar:
    """Read parameters that stand in tags of their own, up to the tag that ends the call."""
    end = re.compile(closing)

    def read(text: str, match: re.Match[str], tools: Tools) -> tuple[list[Call], int] | None:
        arguments: dict[str, Any] = {}
        position, schema = match.end(), _properties(tools, match["name"])
        while True:
            blank = re.compile(r"\s*").match(text, position)
            position = blank.end() if blank else position
            if (ended := end.match(text, position)) is not None:
                return [(match["name"].strip(), arguments)], ended.end()
            found = PARAMETER.match(text, position) or ARGUMENT.match(text, position)
            if found is None:
                return None
            groups = found.groupdict()
            key = (groups.get("key") or groups.get("named") or "").strip()
            if key in arguments:
                return None
            is_text = 'string="true"' in (groups.get("rest") or "")
            arguments[key] = groups["value"] if is_text else _typed(groups["value"], schema.get(key))
            position = found.end()

    return read


def _properties(tools: Tools, name: str) -> Mapping[str, Any]:
    schema = (tools or {}).get(name.strip())
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _typed(text: str, schema: Any) -> Any:
    """Give a value as its schema has it: such dialects write texts without quotes, and everything else as JSON."""
    bare = text.removeprefix("\n").removesuffix("\n")
    if isinstance(schema, dict) and schema.get("type") == "string":
        return bare
    try:
        return JSON.decode(bare)
    except (ValueError, RecursionError):
        return bare


class LiteralReader:
    """Read literals as Python and Gemma write them: keys without quotes, True and true, and marks for quotes.

    `is_raw` leaves backslashes as they stand. Raises ValueError for what is no literal.
    """

    WORDS: Final = {"true": True, "false": False, "null": None, "none": None}
    NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
    KEY: Final = re.compile(r"\s*([\w.-]+)\s*")
    ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

    def __init__(self, text: str, position: int, *, quotes: tuple[str, ...] = ('"', "'"), is_raw: bool = False) -> None:
        self.text, self.position, self._quotes, self._is_raw = text, position, quotes, is_raw

    def take(self, token: str) -> bool:
        """Pass over a token, and white space before it, where it stands here."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        return True

    def members(self, assigns: str, closing: str) -> dict[str, Any]:
        """Read `key: value` or `key=value` up to the closing token."""
        found: dict[str, Any] = {}
        while not self.take(closing):
            if found and not self.take(","):
                raise ValueError
            quote = next((quote for quote in self._quotes if self.take(quote)), None)
            if quote is not None:
                key = self._quoted(quote)
            elif (match := self.KEY.match(self.text, self.position)) is not None:
                key, self.position = match[1], match.end()
            else:
                raise ValueError
            if key in found or not self.take(assigns):
                raise ValueError
            found[key] = self.value()
        return found

    def value(self) -> Any:
        for quote in self._quotes:
            if self.take(quote):
                return self._quoted(quote)
        if self.take("{"):
            return self.members(":", "}")
        if self.take("["):
            items: list[Any] = []
            while not self.take("]"):
                if items and not self.take(","):
                    raise ValueError
                items.append(self.value())
            return items
        if (number := self.NUMBER.match(self.text, self.position)) is not None:
            self.position = number.end()
            return json.loads(number[0])
        word = re.compile(r"[A-Za-z]+").match(self.text, self.position)
        if word is None or word[0].lower() not in self.WORDS:
            raise ValueError
        self.position = word.end()
        return self.WORDS[word[0].lower()]

    def _quoted(self, quote: str) -> str:
        """Read to the next quote; only where one character is the quote does a backslash escape."""
        if len(quote) > 1:
            end = self.text.index(quote, self.position)
            inner, self.position = self.text[self.position : end], end + len(quote)
            return inner
        parts: list[str] = []
        while (letter := self.text[self.position : self.position + 1]) != quote:
            if not letter:
                raise ValueError
            self.position += 1
            if letter == "\\" and self.position < len(self.text):
                letter = self.text[self.position]
                self.position += 1
                escaped = letter if letter in "\\'\"/" else self.ESCAPES.get(letter, "\\" + letter)
                letter = f"\\{letter}" if self._is_raw and letter not in "'\"" else escaped
            parts.append(letter)
        self.position += 1
        return "".join(parts)


def pythonic(closing: str = "]", *, is_raw: bool = False) -> Grammar:
    """Read calls of functions with named arguments, or with one object; with commas or lines between them."""

    def read(text: str, match: re.Match[str], _tools: Tools) -> tuple[list[Call], int] | None:
        reader, calls = LiteralReader(text, match.end(), is_raw=is_raw), list[Call]()
        try:
            while not reader.take(closing):
                if calls:
                    reader.take(",")
                name = re.compile(r"\s*([A-Za-z_][\w.-]*)\(").match(text, reader.position)
                if name is None:
                    return None
                reader.position = name.end()
                if text[name.end() : name.end() + 1] == "{":
                    arguments, reader.position = _json_at(text, name.end())
                    if reader.position < 0 or not reader.take(")"):
                        return None
                else:
                    arguments = reader.members("=", ")")
                calls.append((name[1], arguments))
        except (ValueError, RecursionError):
            return None
        return calls, reader.position

    return read


def gemma(quote: str, closing: str) -> Grammar:
    """Read `call:name{key:value}` with the quotes of Gemma's templates."""

    def read(text: str, match: re.Match[str], _tools: Tools) -> tuple[list[Call], int] | None:
        reader = LiteralReader(text, match.end(), quotes=(quote, '"', "'"))
        try:
            arguments = reader.members(":", "}")
        except (ValueError, RecursionError):
            return None
        return ([(match["name"], arguments)], reader.position) if reader.take(closing) else None

    return read


def _opening(pattern: str) -> re.Pattern[str]:
    """Compile an opening, in which %NAME% stands for a tool's name."""
    return re.compile(pattern.replace("%NAME%", r"(?P<name>[\w.-]{1,200})"))


MARKED: Final = tuple(Dialect(name, _opening(opening), grammar) for name, opening, grammar in (
    ("hermes", r"<tool_call>\s*(?=\{)", json_calls),
    # Two dialects open alike: what follows tells parameters in XML from JSON.
    ("qwen3_coder_xml", r"<function=(?P<name>[^>\s{]+)>(?!\s*\{)", tagged(r"</function>")),
    ("functionary_v3_1", r"<function=(?P<name>[^>\s{]+)>\s*(?=\{)", named_json),
    ("minicpm5_xml", r"<function name=\"(?P<name>[^\"]+)\">", tagged(r"</function>")),
    ("minimax_m2", r"<invoke name=\"(?P<name>[^\"]+)\">", tagged(r"</invoke>")),
    ("step3", r"<steptml:invoke name=\"(?P<name>[^\"]+)\">", tagged(r"</steptml:invoke>")),
    ("deepseek_dsml", r"<｜DSML｜invoke name=\"(?P<name>[^\"]+)\">", tagged(r"</｜DSML｜invoke>")),
    ("glm4_xml", r"<tool_call>\s*(?P<name>[^\s<>{}]+)\s*(?=<arg_key>|</tool_call>)", tagged(r"</tool_call>")),
    ("gemma4", r"<\|tool_call>call:%NAME%\{", gemma('<|"|>', "<tool_call|>")),
    ("function_gemma", r"<start_function_call>call:%NAME%\{", gemma("<escape>", "<end_function_call>")),
    ("mistral", r"\[TOOL_CALLS\]\s*(?=[\[{])", json_calls),
    ("mistral_named", r"\[TOOL_CALLS\]\s*%NAME%(?:\[CALL_ID\][\w-]+)?(?:\[ARGS\])?\s*(?=\{)", named_json),
    ("deepseek_v3", r"<[｜|]tool▁call▁begin[｜|]>function<[｜|]tool▁sep[｜|]>(?P<name>[^\n]+)\n```json\n", named_json),
    ("deepseek_v3_1", r"<[｜|]tool▁call▁begin[｜|]>%NAME%<[｜|]tool▁sep[｜|]>(?=\s*\{)", named_json),
    ("kimi_k2", r"<\|tool_call_begin\|>\s*(?:functions\.)?%NAME%:\d+\s*<\|tool_call_argument_begin\|>",
     named_json),
    ("harmony", r"to=functions\.%NAME%(?:\s*<\|(?:channel|constrain)\|>\s*\w+){0,2}\s*<\|message\|>",
     named_json),
    ("functionary_v3_2", r"<\|recipient\|>%NAME%\s*<\|content\|>", named_json),
    ("llama3_json", r"<\|python_tag\|>\s*(?=\{)", json_calls),
    ("llama4_pythonic", r"<\|python_start\|>\s*\[", pythonic()),
    ("lfm2", r"<\|tool_call_start\|>\s*\[", pythonic(is_raw=True)),
    ("olmo3_pythonic", r"<function_calls>(?!\s*<)", pythonic("</function_calls>")),
    ("command_r7b", r"<\|START_ACTION\|>", json_calls),
    ("command_r_plus", r"Action:\s*```(?:json)?\s*(?=[\[{])", json_calls),
    ("granite", r"<\|tool_call\|>\s*(?=[\[{])", json_calls),
    ("nemotron_v2", r"<TOOLCALL>\s*(?=[\[{])", json_calls),
    ("apriel", r"<tool_calls>\s*(?=[\[{])", json_calls),
    ("apertus", r"<\|tools_prefix\|>\s*(?=\[)", json_calls),
    ("gigachat", r"(?:<\|function_call\|>|function call<\|role_sep\|>)\s*(?=\{)", json_calls),
    ("functools", r"functools\s*(?=\[)", json_calls),
    ("qwen_bracket", r"\[Calling tool:\s*(?=[A-Za-z_])", pythonic()),
))  # fmt: skip
# Without a mark a text is a call only where it names a declared tool.
UNMARKED: Final = (
    Dialect("fenced_json", re.compile(r"```(?:json|tool_call|tool_code)?\s*(?=[\[{])"), json_calls, is_marked=False),
    Dialect("json", re.compile(r"[\[{](?=\s*[\[{\"])"), lambda text, match, tools: json_calls(
        # An empty match where the opening stands: the bracket by which it was found is part of the value.
        text, re.compile("").match(text, match.start()) or match, tools), is_marked=False),
    Dialect("pythonic", re.compile(r"\[(?=\s*[A-Za-z_][\w.-]{0,200}\()"), pythonic(), is_marked=False),
    Dialect("mistral_args", _opening(r"(?<![\w.-])%NAME%\[ARGS\]\s*(?=\{)"), named_json, is_marked=False),
)  # fmt: skip
