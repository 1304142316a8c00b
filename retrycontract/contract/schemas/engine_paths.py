"""Repair the engine's paths: it turns the names "7", "007" and "+7" into the number 7 and drops the name ""."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

MAX_SPELLINGS = 500  # looked at for one error: more of them share a path only in a hostile document


class EnginePaths:
    """Spell the paths of the engine's errors about one document as the document does."""

    def __init__(self, document: Any) -> None:
        self._document = document
        # The names in each object by the number that they read as, gathered once: errors may be as many as names.
        self._numbered: dict[int, dict[str, list[str]]] = {}
        self._found: dict[tuple[str | int, ...], list[tuple[list[str | int], Any]]] = {}

    def true_path(self, error: Any) -> list[str | int]:
        """Give the path that an error means."""
        return self.locate(error)[0]

    def locate(self, error: Any) -> tuple[list[str | int], Any]:
        """Give the path that an error means, and the value that it leads to."""
        spellings = self.possible_paths(error)
        if len(spellings) == 1:
            return spellings[0]
        # Where several spellings share a path, the value that the error holds tells which of them it means.
        exact = (spelling for spelling in spellings if spelling[1] == error.instance)
        return next(exact, spellings[0] if spellings else ([], self._document))

    def possible_paths(self, error: Any) -> list[tuple[list[str | int], Any]]:
        """List every path that an error may mean, and what it leads to; one where nothing is ambiguous."""
        plain = _plain(self._document, error.instance_path)
        if plain is not None:
            return [plain]
        key = tuple(error.instance_path)
        if key not in self._found:
            self._found[key] = list(islice(self._spellings(self._document, error.instance_path), MAX_SPELLINGS))
        return self._found[key]

    def _spellings(self, value: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], Any]]:
        if not path:
            yield [], value
        if isinstance(value, dict) and "" in value:
            yield from self._below("", value, path)
        if path:
            for name in self._names(value, path[0]):
                yield from self._below(name, value, path[1:])

    def _below(self, name: str | int, value: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], Any]]:
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


def _plain(document: Any, steps: list[str | int]) -> tuple[list[str | int], Any] | None:
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
