"""Repair the engine's paths: it turns the names "7", "007" and "+7" into the number 7 and drops the name ""."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

MAX_SPELLINGS = 500  # looked at for one error: more of them share a path only in a hostile document


def true_path(document: Any, error: Any) -> list[str | int]:
    """Spell the path of an engine's error as the document does."""
    return locate(document, error)[0]


def locate(document: Any, error: Any) -> tuple[list[str | int], Any]:
    """Spell the path of an engine's error as the document does, and give the value that it leads to."""
    plain = _plain(document, error.instance_path)
    if plain is not None:
        return plain
    spellings = list(possible_paths(document, error))
    exact = (spelling for spelling in spellings if spelling[1] == error.instance)
    return spellings[0] if len(spellings) == 1 else next(exact, spellings[0] if spellings else ([], document))


def possible_paths(document: Any, error: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yield every path that the engine may mean, and what it leads to; one of them where nothing is ambiguous."""
    plain = _plain(document, error.instance_path)
    return iter([plain]) if plain is not None else islice(_spellings(document, error.instance_path), MAX_SPELLINGS)


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


def _spellings(value: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], Any]]:
    """Yield every path that the engine may mean, and what it leads to."""
    if not path:
        yield [], value
    for name, child in _children(value):
        if name == "":
            rest = path
        elif path and _reads_as(name, path[0]):
            rest = path[1:]
        else:
            continue
        for more, found in _spellings(child, rest):
            yield [name, *more], found


def _children(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _reads_as(name: str | int, step: str | int) -> bool:
    if isinstance(name, int) or isinstance(step, str):
        return name == step
    digits = name.removeprefix("+")
    return digits.isascii() and digits.isdigit() and digits.lstrip("0") == str(step).lstrip("0")
