"""The engine's errors as this package reads them: what it knows of the engine's classes of errors stands here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, cast

from jsonschema_rs import ValidationError as RawError
from jsonschema_rs import ValidationErrorKind

MAX_SPELLINGS = 500  # looked at for one error: more of them share a path only in a hostile document
Kind = ValidationErrorKind
UNION = (Kind.AnyOf, Kind.OneOfNotValid, Kind.OneOfMultipleValid)
Path = list[str | int]
_kinds = cast("Any", Kind)  # the engine's stubs do not say that its kinds can be made here, too


def missing(name: str) -> Kind:
    """Say which name is missing, as the engine does."""
    return cast("Kind", _kinds.Required(name))


def unevaluated(names: list[str]) -> Kind:
    """Say which members no subschema has evaluated, as the engine does."""
    return cast("Kind", _kinds.UnevaluatedProperties(names))


def not_among(options: list[Any]) -> Kind:
    """Say what is allowed, as the engine does."""
    return cast("Kind", _kinds.Enum(options))


def no_alternative(keyword: str, alternatives: list[list[EngineError]]) -> Kind:
    """Say what the engine says of a union whose alternatives have these errors."""
    if keyword == "anyOf":
        return cast("Kind", _kinds.AnyOf(alternatives))
    return cast("Kind", (_kinds.OneOfNotValid if all(alternatives) else _kinds.OneOfMultipleValid)(alternatives))


def options_of(kind: Kind) -> list[Any]:
    """List the values that an error of `enum` or `const` allows; none for any other."""
    match kind:
        case Kind.Enum(options=options):
            return list(options)
        case Kind.Constant(expected_value=value):
            return [value]
    return []


class EngineError(NamedTuple):
    """Hold one error of the engine, or one that is worked out in its place.

    `instance_path` is as the engine spells it; `where` leads through the document to `value`. A named tuple, because
    thousands are made in one check.
    """

    kind: Kind
    value: Any
    instance_path: Path
    schema_path: Path
    evaluation_path: Path
    where: Path
    read: Callable[[Any], Iterable[EngineError]] | None = (
        None  # types what a union's context holds, if the engine made it
    )

    def alternatives(self) -> list[list[EngineError]]:
        """List what is wrong with each alternative of a union; nothing for every other error."""
        context: list[list[Any]] = self.kind.context if isinstance(self.kind, UNION) else []
        read = self.read
        return context if read is None else [[each for error in branch for each in read(error)] for branch in context]

    def placed(self, place: Callable[[EngineError], EngineError]) -> EngineError:
        """Give the error as one of the whole that its document is a part of, with all that its alternatives hold."""
        placed, read = place(self), self.read
        if read is None:
            return placed
        return placed._replace(read=lambda error: (each.placed(place) for each in read(error)))


class EnginePaths:
    """Spell the paths of the engine's errors about one document as the document does.

    The engine turns the names "7", "007" and "+7" into the number 7 and drops the name "".
    """

    def __init__(self, document: Any) -> None:
        self._document = document
        # The names in each object by the number that they read as, gathered once: errors may be as many as names.
        self._numbered: dict[int, dict[str, list[str]]] = {}
        self._found: dict[tuple[str | int, ...], list[tuple[Path, Any]]] = {}

    def read(self, error: RawError) -> EngineError:
        """Type one of the engine's errors about the document."""
        where, value = self.locate(error)
        kind = error.kind
        read = (lambda raw: (self.read(raw),)) if isinstance(kind, UNION) else None
        return EngineError(kind, value, error.instance_path, error.schema_path, error.evaluation_path, where, read)

    def true_path(self, error: RawError) -> Path:
        """Give the path that an error means."""
        return self.locate(error)[0]

    def locate(self, error: RawError) -> tuple[Path, Any]:
        """Give the path that an error means, and the value that it leads to."""
        spellings = self.possible_paths(error.instance_path)
        if len(spellings) == 1:
            return spellings[0]
        # Where several spellings share a path, the value that the error holds tells which of them it means.
        exact = (spelling for spelling in spellings if spelling[1] == error.instance)
        return next(exact, spellings[0] if spellings else ([], self._document))

    def possible_paths(self, path: Path) -> list[tuple[Path, Any]]:
        """List every path that the engine's may mean, and what it leads to; one where nothing is ambiguous."""
        plain = _plain(self._document, path)
        if plain is not None:
            return [plain]
        key = tuple(path)
        if key not in self._found:
            self._found[key] = list(islice(self._spellings(self._document, path), MAX_SPELLINGS))
        return self._found[key]

    def _spellings(self, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        if not path:
            yield [], value
        if isinstance(value, dict) and "" in value:
            yield from self._below("", value, path)
        if path:
            for name in self._names(value, path[0]):
                yield from self._below(name, value, path[1:])

    def _below(self, name: str | int, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        for more, found in self._spellings(value[name], path):
            yield [name, *more], found

    def _names(self, value: Any, step: str | int) -> Iterable[str | int]:
        if isinstance(value, list | tuple):
            return (step,) if isinstance(step, int) and step < len(value) else ()
        if not isinstance(value, dict):
            return ()
        if isinstance(step, str):
            return (step,) if step in value and step else ()
        if id(value) not in self._numbered:
            names: dict[str, list[str]] = {}
            for name in value:
                digits = name.removeprefix("+")
                if digits.isascii() and digits.isdigit():
                    names.setdefault(_significant(digits), []).append(name)
            self._numbered[id(value)] = names
        return self._numbered[id(value)].get(_significant(str(step)), ())


def _plain(document: Any, steps: Path) -> tuple[Path, Any] | None:
    """Return the path as it is, and what it leads to, when nothing on its way can be misspelt; else None."""
    item = document
    for step in steps:
        if isinstance(item, dict):
            if step.__class__ is not str or step not in item or "" in item:
                return None
        elif not isinstance(item, list | tuple):
            return None
        item = item[step]
    return None if isinstance(item, dict) and "" in item else (steps, item)


def _significant(digits: str) -> str:
    return digits.lstrip("0")
