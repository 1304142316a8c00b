"""Read JSON text strictly (RFC 8259), and name what is wrong with it in a way a model can act on."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from retrycontract.contract import pointers
from retrycontract.contract.outputs.faultless import is_faultless
from retrycontract.contract.outputs.json_faults import CARET, CONTEXT, FaultKind, JsonFault, syntax_fault

__all__ = [
    "CARET", "CONTEXT", "HAS_VALUE", "MAX_DEPTH", "TOO_LARGE", "FaultKind", "JsonFault", "cut_at_depth", "depth_fault",
    "depth_of", "end_of_value", "fault_in", "members_of", "no_numbers", "no_utf8", "parse_json", "plain", "read_json",
    "too_large", "with_whole_characters", "with_zeros",
]  # fmt: skip

MAX_DEPTH = 100  # both checking engines stay safe well beyond; nobody writes such arguments by hand
MAX_NUMBER_LENGTH = 400  # digits; more is an attack on the parser, not a number
# Stands for every number that cannot be carried: the engine still compares it rightly, and any JSON may hold it.
TOO_LARGE: int = 10**MAX_NUMBER_LENGTH
HAS_VALUE = (FaultKind.NUMBER, FaultKind.NOT_A_NUMBER)  # faults of one leaf: the rest of the value can be judged
ESCAPED_BYTE = re.compile("[\udc80-\udcff]")  # what `surrogateescape` puts in the place of a byte that is no UTF-8
TOO_LARGE_REASON = "a number is too large to be represented"


class _RefusalError(ValueError):
    """Raised inside the decoder's hooks to leave it with a fault."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        self.kind, self.reason = kind, reason
        super().__init__(reason)


def parse_json(text: str | bytes, *, truncated: bool = False) -> tuple[Any, JsonFault | None]:
    """Parse strictly and return (value, None) or (None, fault); never raises.

    `truncated` tells that the model itself said that it was cut off (finish_reason 'length'). A number too large to
    be carried is JSON all the same: it becomes TOO_LARGE, or its negative.
    """
    value, fault = read_json(text, truncated=truncated)
    if fault is None or fault.kind is FaultKind.NUMBER:
        return value, None
    return None, fault


