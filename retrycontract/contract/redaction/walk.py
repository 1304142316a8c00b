"""Walk a JSON value and redact it: what a field's name, its neighbours and its parents say, then what the text says."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.redaction.blocks import KeyLines
from retrycontract.contract.redaction.calls import Calls, is_answer_name
from retrycontract.contract.redaction.consoles import redacted_answer
from retrycontract.contract.redaction.credentials import is_card_number
from retrycontract.contract.redaction.echoes import Echoes
from retrycontract.contract.redaction.field_names import is_telling_key, judge, word_set
from retrycontract.contract.redaction.flags import flagged, shown_name
from retrycontract.contract.redaction.foreign import (
    MARK,
    NUMBERS,
    as_json,
    is_mark,
    items_of,
    plain_text,
    strings_in,
    without_marks,
)
from retrycontract.contract.redaction.labels import is_key_of
from retrycontract.contract.redaction.lines import redacted_lines
from retrycontract.contract.redaction.listed_words import (
    MOST_ARGUMENTS,
    is_arguments,
    program_of,
    redacted_tail,
    redacted_words,
)
from retrycontract.contract.redaction.literals import Literal, is_of_package, speaks_of_secret
from retrycontract.contract.redaction.members import headed_columns, may_tell, paired_values
from retrycontract.contract.redaction.previews import Cut
from retrycontract.contract.redaction.scanner import FEW_ASKED, Scanner

# Behind so many strings that held a secret each a value is a dump of secrets: what else may hold one goes whole.
MOST_TELLING = 2_000
LONGEST_READ = 10_000  # characters of JSON in a string that is read as a value, too
# What a bounded walk shows: twelve keys, the first three items and the last, three levels.
SHOWN_KEYS, SHOWN_ITEMS, SHOWN_LEVELS = 12, 3, 3
CIRCULAR = "[circular]"
# Switches and kinds, such as `auth: basic`, stay readable below a mild mark.
_OPEN_WORDS = word_set(
    "true false none null basic bearer digest oauth oauth2 apikey api_key required optional disabled enabled default "
    "auto lax strict include omit same-origin"
)
# Marks whose names are ordinary words too: a small number or a known word below them is no secret.
_MILD = frozenset({"AUTHORIZATION", "SESSION", "COOKIE", "TOKEN", "CREDENTIAL"})
_DIGITS = {"PIN": range(4, 13), "CVV": range(3, 5), "OTP": range(4, 11), "SSN": range(9, 12)}


@dataclass(frozen=True, slots=True)
class Slot:
    """Say what is known of a place before its value is looked at."""

    mark: str | None = None  # the names on the path, or the schema, call the value secret
    weak: bool = False  # secret if it looks random
    public: bool = False  # a UUID or a digest is none here
    identifier: bool = False  # a random-looking value is none here
    whole: bool = False  # the schema's mark: the value goes as a whole
    pointer: str = ""  # kept only while schema marks are looked for
    program: str = ""  # the program whose arguments these are
    answer: str | None = None  # what a call that shows a secret answered
    columns: tuple[str | None, ...] = ()  # the mark of each item, or of each item of the lists in it

    def named(self, mark: str | None) -> Slot:
        """Add the mark that a neighbour gives, if the value has none of its own."""
        if mark is None or self.mark:
            return self
        return Slot(mark, self.weak, self.public, self.identifier, self.whole, self.pointer)


_OPEN = Slot()
# Names and pointers of the usual length are judged once.
LONGEST_CACHED = 200


@lru_cache(maxsize=2048)
def _redacted_short_name(scanner: Scanner, name: str) -> str:
    return scanner.redact(name)


def _redacted_name(scanner: Scanner, name: str) -> str:
    return _redacted_short_name(scanner, name) if len(name) < LONGEST_CACHED else scanner.redact(name)


def _is_large(value: Any) -> bool:
    """Say whether a value may hold more texts than a few, without counting them."""
    if not issubclass(type(value), (dict, list, tuple)):
        return False
    members = dict.values(value) if issubclass(type(value), dict) else items_of(value)
    return len(members) >= FEW_ASKED // 2 or any(type(member) in (dict, list) and member for member in members)


def _is_of_numbers(value: Any, slot: Slot) -> bool:
    """Tell a list of numbers alone, or an empty one, in which nothing is a secret."""
    if slot != _OPEN or not set(map(type, value)) <= NUMBERS:
        return False
    return not any(type(each) is int and is_card_number(each) for each in value)


def _below(slot: Slot, name: str, shown: str) -> Slot:
    """Give what is known of a member of that name, which is shown redacted; an index says nothing new."""
    if name.isdigit():
        return slot
    # A mark's own words, such as TOKEN, say nothing of the value.
    verdict = judge(without_marks(shown))
    is_value = name.casefold() == "default" and slot.mark in ("PASSWORD", "SECRET")  # of a template, of a schema
    mark = verdict.mark or (None if verdict.descriptor and not is_value else slot.mark)
    if not (mark or slot.whole or verdict.weak or verdict.identifier or verdict.public):
        return _OPEN
    return Slot(mark, verdict.weak, verdict.public, verdict.identifier, slot.whole)


def _named_slot(scanner: Scanner, field_path: str) -> Slot:
    slot = _OPEN
    for token in pointers.tokens(field_path):
        slot = _below(slot, token, _redacted_name(scanner, token))
    return slot


_slot_of = lru_cache(maxsize=1024)(_named_slot)


@dataclass(slots=True)
class _Frame:
    """Hold a container on the way: what is still to come of it, and its new form."""

    children: Iterator[tuple[str, Any, Slot]]
    result: dict[str, Any] | list[Any] | Cut
    identity: int
    repeated: dict[str, int] | None = None

    def put(self, name: str, child: Any) -> None:
        """Add a member or an item."""
        result = self.result
        if type(result) is list:
            result.append(child)
        elif type(result) is dict:
            result[self._fresh(name, result) if name in result else name] = child
        elif type(result) is Cut:
            result.entries.append((self._fresh(name, dict(result.entries)) if result.is_object else name, child))

    def _fresh(self, name: str, taken: Container[str]) -> str:
        """Number a name that is taken: redaction makes keys of one object equal."""
        self.repeated = self.repeated or {}
        candidate = name
        while candidate in taken:
            self.repeated[name] = self.repeated.get(name, 1) + 1
            candidate = f"{name} ({self.repeated[name]})"
        return candidate


class Redactor:
    """Rebuild one value without its secrets, without recursion, so that no depth is too much."""

    def __init__(self, scanner: Scanner, *, secrets: bool, marked: Collection[str], bounded: bool) -> None:
        self._scanner, self._secrets, self._bounded = scanner, secrets, bounded
        self._marked = frozenset(marked) if secrets else frozenset()
        self._lines = scanner.redact if secrets else None
        self._places: dict[str, list[int]] = {}
        self.echoes, self._left = Echoes(), MOST_TELLING

    def redact(self, value: Any, field_path: str) -> Any:
        """Give the value without its secrets; a bounded walk gives a `Cut` in place of each container."""
        slot = self._outer_slot(field_path)
        self._frames, self._active, self._key_lines = list[_Frame](), set[int](), KeyLines()
        value = redacted_lines(field_path.rpartition("/")[2], value, self._lines, bounded=self._bounded)
        # A preview shows few of them.
        if self._secrets and not self._bounded and _is_large(value):
            self._places = self._scanner.places_of(strings_in(value))
        self._calls = Calls(value)
        result = self._convert(value, slot)
        while self._frames:
            self._fill(self._frames[-1])
        return self.echoes.hide_in(result, self._scanner.redact_again)

    def redact_string(self, text: str, field_path: str) -> str:
        """Give a string without its secrets; keeps no state, so that one redactor serves all threads."""
        return self._text(text, self._outer_slot(field_path), Echoes())

    def _fill(self, frame: _Frame) -> None:
        """Convert the frame's children up to the first container, which goes first, or to the end."""
        depth = len(self._frames)
        for key, child, slot in frame.children:
            frame.put(key, self._convert(child, slot))
            if len(self._frames) > depth:
                return
        self._active.discard(frame.identity)
        self._frames.pop()

    def _outer_slot(self, field_path: str) -> Slot:
        if not self._secrets:
            return _OPEN
        if not self._marked:
            return (
                _slot_of(self._scanner, field_path)
                if len(field_path) < LONGEST_CACHED
                else _named_slot(self._scanner, field_path)
            )
        slot = self._with_mark(_OPEN)
        for token in pointers.tokens(field_path):
            slot = self._child_slot(slot, token, _redacted_name(self._scanner, token))
        return slot

    def _convert(self, value: Any, slot: Slot) -> Any:
        kind = type(value)
        if kind is str:
            return self._string(value, slot)
        if value is None or kind is bool:
            return f"{MARK}SENSITIVE]" if slot.whole and value is not None else value
        # By the base class, as everywhere here: numbers of a subclass may bring arithmetic of their own.
        if kind is int or issubclass(kind, int):
            return self._number(int.__add__(value, 0), slot)
        if slot.whole:
            return f"{MARK}SENSITIVE]"
        if issubclass(kind, float):
            return float.__add__(value, -0.0)  # which keeps the sign of a zero
        if issubclass(kind, (dict, list, tuple, set, frozenset)):
            return self._container(value, kind, slot)
        return self._text(plain_text(value), slot, self.echoes)

    def _string(self, text: str, slot: Slot) -> str:
        if self._secrets and self._key_lines.holds(text):
            return f"{MARK}PRIVATE_KEY]"
        is_telling = bool(self._places.get(text))
        if is_telling and self._left <= 0:
            return f"{MARK}SECRET]"
        shown = self._text(text, slot, self.echoes)
        self._left -= is_telling and shown != text
        return shown

    def _container(self, value: Any, kind: type, slot: Slot) -> Any:
        """Make the container's new form and queue its children; below the deepest shown level there are none."""
        identity = id(value)
        # Only what is being walked through right now: the same value may rightly stand in two places.
        if identity in self._active:
            return CIRCULAR
        if issubclass(kind, dict):
            total, children = dict.__len__(value), self._members(value, slot)
        else:
            items = items_of(value)
            total, children = len(items), self._items(items, slot)
        if kind is list and not self._bounded and not self._marked and _is_of_numbers(value, slot):
            return items
        result: Any = {} if issubclass(kind, dict) else []
        if self._bounded:
            result = Cut(issubclass(kind, dict), total, [])
        if not self._bounded or len(self._frames) < SHOWN_LEVELS:
            self._active.add(identity)
            self._frames.append(_Frame(children, result, identity))
        return result

    def _members(self, value: dict[Any, Any], slot: Slot) -> Iterator[tuple[str, Any, Slot]]:
        paired = paired_values(value, shown_name) if self._secrets else {}
        program_key, program = program_of(value) if self._secrets else ("", "")
        answering = self._calls.answering(value) if self._secrets else {}
        members = dict.items(value)
        for key, child in islice(members, SHOWN_KEYS) if self._bounded else members:
            name = key if type(key) is str else plain_text(key)
            shown = self._shown(name) if self._secrets else name
            if slot.mark and is_telling_key(name):
                shown = f"{MARK}{slot.mark}]"
            child_slot = self._child_slot(slot, name, shown)
            if child_slot.mark and type(child) is str and is_key_of(name, child):
                child_slot = replace(child_slot, mark=None)
            child = redacted_lines(name, child, self._lines, bounded=self._bounded)
            if told := paired.get(key) if paired else None:
                child_slot = child_slot.named(told) if isinstance(told, str) else replace(child_slot, columns=told)
            if program and name != program_key and is_arguments(name):
                child_slot = replace(child_slot, program=program)
            if answer := answering.get(key) or (slot.answer if slot.answer and is_answer_name(name) else None):
                child_slot = replace(child_slot, answer=answer)
            yield shown, child, child_slot

    def _shown(self, name: str) -> str:
        if (places := self._places.get(name)) is None:
            return _redacted_name(self._scanner, name)
        return self._scanner.redact(name, places=places)

    def _items(self, items: list[Any], slot: Slot) -> Iterator[tuple[str, Any, Slot]]:
        shown: Iterable[int] = range(len(items))
        if self._bounded and len(items) > SHOWN_ITEMS:
            shown = (*range(SHOWN_ITEMS), len(items) - 1)
        words = [as_json(item) for item in items[:MOST_ARGUMENTS]] if self._secrets else []
        secret = redacted_words(words, slot.program) if str in map(type, words) else {}
        columns = slot.columns or (headed_columns(items) if self._secrets else ())
        heads = 0 if slot.columns else 1  # rows that only name the columns
        slot = replace(slot, program="", columns=()) if slot.program or columns else slot
        for index in shown:
            child, child_slot = secret.get(index, as_json(items[index])), slot
            if index in secret:
                self.echoes.add(words[index], "PASSWORD")
            child = redacted_lines("", child, self._lines, bounded=self._bounded)
            if self._marked:
                child_slot = self._with_mark(replace(slot, pointer=f"{slot.pointer}/{index}"))
            if columns and index >= heads and issubclass(type(child), (list, tuple)):
                child_slot = replace(child_slot, columns=columns)
            elif not heads and index < len(columns):
                child_slot = child_slot.named(columns[index])
            if index and self._secrets:
                child_slot = child_slot.named(flagged(as_json(items[index - 1]), child, alone=len(items) == 2))
            yield "", child, child_slot

    def _child_slot(self, slot: Slot, name: str, shown: str) -> Slot:
        child = _below(slot, name, shown)
        return self._with_mark(replace(child, pointer=pointers.join(slot.pointer, name))) if self._marked else child

    def _with_mark(self, slot: Slot) -> Slot:
        if self._marked and slot.pointer in self._marked:
            return replace(slot, whole=True)
        return slot

    def _text(self, text: str, slot: Slot, echoes: Echoes) -> str:
        if not self._secrets or not text:
            return text
        # A mark stays as it is: redacting twice changes nothing more.
        if mark := self._mark_of_whole(text, slot):
            if is_mark(text):
                return text
            echoes.add(text, mark)
            return f"{MARK}{self._scanner.whole_mark(text) or mark}]"
        if slot.program:
            text = redacted_tail(text, slot.program)
        if slot.answer:
            answer, text = text, redacted_answer(text, slot.answer)
            if is_mark(text):
                echoes.add(answer, text[len(MARK) : -1])
        generic = not (slot.identifier or slot.public)
        redacted = self._scanner.redact(text, generic=generic, places=self._places.get(text), echoes=echoes)
        if text[0] in "{[" and (told := self._told_as_value(text, echoes)):
            echoes.update(told)
            redacted = told.hidden_in(redacted)
        return redacted

    def _mark_of_whole(self, text: str, slot: Slot) -> str | None:
        """Give the kind of secret that the whole text is, by what is known of its place."""
        if slot.whole:
            return "SENSITIVE"
        if slot.mark and _is_secret_text(text, slot.mark):
            return slot.mark
        return "API_KEY" if slot.weak and _is_weak_secret(text, slot) else None

    def _told_as_value(self, text: str, echoes: Echoes) -> Echoes | None:
        """Give what a text that is JSON tells as a value: there neighbours and parents count as well."""
        if len(text) > LONGEST_READ or text[-1] not in "}]" or not may_tell(text) or not echoes.reads(len(text)):
            return None
        return self._scanner.once(text, "value", self._read_as_value)

    def _read_as_value(self, text: str) -> Echoes | None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        (inner := Redactor(self._scanner, secrets=True, marked=(), bounded=False)).redact(value, "")
        return inner.echoes

    def _number(self, number: int, slot: Slot) -> Any:
        if not self._secrets:
            return number
        if slot.whole:
            return f"{MARK}SENSITIVE]"
        if slot.mark and _is_secret_number(number, slot.mark):
            return f"{MARK}{slot.mark}]"
        if not slot.identifier and is_card_number(number):
            return f"{MARK}CREDIT_CARD]"
        return number


def _is_secret_text(text: str, mark: str) -> bool:
    """Say whether a text below a secret name is the secret; switches, kinds and references to variables are not."""
    if not text.strip():
        return False
    if mark in _DIGITS:
        digits = [c for c in text if c.isalnum()]
        return len(digits) in _DIGITS[mark] and any(c.isdigit() for c in digits)
    if (mark in _MILD and text.casefold() in _OPEN_WORDS) or is_of_package(text, mark) or speaks_of_secret(text, mark):
        return False
    return not (text.startswith(("${", "{{")) and text.endswith("}") and Literal.whole(text).is_placeholder)


def _is_weak_secret(text: str, slot: Slot) -> bool:
    if slot.public or slot.identifier or not 10 <= len(text) <= 512 or is_mark(text):
        return False
    return (literal := Literal.whole(text)).is_noise or literal.is_dense


def _is_secret_number(number: int, mark: str) -> bool:
    size = len(str(abs(number))) if number.bit_length() < 64 else 20
    if mark in _DIGITS:
        return size in _DIGITS[mark]
    return size >= 6 if mark == "TOKEN" else size >= 4 and mark not in _MILD
