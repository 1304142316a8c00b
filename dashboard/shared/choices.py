"""What somebody chose to see of a list: read from the address, and kept in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Final, Self
from urllib.parse import urlencode

from django.http import QueryDict

from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.usecases.calls.identifiers import safe_identifier

MAX_SEARCH: Final = 200  # the longest id
MAX_OPTIONS: Final = 200  # of a list to choose from; the search finds the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Hold what was chosen, each under its name in the address; empty text is no choice."""

    unsaid: ClassVar[frozenset[str]] = frozenset({"q"})  # what has no chip: it stands in its field

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """Read an address; what nobody offers is no choice."""
        read = {field.name: clean(query.get(field.name, "")) for field in fields(cls)}
        return cls(**{name: value if cls.offers(name, value) else "" for name, value in read.items()})

    @classmethod
    def offers(cls, _name: str, _value: str) -> bool:
        """Tell whether something may be chosen."""
        return True

    @property
    def address(self) -> str:
        """Write them for an address."""
        return urlencode(list(self._chosen()))

    @property
    def is_any(self) -> bool:
        """Tell whether anything was chosen."""
        return any(self._chosen())

    @property
    def number(self) -> int:
        """Count what was chosen beside the search."""
        return sum(name not in self.unsaid for name, _ in self._chosen())

    def without(self, name: str) -> str:
        """Write the address without one choice."""
        return replace(self, **{name: ""}).address

    @property
    def chips(self) -> list[tuple[str, str]]:
        """Say each choice in words, with the address that takes it back."""
        words = self.words
        return [(words[name], self.without(name)) for name, _ in self._chosen() if name not in self.unsaid]

    @property
    def words(self) -> dict[str, str]:
        """Say each choice in words, by its name."""
        return dict(self._chosen())

    def _chosen(self) -> Iterator[tuple[str, str]]:
        for field in fields(self):
            if value := getattr(self, field.name):
                yield field.name, value


def clean(text: str) -> str:
    """Give what was asked for as it would be stored."""
    return safe_identifier(text.strip()[:MAX_SEARCH].replace("\x00", "\ufffd"))  # PostgreSQL refuses NUL


def plain(names: Iterable[str]) -> list[str]:
    """Keep the names that hide nothing: the value of a choice is sent as it is, and cannot be shown otherwise."""
    return [name for name in names if visible(name) == name]
