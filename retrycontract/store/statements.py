"""Statements that every submit runs: their SQL is written once for each process and database, not for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

from django.db import connection, connections, models, transaction
from django.db.models.query import get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery

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
        """List the values that a queryset of values finds, as the database's driver gives them, times in UTC."""
        written = self._written_for("tuples", _plain)
        with connection.cursor() as cursor:
            written.run(cursor, _adapted(values))
            # SQLite keeps times without a zone.
            return [tuple(map(_in_utc, row)) for row in cursor.fetchall()]

    def first(self, **values: Any) -> Row | None:
        """Give the first of the rows that the queryset finds, or None; its own slice says how many are read."""
        return next(iter(self.rows(**values)), None)

    def exists(self, **values: Any) -> bool:
        written = self._written_for("exists", lambda query: _plain(query.exists()))
        with connection.cursor() as cursor:
            written.run(cursor, _adapted(values))
            return cursor.fetchone() is not None

    def count(self, **values: Any) -> int:
        """Count what the queryset finds; its own slice says up to what."""

        def counting(query: Any) -> Written:
            listed = _plain(query)
            return Written(f"SELECT COUNT(*) FROM ({listed.sql}) AS counted", listed.parameters)  # noqa: S608 - Django's

        written = self._written_for("count", counting)
        with connection.cursor() as cursor:
            written.run(cursor, _adapted(values))
            return int(cursor.fetchone()[0])

    def update(self, changes: dict[str, Any], **values: Any) -> int:
        """Change the rows that the queryset finds and tell how many they were.

        Statements are told apart by the names that change: an expression among the changes is always the same one.
        """

        def changing(query: Any) -> Written:
            update = query.chain(UpdateQuery)
            given = {
                name: it if hasattr(it, "resolve_expression") else Given(_new(name)) for name, it in changes.items()
            }
            update.add_update_values(given)
            update.clear_select_clause()
            return _plain(update)

        written = self._written_for("update", changing, *changes)
        model: Any = self._model
        stored = {}
        for name, value in changes.items():
            field = model._meta.get_field(name)
            prepared = value.prepare_database_save(field) if isinstance(value, models.Model) else value
            stored[_new(name)] = field.get_db_prep_save(prepared, connection)
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


# What these fields take from a row as it is, if it is of the type beside them; the rest is written by the field itself.
AS_IT_IS: Final = {
    models.CharField: str, models.TextField: str, models.BooleanField: bool, models.IntegerField: int,
    models.PositiveIntegerField: int, models.PositiveSmallIntegerField: int, models.BigIntegerField: int,
    models.ForeignKey: int, models.OneToOneField: int,
}  # fmt: skip
Fields = list[tuple[Any, type | None]]
_inserts: dict[tuple[str, type[models.Model], tuple[str, ...]], tuple[str, Fields, list[Any]]] = {}
_updates: dict[tuple[str, type[models.Model]], tuple[str, Fields]] = {}


def insert(row: models.Model) -> None:
    """Store a new row as `save(force_insert=True)` does, without signals; its SQL is written once.

    Of a row's columns most are text and numbers as the database takes them, and to prove that took Django longer than
    all else of an INSERT.
    """
    computed = tuple(name for name, value in row.__dict__.items() if hasattr(value, "resolve_expression"))
    key = connection.vendor, type(row), computed
    if key not in _inserts:
        _inserts[key] = _inserting(row, computed)
    sql, fields, returned = _inserts[key]
    values = _values_of(row, fields)
    with transaction.mark_for_rollback_on_error(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(sql, values)
        for (column, converters), value in zip(returned, cursor.fetchone(), strict=True):
            for convert in converters:
                value = convert(value, column, connection)
            setattr(row, column.target.attname, value)
    row._state.adding, row._state.db = False, connection.alias  # noqa: SLF001 - as Django marks what is stored


def rewrite(row: models.Model) -> None:
    """Store all columns of a row anew as its `save` does, without signals; its SQL is written once."""
    key = connection.vendor, type(row)
    if key not in _updates:
        meta, quote = row._meta, connection.ops.quote_name
        fields = sorted(meta.local_concrete_fields, key=lambda field: field.primary_key)  # which comes last
        *columns, own = [f"{quote(str(field.column))} = %s" for field in fields]
        statement = f"UPDATE {quote(meta.db_table)} SET {', '.join(columns)} WHERE {own}"  # noqa: S608 - our own names
        _updates[key] = statement, [(field, AS_IT_IS.get(type(field))) for field in fields]
    sql, known = _updates[key]
    with transaction.mark_for_rollback_on_error(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(sql, _values_of(row, known))


def _values_of(row: models.Model, fields: Fields) -> list[Any]:
    values = list[Any]()
    for field, plain in fields:
        if type(field) is Given:
            value = getattr(row, field.name)
            values.append(connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value)
            continue
        value = getattr(row, field.attname)
        values.append(value if value is None or type(value) is plain else field.get_db_prep_save(value, connection))
    return values


def _inserting(row: models.Model, computed: tuple[str, ...]) -> Any:
    """Write the INSERT of rows like this one, in which the database computes some columns.

    An expression that takes values names them, attributes of the row, in `given`.
    """
    meta = row._meta
    given = [field for field in meta.local_concrete_fields if not field.primary_key]
    query = InsertQuery(type(row))
    query.insert_values(given, [row])
    compiler: Any = query.get_compiler(connection=connection)
    known = meta.db_returning_fields
    compiler.returning_fields = returned = [
        *known, *(field for field in given if field.attname in computed and field not in known)
    ]  # fmt: skip
    ((sql, _),) = compiler.as_sql()
    fields: Fields = []
    for field in given:
        if field.attname in computed:
            fields += [(each, None) for each in getattr(row.__dict__[field.attname], "given", ())]
        else:
            fields.append((field, AS_IT_IS.get(type(field))))
    # As below: converters keep the connection that they were made for.
    ops, columns = (
        connections.create_connection(connection.alias).ops,
        [field.get_col(meta.db_table) for field in returned],
    )
    converters = [[*ops.get_db_converters(column), *column.get_db_converters(connection)] for column in columns]
    return sql, fields, [*zip(columns, converters, strict=True)]


def _in_utc(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if type(value) is datetime and value.tzinfo is None else value


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


def _new(name: str) -> str:
    """Tell the value that a column gets from the one that it is looked up by."""
    return f"new {name}"


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
