"""Read what was sent in another form or place as what was meant: what is wrong with that costs no other attempt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice.near_misses import (
    encoded,
    fitted,
    misspelt_choice,
    not_as_text,
    of_other_level,
    out_of_wrapper,
    relocated,
    unwrapped,
)
from retrycontract.contract.advice.proposals import MAX_ERRORS, MAX_NODES, UNIONS, is_authors
from retrycontract.contract.advice.spot import Spot, Step, replaced
from retrycontract.contract.checks.beside import Beside
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.reading import read_output
from retrycontract.contract.checks.sensitive_places import without_secret_names
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import has_at_most, is_of_a_type
from retrycontract.contract.outputs.encoded import ABSENT, decoded
from retrycontract.contract.outputs.json_text import read_json
from retrycontract.contract.outputs.wrappers import Read
from retrycontract.contract.patches import Patch, PatchError, apply_patch
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

NOT_LOOKED_INTO = "what it holds was not looked into"
MAX_LAYERS = 3  # of texts within texts
MAX_CHARACTERS, MAX_SLIPPED = 100_000, 2_000  # of all texts that are read, and of one that is read past its slips
STARTS, BLANKS = ("{", "[", "```"), " \t\r\n\ufeff\u00a0"
Judge = Callable[[Any], Iterable[ValidationError]]
Bound = Callable[[Iterable[ValidationError], int], list[ValidationError]]


FIELDS = (ErrorCode.UNKNOWN_FIELD, ErrorCode.REQUIRED_FIELD_MISSING, ErrorCode.DEPENDENCY_VIOLATION)
OF_A_NAME = "propertyNames"  # its mistakes have the pointer of the value
VALUES = (ErrorCode.TYPE_MISMATCH, ErrorCode.INVALID_ENUM_VALUE)


class Form(Enum):
    """Name what was not as it should be: what holds the value, or its place, or the spelling of a word alone."""

    HOLDER = auto()
    WRAPPER = auto()
    PLACE = auto()
    WORD = auto()


@dataclass(frozen=True, slots=True)
class Meant:
    """Hold what a mistake stands for: a value for the place of another one, in which more may be wrong.

    Its own mistakes are `found_at` one pointer, and told as `told_at` another one: where their values were sent, or
    will stand. Of the mistakes at the pointers that it `covers` its words say all that is to do. What `is_made` of a
    value was not sent as it is.
    """

    change: Patch
    found_at: str
    told_at: str
    severity: ErrorSeverity
    words: str | None
    covers: frozenset[str]
    form: Form = Form.HOLDER
    is_made: bool = False

    @classmethod
    def of(cls, error: ValidationError, spot: Spot, most: int) -> Meant | None:
        """Read what stands where a mistake is, as what should stand there; None for all that is merely wrong.

        A text is read if it has so many characters at `most`.
        """
        read = partial(_held, most=most)
        if error.error_code in FIELDS:
            is_unknown = error.error_code is ErrorCode.UNKNOWN_FIELD
            wrapper = cls._wrapper(error, spot, spot.container, read) if is_unknown else None
            return wrapper or cls._elsewhere(error, spot)
        if error.error_code is ErrorCode.OBJECT_SCHEMA_VIOLATION and error.keyword in UNIONS:
            return cls._wrapper(error, spot, spot.here, read)
        return cls._text(error, spot, read) or cls._other_level(error, spot) or cls._word(error, spot)

    @classmethod
    def _text(cls, error: ValidationError, spot: Spot, read: Read) -> Meant | None:
        """Read a text that holds the array or object which should stand there."""
        here = spot.here
        held = read(here.value) if isinstance(here.value, str) else None
        # Of a union some alternative may take a text; a mistake of the type says that the one that was meant does not.
        takes_text = "string" in spot.wanted and error.error_code is not ErrorCode.TYPE_MISMATCH
        if not isinstance(held, dict | list) or takes_text or (found := fitted(held, here.place, spot.key)) is None:
            return None
        return cls._in_place(error, spot, held, *found, not_as_text(spot, found[0]))

    @classmethod
    def _other_level(cls, error: ValidationError, spot: Spot) -> Meant | None:
        """Read an array as its one item, or a value as the one item of an array."""
        here = spot.here
        found = fitted(here.value, here.place, spot.key) if error.error_code in VALUES else None
        if found is None or found[0] is here.value:
            return None
        return cls._in_place(error, spot, here.value, *found, of_other_level(spot))

    @classmethod
    def _in_place(cls, error: ValidationError, spot: Spot, sent: Any, value: Any, step: str, words: str) -> Meant:
        here, is_made = spot.here.pointer, value is not sent and not step
        change = (replaced(here, value),)
        return cls(change, here, f"{here}{step}", error.severity, words, frozenset({here}), is_made=is_made)

    @classmethod
    def _word(cls, error: ValidationError, spot: Spot) -> Meant | None:
        """Read a text as the number that it spells, or as the word that was meant, on which other fields may hang."""
        here, around = spot.here, spot.container
        if not isinstance(here.value, str) or error.error_code not in VALUES:
            return None
        is_choice = error.error_code is ErrorCode.INVALID_ENUM_VALUE and around is not None
        best = next((misspelt_choice if is_choice else encoded)(spot), None)
        value = best.patch[0]["value"] if best else None
        if best is None or isinstance(value, dict | list) or not (is_choice or is_of_a_type(value, spot.wanted)):
            return None
        found_at = around.pointer if is_choice and around else here.pointer
        return cls(best.patch, found_at, found_at, error.severity, best.words, frozenset({here.pointer}), Form.WORD)

    @classmethod
    def _elsewhere(cls, error: ValidationError, spot: Spot) -> Meant | None:
        """Read fields of another name or level as those that they stand for."""
        # Of what may stay where it is nothing more is wrong.
        best = relocated(spot) if error.severity is ErrorSeverity.ERROR else None
        if best is None:
            return None
        target = best.patch[0]["path"]
        covers = frozenset({target, *(each["from"] for each in best.patch if "from" in each)})
        return cls(best.patch, target, target, error.severity, best.words, covers, Form.PLACE)

    @classmethod
    def _wrapper(cls, error: ValidationError, spot: Spot, around: Step | None, read: Read) -> Meant | None:
        """Read the whole call, or a wrapper of an object, from the field that holds what was meant."""
        found = unwrapped(around, spot.called, read)
        if around is None or found is None or (around is not spot.here and found.way[0] != spot.key):
            return None
        # What else stands around them is to go, and what they hold is not missing.
        names = (*around.value, *found.content)
        covers = frozenset(pointers.join(around.pointer, name) for name in names) | {spot.here.pointer}
        told_at = spot.sanitizer.redact_pointer(pointers.join(around.pointer, *found.way))
        words, change = out_of_wrapper(spot, around, found), (replaced(around.pointer, found.content),)
        return cls(change, around.pointer, told_at, error.severity, words, covers, Form.WRAPPER)

    @property
    def place(self) -> str:
        """Give the pointer of what becomes another value."""
        return str(self.change[0]["path"])

    def takes_secret(self, value: Any, beside: Beside) -> bool:
        """Say whether it takes a value away from those that alone tell it to be secret."""
        sources = [
            each["from"]
            for each in self.change
            if "from" in each and pointers.parent(each["from"]) != pointers.parent(each["path"])
        ]
        return any(source in beside.told_at(tuple(_walked(value, pointers.tokens(source)))) for source in sources)

    def is_below(self, pointer: str) -> bool:
        """Say whether it is read from below a place."""
        return self.place.startswith(f"{pointer}/")

    def explains(self, error: ValidationError) -> bool:
        """Say whether its words are the better hint for a mistake."""
        if self.form is Form.WORD:
            return error.field_path in self.covers and error.error_code is ErrorCode.TYPE_MISMATCH
        is_of_it = error.error_code in FIELDS or (error.field_path == self.found_at and error.keyword != OF_A_NAME)
        return error.field_path in self.covers and is_of_it

    def tells(self, error: ValidationError) -> bool:
        """Say whether a mistake is of what was read."""
        return error.field_path == self.found_at or error.field_path.startswith(f"{self.found_at}/")

    def is_news(self, error: ValidationError, known: Collection[tuple[str, ErrorCode, str]]) -> bool:
        """Say whether a mistake of what was read is none that is told already."""
        # What an object lacks it lacks within its wrapper as well.
        told = error if self.form is Form.WRAPPER else self.told(error)
        return (told.field_path, error.error_code, error.keyword) not in known

    def told(self, error: ValidationError) -> ValidationError:
        """Tell a mistake where its value was sent; what an author let pass as a whole lets all of it pass."""
        pointer = f"{self.told_at}{error.field_path.removeprefix(self.found_at)}"
        actual = None if self.is_made and error.field_path == self.found_at else error.actual_value
        severity = min(error.severity, self.severity)
        return replace(error, field_path=pointer, severity=severity, actual_value=actual, patch=())


def errors_within(
    errors: Sequence[ValidationError],
    value: Any,
    *,
    index: SchemaIndex,
    sanitizer: ValueSanitizer,
    judge: Judge,
    bound: Bound,
    called: str = "",
    layers: int = MAX_LAYERS,
) -> tuple[list[ValidationError], list[ValidationError]]:
    """Return the errors, those of texts and wrappers in words that say so, and all that is wrong within these.

    These carry no patch, for their pointers lead to where nothing stands so far. `judge` yields what is wrong with
    another value, of which `bound` takes so many, and says so; `called` is the tool's name.
    """
    readings, left = dict[str, Meant](), MAX_CHARACTERS
    for error in errors if len(errors) <= MAX_ERRORS else ():
        # Where a patch would mend it nothing more is wrong.
        spot = None if error.patch else Spot.find(value, index, error.field_path, sanitizer, called)
        if spot is not None and (reading := Meant.of(error, spot, left)):
            first = readings.setdefault(reading.place, reading)
            readings[reading.place] = replace(first, severity=max(first.severity, reading.severity))
        if spot is not None and isinstance(spot.here.value, str):
            left -= len(spot.here.value)
    # What stands below a place that changes is gone with it.
    kept = [each for each in readings.values() if not any(map(each.is_below, readings))]
    beside = Beside(value, sanitizer)
    shown = [each for each in kept if not each.takes_secret(value, beside)]
    patched = value
    for each in shown:
        with suppress(PatchError):  # another change may have taken away what it moves
            patched = apply_patch(patched, each.change)
    is_looked_into = layers > 0 and has_at_most(MAX_NODES, patched)
    # Nothing is to be moved out of a wrapper that goes as a whole.
    worded = [each for each in readings.values() if each in kept or each.form is not Form.PLACE]
    told = [_with_words(error, value, worded, index, sanitizer, is_all=is_looked_into) for error in errors]
    if not shown or not is_looked_into:
        return told, []
    known = {(error.field_path, error.error_code, error.keyword) for error in errors}
    new = (error for error in judge(patched) if (reading := _nearest(error, shown)) and reading.is_news(error, known))
    found, further = errors_within(
        bound(new, MAX_ERRORS), patched,
        index=index, sanitizer=sanitizer, judge=judge, bound=bound, called=called, layers=layers - 1,
    )  # fmt: skip
    within = [*without_secret_names(found, patched, index, sanitizer), *further]
    return told, [_told(error, shown) for error in within]


def _with_words(
    error: ValidationError,
    value: Any,
    readings: Iterable[Meant],
    index: SchemaIndex,
    sanitizer: ValueSanitizer,
    *,
    is_all: bool,
) -> ValidationError:
    """Give a mistake the words of what it stands for; an author's hint stays."""
    reading = next((each for each in readings if each.explains(error)), None)
    spot = Spot.find(value, index, error.field_path, sanitizer) if reading else None
    if reading is None or not reading.words or spot is None or error.patch or is_authors(error.hint, spot):
        return error
    is_all = is_all or reading.form in (Form.PLACE, Form.WORD)
    return replace(error, hint=reading.words if is_all else f"{reading.words}; {NOT_LOOKED_INTO}")


def _nearest(error: ValidationError, readings: Iterable[Meant]) -> Meant | None:
    """Find what a mistake is of, the innermost of several."""
    return max((each for each in readings if each.tells(error)), key=lambda each: len(each.found_at), default=None)


def _told(error: ValidationError, readings: Collection[Meant]) -> ValidationError:
    """Tell a mistake where its value was sent; that there are more is one of the first text or wrapper."""
    reading = _nearest(error, readings)
    return reading.told(error) if reading else replace(error, field_path=next(iter(readings)).told_at)


def _walked(value: Any, tokens: Iterable[str]) -> Iterator[str | int]:
    """Give the steps of a pointer as they lead through a value: names, and positions in lists."""
    for token in tokens:
        step: Any = int(token) if isinstance(value, list) else token
        yield step
        value = value[step]


def _held(text: str, most: int) -> Any:
    """Read a text that holds JSON; a short one with slips as well, since it may have none once it has no quotes."""
    text = text.strip(BLANKS)
    held = decoded(text, most)
    if held is not ABSENT or len(text) > min(most, MAX_SLIPPED) or not text.startswith(STARTS):
        return held
    _, fault = read_output(text)
    return read_json(fault.within)[0] if fault and fault.within is not None else ABSENT
