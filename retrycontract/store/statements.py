"""Statements that every submit runs: their SQL is written once for each process and database, not for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from django.db import connection, connections, models, transaction
from django.db.models.query import get_related_populators
from django.db.models.sql import UpdateQuery

Row = TypeVar("Row", bound=models.Model)

# A loose index scan, which jumps from value to value: SELECT DISTINCT reads every entry of the index.
DIFFERENT: Final = """
WITH RECURSIVE found(value) AS (
  SELECT MIN({1}) FROM {0} WHERE {1} IS NOT NULL
  UNION ALL
  SELECT (SELECT MIN({1}) FROM {0} WHERE {1} > found.value) FROM found WHERE found.value IS NOT NULL
)
SELECT value FROM found WHERE value IS NOT NULL LIMIT %s
"""


@contextmanager
def planned_for_values() -> Iterator[None]:
    """Have PostgreSQL plan what is read within for its values each time, prepared or not.

    A plan for any value knows neither where a LIKE begins nor how rare a word is: it reads the whole table.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Compiling a plan takes longer than what such a search may take.
            cursor.execute(
                "SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)"
            )
        yield


class Given(models.Expression):
    """Stand in a queryset for a value that each run brings along."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002 - Django's signature
        """Leave a place; its parameter is this object until a run puts the value there."""
        return "%s", [self]


@dataclass(frozen=True, slots=True)
class Written:
    """Hold a statement as one database understands it; `read` makes an object of a row."""

    sql: str
    parameters: tuple[Any, ...]
    read: Callable[[Sequence[Any]], Any] = tuple

    def run(self, cursor: Any, values: dict[str, Any]) -> None:
        """Execute it with the values of one run."""
        cursor.execute(self.sql, [values[each.name] if isinstance(each, Given) else each for each in self.parameters])


class Statement(Generic[Row]):
    """Run one queryset again and again with other values: of a small query, writing its SQL is most of the work.

    `queryset` builds it from the named values, or from what stands for them: it may not look at them, and what may be
    None needs a statement of its own.
    """

    def __init__(self, queryset: Callable[..., models.QuerySet[Row]], *names: str) -> None:
        self.queryset = queryset
        self._given = {name: Given(name) for name in names}
        self._written: dict[tuple[str, ...], Written] = {}

    def rows(self, **values: Any) -> list[Row]:
        """List what the queryset finds, with the objects that it selects along."""
        written = self._written_for("rows", _reading)
        with connection.cursor() as cursor:
            written.run(cursor, _adapted(values))
            return [written.read(row) for row in cursor.fetchall()]

    def tuples(self, **values: Any) -> list[tuple[Any, ...]]:
        """List the values that a queryset of values finds, as the database's driver gives them."""
        written = self._written_for("tuples", _plain)
        with connection.cursor() as cursor:
            written.run(cursor, _adapted(values))
            return list(cursor.fetchall())

    def first(self, **values: Any) -> Row | None:
        """Give the first of the rows that the queryset finds, or None; its own slice says how many are read."""
        return next(iter(self.rows(**values)), None)

    def exists(self, **values: Any) -> bool:
        """Tell whether the queryset finds anything."""
        written = self._written_for("exists", lambda query: _plain(query.exists()))
        with connection.cursor() as cursor:
            written.run(cursor, _adapted(values))
            return cursor.fetchone() is not None

    def update(self, changes: dict[str, Any], **values: Any) -> int:
        """Change the rows that the queryset finds and tell how many they were.

        Statements are told apart by the names that change: an expression among the changes is always the same one.
        """
        written = self._written_for("update", lambda query: _changing(query, changes), *changes)
        stored = {_new(name): _prepared(self._model, name, value) for name, value in changes.items()}
        # As Django's own `update` does: a statement that failed has spoilt the transaction around it.
        with transaction.mark_for_rollback_on_error(using=connection.alias), connection.cursor() as cursor:
            written.run(cursor, _adapted(values) | stored)
            return int(cursor.rowcount)

    def _written_for(self, use: str, write: Callable[[Any], Written], *fields: str) -> Written:
        key = (connection.vendor, use, *fields)
        if key not in self._written:
            query = self.queryset(**self._given).query
            self._model = query.model
            self._written[key] = write(query)
        return self._written[key]


def _plain(query: Any) -> Written:
    sql, parameters = query.get_compiler(connection=connection).as_sql()
    return Written(sql, tuple(parameters))


def _reading(query: Any) -> Written:
    """Write a SELECT with what Django's own iteration over a queryset finds out anew each time."""
    compiler = query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    # Converters keep the connection that they were made for; one that is never opened holds nothing.
    spare = connections.create_connection(connection.alias)
    columns = [expression for expression, *_ in compiler.select]
    converters = query.get_compiler(connection=spare).get_converters(columns)
    steps = [(at, convert, column) for at, (many, column) in converters.items() for convert in many]
    described, model = compiler.klass_info, compiler.klass_info["model"]
    own = described["select_fields"]
    names = [column.target.attname for column in columns[own[0] : own[-1] + 1]]
    alongside = get_related_populators(described, compiler.select, spare.alias)  # type: ignore[call-arg]

    def read(row: Sequence[Any]) -> Any:
        values = list(row)
        for at, convert, column in steps:
            values[at] = convert(values[at], column, spare)
        found = model.from_db(spare.alias, names, values[own[0] : own[-1] + 1])
        for populator in alongside:
            populator.populate(values, found)
        return found

    return Written(sql, tuple(parameters), read)


def _changing(query: Any, changes: dict[str, Any]) -> Written:
    update = query.chain(UpdateQuery)
    update.add_update_values(
        {name: value if hasattr(value, "resolve_expression") else Given(_new(name)) for name, value in changes.items()}
    )
    update.clear_select_clause()
    return _plain(update)


def _new(name: str) -> str:
    """Tell the value that a column gets from the one that it is looked up by."""
    return f"new {name}"


def _prepared(model: Any, name: str, value: Any) -> Any:
    field = model._meta.get_field(name)
    if isinstance(value, models.Model):
        value = value.prepare_database_save(field)
    return field.get_db_prep_save(value, connection)


def _adapted(values: dict[str, Any]) -> dict[str, Any]:
    """Write values as the database compares them; only moments differ between the two that we know."""
    adapt = connection.ops.adapt_datetimefield_value
    return {name: adapt(value) if isinstance(value, datetime) else value for name, value in values.items()}


def different(rows: type[models.Model], field: str, *, most: int) -> list[str]:
    """List the first different values of an indexed field, one look into the index for each."""
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(DIFFERENT.format(quote(rows._meta.db_table), quote(field)), [most])
        return [value for (value,) in cursor.fetchall()]
