"""What a search of calls means, and the words of calls that it finds: SQLite's FTS5, or PostgreSQL's own full text.

Words are made from what is stored, by the sweep, and can be thrown away: no table of Django's, no migration, no export.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from django.db import connection
from django.db.models import F, Q

from retrycontract.store.fields import IN_BLOCKS

TABLE: Final = "retrycontract_calltext"
MOST_WORDS: Final = 300  # of one call: what is sought stands among the first, or in a file that nobody searches for
MOST_LOOKED_AT: Final = 4_000  # characters of one text
MOST_READ: Final = 65_536  # characters of an output as it is stored, which hold as many words
MOST_SOUGHT: Final = 8  # words of one search
WALKED: Final = 50_000  # newest calls that are read one by one, 15 ms: what one of a hundred has is found there
# Letters that are written as others where a keyboard has none of them, and that Unicode takes for no accented ones.
_PLAIN: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_WORD: Final = re.compile(r"[^\W_]+")
# Texts and numbers of JSON; a text that is cut off counts as far as it goes, and what a colon follows is a name.
_VALUE: Final = re.compile(r'"((?:[^"\\]|\\.)*)(?:"(\s*:)?|\\?\Z)|(-?[0-9][0-9.eE+-]*)')
_CUT_ESCAPE: Final = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
_MAKE: Final = {
    # Whole words and their beginnings are found, no phrases: `detail=none` is a third of the size.
    "sqlite": (
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {TABLE} USING fts5(words, attempts UNINDEXED, prefix='2 3', detail=none)",
    ),
    "postgresql": (
        f"CREATE TABLE IF NOT EXISTS {TABLE} (call_id bigint PRIMARY KEY, words tsvector NOT NULL, attempts integer)",
        f"CREATE INDEX IF NOT EXISTS {TABLE}_words ON {TABLE} USING gin (words)",
    ),
}
# How to look, one way after another until enough is found, and whether for whole words only. Of a beginning every word
# is merged before the first is found; common ones are found whole, which is enough. PostgreSQL's index knows no order
# and gives all calls of its words to be sorted: those of words in many calls stand among the newest.
_NEWEST: Final = f"call_id > (SELECT max(call_id) FROM {TABLE}) - {WALKED}"  # noqa: S608 - our own
_WAYS: Final = {
    "sqlite": ((f"{TABLE} MATCH %s ORDER BY rowid DESC", True), (f"{TABLE} MATCH %s ORDER BY rowid DESC", False)),
    "postgresql": (
        (f"{_NEWEST} AND (words @@ %s::tsquery) IS TRUE ORDER BY call_id DESC", False),
        ("words @@ %s::tsquery ORDER BY call_id + 0 DESC", True),
        ("words @@ %s::tsquery ORDER BY call_id + 0 DESC", False),
    ),
}


class Part(NamedTuple):
    """Hold a condition whose calls one index gives, and the order in which it has the newest first."""

    condition: Q
    order: tuple[Any, ...] = (F("pk").desc(),)


@dataclass(frozen=True, slots=True)
class Sought:
    """Hold what a search means: calls of some tools, and calls by their keys; None of either stands for every call.

    `of_tools` is what else is asked of calls that the index of tools knows: what fails it is left out there, unread.
    """

    tools: frozenset[str] = frozenset()
    keys: frozenset[int] | None = None
    of_tools: Q = field(default_factory=Q)

    def of(self, tool: str) -> Sought:
        """Keep of what was found the calls of one tool, or everything where none is named."""
        if not tool:
            return self
        is_found = self.keys is None or tool in self.tools
        return replace(self, tools=frozenset({tool} if is_found else ()), keys=frozenset() if is_found else self.keys)

    def by(self, agent: Q) -> Sought:
        """Leave out what an agent did not call, of the calls of tools, where it takes no other index."""
        # SQLite reads this index alone, whole rows never, and would take the one of agents instead.
        return self if connection.vendor == "sqlite" else replace(self, of_tools=agent)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Say it in parts that have no call in common.

        Each has an index of its own that gives its newest: for two at once a database reads and sorts all their calls.
        """
        if self.keys is None:
            return (Part(Q()),)
        tools = (Part(Q(tool_name=name) & self.of_tools, IN_BLOCKS) for name in sorted(self.tools))
        return (*tools, *map(Part, self._by_key))

    @property
    def counted(self) -> tuple[Q, ...]:
        """Say it in as few parts as can be counted: all tools are one, since nothing is put into an order."""
        if self.keys is None:
            return (Q(),)
        tools = (Q(tool_name__in=sorted(self.tools)) & self.of_tools,) if self.tools else ()
        return (*tools, *self._by_key)

    @property
    def _by_key(self) -> tuple[Q, ...]:
        others = ~Q(tool_name__in=self.tools) if self.tools else Q()
        return (Q(pk__among=self.keys) & others,) if self.keys or not self.tools else ()

    @property
    def any(self) -> Q:
        """Say it at once, where the calls are few."""
        return Q() if self.keys is None else Q(tool_name__in=self.tools) | Q(pk__among=self.keys)


