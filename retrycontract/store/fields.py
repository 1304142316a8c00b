"""Model fields: JSON as text, public ids that sort by age, and which may be long."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.models import QuerySet

from retrycontract.contract.json_types import STORED, WrittenJSON, WrittenList, write_json

Rows = TypeVar("Rows", bound="QuerySet[Any]")
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter that reads as a digit
LENGTH = 26


def new_id(prefix: str) -> str:
    """Make an id such as `call_01jd…`: 48 bits of milliseconds and 80 random bits."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return f"{prefix}_{''.join(ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))}"


def new_call_id() -> str:
    return new_id("call")


def new_escalation_id() -> str:
    return new_id("esc")


def new_message_id() -> str:
    """Make the public id of a message that is sent to people or systems."""
    return new_id("msg")


def new_endpoint_id() -> str:
    return new_id("ep")


class JSONText(models.TextField):  # type: ignore[type-arg]  # the class takes no arguments at run time
    """Store JSON as ASCII text, the same on every database.

    jsonb would reorder keys, turn 1e308 into an integer and refuse NUL and lone surrogates; escaped text keeps all.
    """

    if TYPE_CHECKING:  # what the type checker takes for a text's value
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, *_: Any) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        """Leave values as they are: they are JSON already."""
        return value

    def get_prep_value(self, value: Any) -> str | None:
        """Write a value as ASCII JSON, unless it is written so; NaN and infinity are refused."""
        if isinstance(value, WrittenJSON | WrittenList):
            return value.text
        return None if value is None else write_json(value, **STORED)

    def value_to_string(self, obj: models.Model) -> Any:
        """Give dumps the value as it is, as to_python takes it back."""
        return self.value_from_object(obj)


class SqlLiteral(models.Value):
    """Write a constant of ours into the statement itself.

    SQLite uses a partial index only where the statement says what the index is limited to; behind a parameter it sees
    nothing, and reads the whole table or all calls of an agent.
    """

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002 - Django's signature
        """Write the text in quotes; a percent sign would be a parameter's."""
        return "'{}'".format(str(self.value).replace("'", "''").replace("%", "%%")), []


# Every 256th row: their times say between which keys those of a time stand, in an index of next to no size.
MILESTONE: Final = models.Func(
    models.F("id"), template="(%(expressions)s & 255) = 0", output_field=models.BooleanField()
)


class Block(models.Func):
    """Give the block of 4,096 keys that a key is in; the key itself on SQLite, whose indexes are small without.

    PostgreSQL stores equal entries of an index once, with a list of their rows: of a tool's calls in a block it takes
    an eighth of what their keys do. Within a block rows are sorted as they are read.
    """

    output_field = models.BigIntegerField()
    template = "(%(expressions)s >> 12)"

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:  # noqa: ARG002 - Django's signature
        return compiler.compile(self.get_source_expressions()[0])


def block_of(key: int) -> Block:
    """Give the block of a key that is known; as a large number, since PostgreSQL would cut it off else."""
    return Block(models.Value(key, models.BigIntegerField()))


IN_BLOCKS: Final = (Block("pk").desc(), models.F("pk").desc())  # newest first, as an index of blocks has them


class ByLetters(models.OrderBy):
    """Put into the order of an index for beginnings, which PostgreSQL keeps letter by letter, whatever the locale."""

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        """Name the operator of that order; Django's compiler looks for the word behind it."""
        return self.as_sql(compiler, connection, template="%(expression)s USING ~>~ /* DESC */")


@models.BigAutoField.register_lookup
class Among(models.lookups.In):
    """Find many keys by one parameter: of hundreds, writing and planning takes longer than looking them up."""

    lookup_name = "among"

    def get_prep_lookup(self) -> list[int]:
        """Take them as they are."""
        return list(self.rhs)

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        if not self.rhs:
            raise EmptyResultSet
        key, parameters = self.process_lhs(compiler, connection)
        return f"{key} = ANY(%s::bigint[])", [*parameters, self.rhs]


def literals(values: Iterable[str]) -> list[SqlLiteral]:
    return [SqlLiteral(str(value)) for value in values]


def without_long_values(found: Rows, *related: str, but: Collection[str] = ()) -> Rows:
    """Leave texts, JSON and bytes in the database until they are asked for, of the rows and of the `related` ones.

    `but` names those that are read at once. Others may have megabytes, each.
    """
    names = _long_values(found.model)
    for way in related:
        model, before = found.model, ""
        for step in way.split("__"):
            model, before = model._meta.get_field(step).related_model, f"{before}{step}__"
            names += [f"{before}{name}" for name in _long_values(model)]
    return found.defer(*(name for name in names if name not in but))


def _long_values(model: type[models.Model]) -> list[str]:
    fields = model._meta.concrete_fields
    return [field.name for field in fields if isinstance(field, (models.TextField, models.BinaryField))]
