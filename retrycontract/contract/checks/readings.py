"""Read JSON that was sent as a text, and arguments in a wrapper: what is wrong within need not cost another attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice.near_misses import not_as_text, out_of_wrapper, within_wrapper
from retrycontract.contract.advice.proposals import MAX_ERRORS, MAX_NODES, is_authors
from retrycontract.contract.advice.spot import Spot, replaced
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.sensitive_places import without_secret_names
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.json_types import has_at_most, type_name
from retrycontract.contract.outputs.encoded import decoded
from retrycontract.contract.patches import Operation, apply_patch
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

MAX_LAYERS = 3  # of texts within texts
MAX_CHARACTERS = 100_000  # of all texts that are read
Judge = Callable[[Any], Iterable[ValidationError]]
Bound = Callable[[Iterable[ValidationError], int], list[ValidationError]]


@dataclass(frozen=True, slots=True)
class Meant:
    """Hold what a mistake stands for: a value for the place of another one, in which more may be wrong.

    Its own mistakes are `found_at` one pointer, and told as `told_at` another one: where their values were sent.
    """

    change: Operation
    found_at: str
    told_at: str
    severity: ErrorSeverity
    words: str

    @classmethod
    def of(cls, error: ValidationError, spot: Spot, most: int) -> Meant | None:
        """Read what stands where a mistake is, as what should stand there; None for all that is merely wrong.

        A text is read if it has so many characters at `most`.
        """
        here, container, pointer = spot.here, spot.container, error.field_path
        held = decoded(here.value, most) if isinstance(here.value, str) else here.value
        if not isinstance(held, dict | list):
            return None
        if error.error_code is not ErrorCode.UNKNOWN_FIELD:
            is_meant = held is not here.value and type_name(held) in spot.wanted and "string" not in spot.wanted
            change, words = replaced(here.pointer, held), not_as_text(spot, held)
            return cls(change, pointer, pointer, error.severity, words) if is_meant else None
        inner = within_wrapper(spot)
        # The whole call, or a wrapper of its arguments.
        is_inner = inner is not None and inner.pointer == here.pointer and isinstance(held, dict)
        if container is None or container.pointer or not is_inner or container.place.declared.isdisjoint(held):
            return None
        return cls(replaced(pointers.ROOT, held), pointers.ROOT, pointer, error.severity, out_of_wrapper(spot, here))

    def tells(self, error: ValidationError) -> bool:
        """Say whether a mistake is of what was read."""
        return error.field_path == self.found_at or error.field_path.startswith(f"{self.found_at}/")

    def told(self, error: ValidationError) -> ValidationError:
        """Tell a mistake where its value was sent; what an author let pass as a whole lets all of it pass."""
        pointer = f"{self.told_at}{error.field_path.removeprefix(self.found_at)}"
        return replace(error, field_path=pointer, severity=min(error.severity, self.severity), patch=())


def errors_within(
    errors: Sequence[ValidationError],
    value: Any,
    *,
    index: SchemaIndex,
    sanitizer: ValueSanitizer,
    judge: Judge,
    bound: Bound,
    layers: int = MAX_LAYERS,
) -> tuple[list[ValidationError], list[ValidationError]]:
    """Return the errors, those of texts and wrappers in words that say so, and all that is wrong within these.

    These carry no patch, for their pointers lead to where nothing stands so far. `judge` yields what is wrong with
    another value, of which `bound` takes so many, and says so.
    """
    told, readings, left = list(errors), dict[str, Meant](), MAX_CHARACTERS
    for position, error in enumerate(errors if len(errors) <= MAX_ERRORS else ()):
        # Where a patch would mend it nothing more is wrong.
        spot = None if error.patch else Spot.find(value, index, error.field_path, sanitizer)
        reading = Meant.of(error, spot, left) if spot else None
        if spot is None or reading is None:
            continue
        left -= len(spot.here.value) if isinstance(spot.here.value, str) else 0
        if not is_authors(error.hint, spot):
            told[position] = replace(error, hint=reading.words)
        readings.setdefault(reading.found_at, reading)
    patched = apply_patch(value, tuple(each.change for each in readings.values())) if readings else None
    if not readings or not layers or not has_at_most(MAX_NODES, patched):
        return told, []
    known = {(error.field_path, error.error_code, error.keyword) for error in errors}
    new = (error for error in judge(patched) if (error.field_path, error.error_code, error.keyword) not in known)
    found, further = errors_within(
        bound((error for error in new if any(each.tells(error) for each in readings.values())), MAX_ERRORS), patched,
        index=index, sanitizer=sanitizer, judge=judge, bound=bound, layers=layers - 1,
    )  # fmt: skip
    within = [*without_secret_names(found, patched, index, sanitizer), *further]
    return told, [_told(error, readings.values()) for error in within]


def _told(error: ValidationError, readings: Iterable[Meant]) -> ValidationError:
    """Tell a mistake where its value was sent; that there are more is one of the whole."""
    return next((each.told(error) for each in readings if each.tells(error)), error)