def words_of(*texts: str) -> list[str]:
    """Give the different words of some texts as they are compared: small letters, without accents."""
    found: dict[str, None] = {}
    for text in texts:
        plain = unicodedata.normalize("NFKD", text[:MOST_LOOKED_AT].casefold())
        for word in _WORD.findall(
            "".join(letter for letter in plain.translate(_PLAIN) if not unicodedata.combining(letter))
        ):
            found[word[:60]] = None
        if len(found) >= MOST_WORDS:  # of megabytes the rest is not looked at
            break
    return list(found)[:MOST_WORDS]


def values_in(written: str) -> Iterator[str]:
    """Give the texts and numbers of JSON in the order in which they are written, where it is cut off, too."""
    for found in _VALUE.finditer(written):
        text, colon, number = found.groups()
        if number:
            yield number
        elif not colon:
            yield json.loads(f'"{_CUT_ESCAPE.sub("", text)}"')


def prepare() -> None:
    """Make the table where it is missing."""
    if not is_there():
        for statement in _MAKE[connection.vendor]:
            _run(statement)


def drop() -> None:
    """Throw the words away; the next sweep takes them anew."""
    _run(f"DROP TABLE IF EXISTS {TABLE}")


def is_there() -> bool:
    """Tell whether there is anything to search in; a service that never swept has nothing."""
    if connection.vendor == "sqlite":
        return bool(_run("SELECT 1 FROM sqlite_master WHERE name = %s", [TABLE]))
    return bool(_run("SELECT to_regclass(%s) IS NOT NULL", [TABLE])[0][0])


def write(texts: Iterable[tuple[int, Collection[str], int]]) -> None:
    """Keep the words of calls, by the calls' keys, with the number of the attempt that they were taken from."""
    rows = [(key, " ".join(words), attempts) for key, words, attempts in texts]
    # FTS5 tables know no upsert.
    forget([key for key, _, _ in rows])
    # The words are folded already: a text search configuration would stem some of them and drop others.
    name, words = ("rowid", "%s") if connection.vendor == "sqlite" else ("call_id", "array_to_tsvector(%s)")
    twice = "" if connection.vendor == "sqlite" else " ON CONFLICT DO NOTHING"  # another sweep did it at once
    statement = f"INSERT INTO {TABLE} ({name}, words, attempts) VALUES (%s, {words}, %s){twice}"  # noqa: S608 - our names
    for key, text, attempts in rows:
        _run(statement, [key, text if connection.vendor == "sqlite" else text.split(), attempts])


def forget(keys: Collection[int]) -> None:
    """Forget the words of calls."""
    if keys:
        places = ", ".join(["%s"] * len(keys))
        _run(f"DELETE FROM {TABLE} WHERE {_key()} IN ({places})", list(keys))  # noqa: S608 - our own names


def newest() -> int:
    """Give the largest key of a call whose words are kept."""
    found = _run(f"SELECT {_key()} FROM {TABLE} ORDER BY {_key()} DESC LIMIT 1")  # noqa: S608 - our own names
    return int(found[0][0]) if found else 0


def attempts_of(keys: Collection[int]) -> dict[int, int]:
    """Tell from which attempt the words of calls were taken."""
    if not keys:
        return {}
    places = ", ".join(["%s"] * len(keys))
    statement = f"SELECT {_key()}, attempts FROM {TABLE} WHERE {_key()} IN ({places})"  # noqa: S608 - our own names
    return {int(key): int(attempts) for key, attempts in _run(statement, list(keys))}


def find(text: str, *, most: int) -> list[int]:
    """List the newest calls that have every word of a text, or words that begin so, by their keys."""
    # Of more words than are sought the long ones tell most.
    words = sorted(words_of(text), key=_is_single)
    if not words or not is_there():
        return []
    telling = [word for word in words if not (_is_single(word) and word.isalpha())]
    # A letter that is nowhere a word of its own beside the others begins one that is being typed.
    found = _find(words[:MOST_SOUGHT], most)
    return found if found or telling in ([], words) else _find(telling[:MOST_SOUGHT], most)


def _find(sought: list[str], most: int) -> list[int]:
    found: list[int] = []
    for condition, is_whole in _WAYS[connection.vendor]:
        statement = f"SELECT {_key()} FROM {TABLE} WHERE {condition} LIMIT %s"  # noqa: S608 - our own
        found = [int(key) for (key,) in _run(statement, [_written(sought, is_whole=is_whole), most])]
        if len(found) >= most:
            break
    return found


def _is_single(word: str) -> bool:
    """Tell whether it is one letter of an alphabet, or one digit: it begins nearly every word, and is sought whole."""
    return len(word) == 1 and word.isascii()


def _written(words: list[str], *, is_whole: bool) -> str:
    # A word is made of letters and digits alone, so that no quote within it can end it.
    if connection.vendor == "sqlite":
        return " ".join(f'"{word}"{"" if is_whole or _is_single(word) else "*"}' for word in words)
    return " & ".join(f"'{word}'{'' if is_whole or _is_single(word) else ':*'}" for word in words)


def _key() -> str:
    return "rowid" if connection.vendor == "sqlite" else "call_id"


def _run(statement: str, parameters: Collection[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(parameters))
        return cursor.fetchall() if cursor.description else []