def read_json(text: str | bytes, *, truncated: bool = False) -> tuple[Any, JsonFault | None]:
    """Parse as parse_json does, but tell of numbers too large to be carried: that fault comes with the value.

    NaN and its like come with it, too, as Python's floats: what else is wrong with the value can be told then.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if fault := no_utf8(text):
        return None, fault
    # Before decoding, since the decoder recurses. Counting comes first: few texts have so many
    # brackets that it matters where they stand.
    if text.count("[") + text.count("{") > MAX_DEPTH and depth_of(text) > MAX_DEPTH:
        return None, JsonFault(FaultKind.DEPTH, f"nested deeper than {MAX_DEPTH} levels")
    value, fault = _decode(text, _DECODER, truncated=truncated)
    # Told from the whole text, which is cheap. An escaped surrogate hides in plain ASCII; each begins with d8 to df.
    is_escaped = "\\" in text and ("\\ud" in text or "\\uD" in text)
    if is_escaped or (not text.isascii() and _text_fault(text, pointers.ROOT)):
        surrogates = (_text_fault(leaf, pointer) for pointer, leaf in _leaves(value) if isinstance(leaf, str))
        if surrogate := next(filter(None, surrogates), None):
            value, fault = None, surrogate
    if value is not None and ("NaN" in text or "Infinity" in text):
        fault = next((_not_a_number(leaf, pointer) for pointer, leaf in no_numbers(value)), fault)
    return value, fault


def no_utf8(text: str) -> JsonFault | None:
    """Find a byte that UTF-8 does not take in a text that was read from bytes with `surrogateescape`."""
    byte = None if text.isascii() else ESCAPED_BYTE.search(text)
    if byte is None:
        return None
    place = len(text[: byte.start()].encode("utf-8", "surrogatepass"))
    return JsonFault(FaultKind.ENCODING, f"the text is not UTF-8 (byte {place})")


def _decode(text: str, decoder: json.JSONDecoder, *, truncated: bool) -> tuple[Any, JsonFault | None]:
    try:
        return decoder.decode(text), None
    except json.JSONDecodeError as error:
        return None, syntax_fault(text, error, truncated=truncated)
    except _RefusalError as refusal:
        fault = JsonFault(refusal.kind, refusal.reason)
        if fault.kind is not FaultKind.NUMBER:
            return None, fault
        # Decoded again for the value: the first decoder leaves at the first such number, and few texts have one.
        value, worse = _decode(text, _CLAMPING_DECODER, truncated=truncated)
        return value, worse or fault


def too_large(value: Any) -> Iterator[str]:
    """Yield the pointers of the numbers that cannot be carried."""
    return (pointer for pointer, leaf in _leaves(value) if _is_too_large(leaf))


def no_numbers(value: Any) -> Iterator[tuple[str, float]]:
    """Yield NaN and the infinities, which JSON has not, with their pointers."""
    return ((pointer, leaf) for pointer, leaf in _leaves(value) if isinstance(leaf, float) and not math.isfinite(leaf))


def with_zeros(value: Any) -> Any:
    """Put a number in the place of what is none."""
    match value:
        case dict():
            return {key: with_zeros(member) for key, member in value.items()}
        case list() | tuple():
            return [with_zeros(member) for member in value]
        case float() if not math.isfinite(value):
            return 0
    return value


def _not_a_number(leaf: float, pointer: str) -> JsonFault:
    name = json.dumps(leaf)  # as the model wrote it: NaN, Infinity, -Infinity
    return JsonFault(FaultKind.NOT_A_NUMBER, f"{name} is not JSON; use a number or null", pointer=pointer)


# As tuples: a union of types would be made anew for each value that is looked at.
SEQUENCES: Final = (list, tuple)
NESTING: Final = (dict, *SEQUENCES)
NUMBERS: Final = (int, float)
PLAIN_TYPES: Final = frozenset({str, int, float, bool, type(None), *NESTING})


def depth_fault(value: Any, max_depth: int) -> JsonFault | None:
    """Refuse a parsed value that nests deeper than its schema can be checked in bounded time."""
    level = [value]
    for _ in range(max_depth):
        nested = (item for item in level if isinstance(item, dict | list | tuple))
        level = [member for item in nested for member in (item.values() if isinstance(item, dict) else item)]
        if not level:
            return None
    reason = f"nested deeper than {max_depth} levels"
    return JsonFault(FaultKind.DEPTH, reason if max_depth >= MAX_DEPTH else f"{reason}, all that this schema takes")


def fault_in(value: Any) -> JsonFault | None:
    """Find what a value handed over as Python objects holds that JSON cannot: NaN, surrogates, depth, types.

    A number that is merely too large, and NaN before it, is told when nothing else is wrong.
    """
    if is_faultless(value, depth=MAX_DEPTH, number=TOO_LARGE):
        return None
    large: JsonFault | None = None
    odd: JsonFault | None = None
    stack: list[tuple[str, Any, int]] = [(pointers.ROOT, value, 0)]
    while stack:
        pointer, item, depth = stack.pop()
        if depth > MAX_DEPTH:
            return JsonFault(FaultKind.DEPTH, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(item, dict):
            for key, member in item.items():
                if not isinstance(key, str):
                    return JsonFault(FaultKind.SYNTAX, "object keys must be strings", pointer=pointer)
                if fault := _text_fault(key, pointer):
                    return fault
                stack.append((pointers.join(pointer, key), member, depth + 1))
        elif isinstance(item, SEQUENCES):
            stack.extend((pointers.join(pointer, index), member, depth + 1) for index, member in enumerate(item))
        elif _is_too_large(item):
            large = JsonFault(FaultKind.NUMBER, TOO_LARGE_REASON, pointer=pointer)
        elif isinstance(item, float) and not math.isfinite(item):
            odd = _not_a_number(item, pointer)
        elif isinstance(item, str):
            if fault := _text_fault(item, pointer):
                return fault
        elif item is not None and not isinstance(item, NUMBERS):
            return JsonFault(FaultKind.SYNTAX, f"a {type(item).__name__} is no JSON value", pointer=pointer)
    return odd or large


def plain(value: Any) -> Any:
    """Give a value without faults in JSON's own types.

    What is a str, int, float or tuple by inheritance, as `numpy.float64` and named tuples are, the engine refuses to
    judge, or judges as if keywords were not there.
    """
    level = [value]
    while level:
        odd = set(map(type, level)) - PLAIN_TYPES
        if odd and any(not issubclass(kind, NESTING) or issubclass(kind, tuple) for kind in odd):
            return _copied(value)
        nested = [item for item in level if isinstance(item, NESTING)]
        level = []
        for item in nested:
            level += item
            if isinstance(item, dict):
                level += item.values()
    return value


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {_copied(key): _copied(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_copied, value)]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return int.__int__(value) if isinstance(value, int) and not isinstance(value, bool) else value


def depth_of(text: str) -> int:
    """Measure how deep brackets nest outside of strings; linear, without parsing."""
    depth = deepest = 0
    brackets = _brackets(text).translate(_ONE_KIND)
    # Closed and opened at once leads no deeper: of a hundred thousand lists side by side one is left.
    while (fewer := brackets.replace(b"][", b"")) and len(fewer) < 0.9 * len(brackets):
        brackets = fewer
    for run in _RUNS.finditer(brackets):
        length = run.end() - run.start()
        depth += length if brackets[run.start()] == _OPENS else -length
        deepest = max(deepest, depth)
    return deepest


def cut_at_depth(text: str, max_depth: int) -> str:
    """Put null in the place of what nests deeper; raises ValueError for a text that ends within it."""
    kept, depth, begin = list[str](), 0, 0
    for match in _STRUCTURE.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth == max_depth + 1:
                kept += (text[begin : match.start()], "null")
        elif match[0] in "]}":
            if depth == max_depth + 1:
                begin = match.end()
            depth -= 1
    if depth > max_depth:
        raise ValueError("the text ends within what is nested too deep")
    return "".join([*kept, text[begin:]])


def members_of(text: str) -> dict[str, str]:
    """Split an object into its members, each still as text, however deep it nests and whatever is wrong in it.

    Raises ValueError for what is no object, and for one that names a member twice.
    """
    members: dict[str, str] = {}
    position = _after(text, 0, "{")
    is_empty = text[position : position + 1] == "}"
    while not is_empty:
        if text[position : position + 1] != '"':
            raise ValueError("no name")
        name, position = _NAMES.raw_decode(text, position)
        start = _after(text, position, ":")
        end = end_of_value(text, start)
        if name in members:
            raise ValueError("a name that came before")
        members[name] = text[start:end]
        position = _skip(text, end)
        if text[position : position + 1] == "}":
            break
        position = _after(text, position, ",")
    if _skip(text, position + 1) != len(text):
        raise ValueError("text follows the object")
    return members


def with_whole_characters(text: str) -> str:
    """Replace what is half a character, as a byte or as an escape; raises ValueError for what is no JSON otherwise."""
    text = _whole(text)
    return _whole(json.dumps(json.loads(text), ensure_ascii=False)) if "\\u" in text else text


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def end_of_value(text: str, start: int) -> int:
    """Find where a value ends by its brackets and quotes alone."""
    scalar = _SCALAR.match(text, start)
    if scalar is not None:
        return scalar.end()
    first = _STRUCTURE.search(text, start)
    if first is not None and first[0] not in "[{":
        return first.end()
    depth = 1
    for step in _STEPS.finditer(text, first.end() if first else len(text)):
        begin, end = step.span()
        if step.lastgroup == "opens":
            depth += end - begin
        elif step.lastgroup == "closes":
            if end - begin >= depth:
                return begin + depth
            depth -= end - begin
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


_NAMES = json.JSONDecoder()
_SCALAR = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"{}\[\],:]+', re.DOTALL)


def _brackets(text: str) -> bytes:
    """Leave the brackets outside of strings: each second piece between the quotes that nothing escapes.

    A backslash outside of a string is read as one within; no JSON goes on behind it.
    """
    raw = text.encode("utf-8", "replace")
    if b"\\" in raw:  # one character is sought much more quickly than two
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(raw.translate(None, _ELSE).replace(b'""', b"").split(b'"')[::2])


_ELSE = bytes(set(range(256)) - set(b'[]{}"'))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_OPENS = ord("[")
_RUNS = re.compile(rb"\[+|\]+")
# An unterminated string runs to the end of the text, so that each character is visited once.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


# The same, brackets side by side at once, and a thousand values without others in them: few steps for a megabyte.
_FLAT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^"\[\]{}]++'
_STEPS = re.compile(
    rf"(?:{_FLAT}|\[(?:{_FLAT})*+\]|\{{(?:{_FLAT})*+\}}){{1,1000}}+"
    rf'|"[^"\\]*(?:\\.[^"\\]*)*\\?\Z|(?P<opens>[\[{{]+)|(?P<closes>[\]}}]+)',
    re.DOTALL,
)


def _decoder(beyond: Callable[[str], int]) -> json.JSONDecoder:
    """Make a decoder; `beyond` says what becomes of a number too large to be carried."""

    def integer(digits: str) -> int:
        return int(digits) if len(digits) <= MAX_NUMBER_LENGTH else beyond(digits)

    def real(digits: str) -> float:
        number = float(digits)
        return beyond(digits) if math.isinf(number) else number

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise _RefusalError(FaultKind.DUPLICATE_KEY, f"the key {json.dumps(twice)} appears twice in one object")
        return value

    return json.JSONDecoder(object_pairs_hook=members, parse_int=integer, parse_float=real)


def _refused(_: str) -> NoReturn:
    raise _RefusalError(FaultKind.NUMBER, TOO_LARGE_REASON)


_DECODER = _decoder(_refused)
_CLAMPING_DECODER = _decoder(lambda digits: -TOO_LARGE if digits.startswith("-") else TOO_LARGE)


def _is_too_large(leaf: Any) -> bool:
    return isinstance(leaf, int) and not -TOO_LARGE < leaf < TOO_LARGE


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key, at the pointer of its object, and every scalar."""
    stack: list[tuple[str, Any]] = [(pointers.ROOT, value)]
    while stack:
        pointer, item = stack.pop()
        if isinstance(item, dict):
            for key, member in item.items():
                yield pointer, key
                stack.append((pointers.join(pointer, key), member))
        elif isinstance(item, list | tuple):
            stack.extend((pointers.join(pointer, index), member) for index, member in enumerate(item))
        else:
            yield pointer, item


def _text_fault(text: str, pointer: str) -> JsonFault | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        surrogate = f"\\u{ord(text[error.start]):04x}"
        return JsonFault(FaultKind.SURROGATE, f"a lone surrogate ({surrogate}) is no character", pointer=pointer)
    return None
